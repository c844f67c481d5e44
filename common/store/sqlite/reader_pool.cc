#include "store/sqlite/reader_pool.h"

namespace compute::store::sqlite {

ReaderPool::Lease ReaderPool::lend() {
    {
        std::unique_lock lock(mutex_);
        const bool is_free = freed_.wait_for(lock, options_.busy_timeout, [this] {
            return !idle_.empty() || open_ < size_;
        });
        if (!is_free) {
            throw StoreBusy("sqlite: all " + std::to_string(size_) + " readers are in use");
        }
        if (!idle_.empty()) {
            std::unique_ptr<Connection> connection = std::move(idle_.back());
            idle_.pop_back();
            return {*this, std::move(connection)};
        }
        ++open_;
    }
    try {
        return {*this, std::make_unique<Connection>(options_)};
    } catch (...) {
        give_back(nullptr);
        throw;
    }
}

PoolUse ReaderPool::use() const {
    const std::lock_guard lock(mutex_);
    const auto open = static_cast<std::size_t>(open_);
    return {.size = static_cast<std::size_t>(size_), .open = open, .in_use = open - idle_.size()};
}

void ReaderPool::give_back(std::unique_ptr<Connection> connection) {
    {
        const std::lock_guard lock(mutex_);
        if (connection) {
            idle_.push_back(std::move(connection));
        } else {
            --open_;
        }
    }
    freed_.notify_one();
}

}  // namespace compute::store::sqlite
