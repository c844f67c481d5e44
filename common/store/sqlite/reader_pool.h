// Read-only connections, opened when needed and kept. The one given back last is lent first: its
// cache is warm.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <vector>

#include "store/load.h"
#include "store/sqlite/connection.h"

namespace compute::store::sqlite {

// Thread-safe.
class ReaderPool {
public:
    ReaderPool(ConnectionOptions options, int size) : options_(std::move(options)), size_(size) {}

    // A connection, given back when the lease ends.
    class Lease {
    public:
        Lease(ReaderPool& pool, std::unique_ptr<Connection> connection)
            : pool_(pool), connection_(std::move(connection)) {}
        ~Lease() { pool_.give_back(std::move(connection_)); }
        Lease(const Lease&) = delete;
        Lease& operator=(const Lease&) = delete;
        [[nodiscard]] Connection& operator*() noexcept { return *connection_; }

    private:
        ReaderPool& pool_;
        std::unique_ptr<Connection> connection_;
    };

    // StoreBusy when none becomes free within the busy time-out.
    [[nodiscard]] Lease lend();
    [[nodiscard]] PoolUse use() const;

private:
    void give_back(std::unique_ptr<Connection> connection);

    const ConnectionOptions options_;
    const int size_;
    mutable std::mutex mutex_;
    std::condition_variable freed_;
    std::vector<std::unique_ptr<Connection>> idle_;  // protected by mutex_
    int open_ = 0;                                   // protected by mutex_
};

}  // namespace compute::store::sqlite
