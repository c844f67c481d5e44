// One PostgreSQL connection in pipeline mode, with its cache of prepared statements. libpq is not
// seen outside this folder.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include <libpq-fe.h>

#include "store/postgres/fault.h"
#include "store/postgres/settings.h"

namespace compute::store::postgres {

struct Command {
    std::string sql;
    Params params;
};

struct ResultDeleter {
    void operator()(PGresult* result) const { PQclear(result); }
};
using Result = std::unique_ptr<PGresult, ResultDeleter>;

// Used by one thread at a time.
class Connection {
public:
    // Connects. INVALID_CONFIG when the server refuses us or is too old, StoreBusy when it cannot
    // be reached or is not ready.
    explicit Connection(const Settings& settings);
    ~Connection() = default;
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;

    // Sends the commands together and waits for their answers: one round trip. Returns the result
    // of commands[keep]. The server skips what stands behind the first failure, which is thrown;
    // fault() says what it was until the next call.
    Result run(const std::vector<Command>& commands, std::size_t keep);
    // Sends the command; its answer is read before the next run(). For what cannot fail and nobody
    // waits for.
    void send_only(const Command& command);
    // Several statements at once, without parameters.
    void script(const std::string& text);

    // Reads the answers that send_only() left, forgets statements when there are too many, and says
    // whether the connection can be used.
    [[nodiscard]] bool make_ready();
    [[nodiscard]] bool is_lost() const noexcept;
    // How often this connection has waited for answers.
    [[nodiscard]] std::uint64_t round_trips() const noexcept { return round_trips_; }
    [[nodiscard]] bool is_in_transaction() const noexcept;
    [[nodiscard]] const std::optional<Fault>& fault() const noexcept { return fault_; }
    [[nodiscard]] std::string server_version() const;
    [[nodiscard]] PGconn* handle() const noexcept { return connection_.get(); }

private:
    struct Finish {
        void operator()(PGconn* connection) const { PQfinish(connection); }
    };
    struct Variant {
        std::vector<Oid> types;
        std::string name;
        bool is_ready = false;  // the server has confirmed it
    };
    // One answer to read: that of the command, or of the preparation in front of it.
    struct Expected {
        std::size_t command;
        Variant* preparing;
    };

    void check_server() const;
    void prepare_session(const Settings& settings);
    void send(const Command& command, std::size_t index, std::vector<Expected>& expected);
    Variant& find_variant(const Command& command);
    void drain();
    void check_usable(const std::string& sql);
    Result read_answers(
        const std::vector<Expected>& expected, std::size_t keep, std::size_t& failed
    );
    [[noreturn]] void fail(const std::string& sql);
    void forget_statements();

    std::unique_ptr<PGconn, Finish> connection_;
    bool is_prepared_;
    bool must_forget_ = false;
    std::vector<Expected> unread_;  // of send_only
    bool has_unread_ = false;
    std::optional<Fault> fault_;
    std::unordered_map<std::string, std::vector<std::unique_ptr<Variant>>> cache_;
    std::size_t prepared_count_ = 0;
    std::uint64_t round_trips_ = 0;
};

}  // namespace compute::store::postgres
