// The connections: opened when needed, kept, never more than the pool's size. Waiting for one, and
// for a server that is away, is bounded by the busy time-out.
#pragma once

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <vector>

#include "store/load.h"
#include "store/postgres/connection.h"

namespace compute::store::postgres {

// Thread-safe.
class Pool {
public:
    Pool(Settings settings, int size) : settings_(std::move(settings)), size_(size) {}

    // A connection that is ready for a transaction; given back, or closed when it is lost or not
    // idle, at the end of the lease.
    class Lease {
    public:
        Lease(Pool& pool, std::unique_ptr<Connection> connection)
            : pool_(pool), connection_(std::move(connection)) {}
        ~Lease() { pool_.give_back(std::move(connection_)); }
        Lease(const Lease&) = delete;
        Lease& operator=(const Lease&) = delete;
        [[nodiscard]] Connection& operator*() noexcept { return *connection_; }

    private:
        Pool& pool_;
        std::unique_ptr<Connection> connection_;
    };

    enum class Patience { TryOnce, UntilBusyTimeout };
    // StoreBusy when there is none in time; INVALID_CONFIG when the server refuses us.
    [[nodiscard]] Lease lend(Patience patience = Patience::UntilBusyTimeout);

    [[nodiscard]] PoolUse use() const;
    [[nodiscard]] const Settings& settings() const noexcept { return settings_; }

private:
    [[nodiscard]] std::unique_ptr<Connection> take_idle(
        std::chrono::steady_clock::time_point deadline
    );
    [[nodiscard]] std::unique_ptr<Connection> connect(
        std::chrono::steady_clock::time_point deadline, Patience patience
    );
    void give_back(std::unique_ptr<Connection> connection);

    const Settings settings_;
    const int size_;
    mutable std::mutex mutex_;
    std::condition_variable freed_;
    std::vector<std::unique_ptr<Connection>> idle_;  // protected by mutex_
    int open_ = 0;                                   // protected by mutex_; lent ones included
};

}  // namespace compute::store::postgres
