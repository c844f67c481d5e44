// What a database is busy with, for metrics. Both drivers tell it; a database in front of another
// (in tests) need not.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>

#include "core/latency.h"
#include "store/database.h"

namespace compute::store {

struct PoolUse {
    std::size_t size = 0;    // connections there may be
    std::size_t open = 0;    // connections there are
    std::size_t in_use = 0;  // of them, those that are lent
};

// Thread-safe.
class Measured {
public:
    virtual ~Measured() = default;

    // The connections of PostgreSQL, or SQLite's readers.
    [[nodiscard]] virtual PoolUse pool_use() const = 0;
    // Write transactions that wait for SQLite's writer; 0 on PostgreSQL.
    [[nodiscard]] virtual std::size_t queued_writes() const = 0;
    // From the call of read(), write(), query() or execute() to its return: waiting for a
    // connection and for the commit of the group included.
    [[nodiscard]] virtual LatencyHistogram::Snapshot read_latency(Purpose purpose) const = 0;
    [[nodiscard]] virtual LatencyHistogram::Snapshot write_latency(Purpose purpose) const = 0;

protected:
    Measured() = default;
    Measured(const Measured&) = default;
    Measured& operator=(const Measured&) = default;
};

// Null when `database` tells nothing.
[[nodiscard]] inline const Measured* find_measured(const Database& database) {
    return dynamic_cast<const Measured*>(&database);
}

}  // namespace compute::store
