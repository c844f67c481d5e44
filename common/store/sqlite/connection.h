// One SQLite connection with its cache of prepared statements. SQLiteCpp is not seen outside this
// folder.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "store/database.h"

namespace compute::store::sqlite {

struct ConnectionOptions {
    enum class Role { Writer, Reader };
    std::string path;
    Role role = Role::Reader;
    bool is_memory = false;
    bool is_file_read_only = false;  // open the file itself read-only
    Synchronous synchronous = Synchronous::Full;
    std::chrono::milliseconds busy_timeout{5000};
};

// Used by one thread at a time. Errors are those of store/errors.h.
class Connection {
public:
    // Opens the file, which exists (a missing one is not made). StoreBusy when it stays locked,
    // INVALID_CONFIG when it is no database or cannot be opened.
    explicit Connection(const ConnectionOptions& options);
    ~Connection();
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;

    [[nodiscard]] Rows query(std::string_view sql, const Params& params = {});
    std::int64_t execute(std::string_view sql, const Params& params = {});
    void script(std::string_view text);
    // Grows with every row that changes, and with every statement that may change more than rows.
    // While it stays the same there is nothing to undo.
    [[nodiscard]] std::uint64_t work_done() const noexcept;
    // While on, a write is a ReadOnlyViolation.
    void set_query_only(bool is_on);
    // True when no transaction is open: also after an error that rolled the whole transaction back.
    [[nodiscard]] bool is_autocommit() const noexcept;

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace compute::store::sqlite
