// Whether this process can do its work: the database answers, its schema is the one this binary
// knows, and the roles are up.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/clock.h"
#include "core/guarded.h"
#include "core/log.h"
#include "store/migrate.h"

namespace compute::daemon {

// Thread-safe.
class Health {
public:
    Health(
        store::Database& database,
        const std::vector<store::Migration>& migrations,
        std::vector<std::string> roles,
        const Clock& clock,
        Log& log
    );

    // Empty when ready; otherwise why not. Asks the database, at most once per kProbeMs however
    // often it is called.
    [[nodiscard]] std::vector<std::string> faults();

    // Compares the applied migrations with this binary's: a newer daemon may have migrated the
    // database under us. Said once in the log; from then on faults() names it, so that a load
    // balancer takes this process out.
    void check_schema();

    void set_started() noexcept { is_started_ = true; }
    void set_stopping() noexcept { is_stopping_ = true; }
    [[nodiscard]] const std::vector<std::string>& roles() const noexcept { return roles_; }

private:
    static constexpr std::int64_t kProbeMs = 500;
    struct Probe {
        std::optional<std::int64_t> at_ms;
        std::string fault;
    };
    [[nodiscard]] std::string probe_database();

    store::Database& database_;
    const std::vector<store::Migration>& migrations_;
    const std::vector<std::string> roles_;
    const Clock& clock_;
    Log& log_;
    std::atomic<bool> is_started_{false};
    std::atomic<bool> is_stopping_{false};
    Guarded<Probe> probe_;
    Guarded<std::string> schema_fault_;
};

}  // namespace compute::daemon
