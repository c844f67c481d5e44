// A capped cache of allows, in groups that can be forgotten at once (all reads of a session).
// Refusals are never put in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "core/clock.h"

namespace compute::iam {

// Thread-safe. An entry lives `ttl_ms` from the moment its question was asked, and never past the
// expiry put with it.
template <class Value>
class AllowCache {
public:
    AllowCache(Clock& clock, int ttl_ms, std::size_t max_entries)
        : clock_(clock), ttl_ms_(ttl_ms), max_entries_(max_entries) {}

    // A question under way. Its answer is kept only if nobody forgot the group in the meantime:
    // what was asked before a change must not be remembered after it.
    class Asking {
    public:
        Asking(AllowCache& cache, std::string group)
            : cache_(cache), group_(std::move(group)), asked_at_(cache.clock_.steady_ms()) {
            const std::lock_guard lock(cache_.mutex_);
            Flight& flight = cache_.flights_[group_];
            ++flight.count;
            generation_ = flight.generation;
        }
        ~Asking() {
            const std::lock_guard lock(cache_.mutex_);
            const auto found = cache_.flights_.find(group_);
            if (--found->second.count == 0) {
                cache_.flights_.erase(found);
            }
        }
        Asking(const Asking&) = delete;
        Asking& operator=(const Asking&) = delete;

        void keep(const std::string& key, Value value, std::optional<EpochMs> expires_at) {
            cache_.put(*this, key, std::move(value), expires_at);
        }

    private:
        friend class AllowCache;
        AllowCache& cache_;
        std::string group_;
        std::int64_t asked_at_;
        std::uint64_t generation_ = 0;
    };

    [[nodiscard]] std::optional<Value> find(const std::string& group, const std::string& key) {
        const std::lock_guard lock(mutex_);
        const auto found = entries_.find({group, key});
        if (found == entries_.end()) {
            return std::nullopt;
        }
        const Entry& entry = found->second;
        if (clock_.steady_ms() - entry.asked_at >= ttl_ms_ ||
            (entry.expires_at && clock_.now_ms() >= *entry.expires_at)) {
            erase(found);
            return std::nullopt;
        }
        return entry.value;
    }

    void forget(const std::string& group) {
        const std::lock_guard lock(mutex_);
        if (const auto flight = flights_.find(group); flight != flights_.end()) {
            ++flight->second.generation;
        }
        auto next = entries_.lower_bound({group, std::string()});
        while (next != entries_.end() && next->first.first == group) {
            erase(next++);
        }
    }

    [[nodiscard]] std::size_t size() const {
        const std::lock_guard lock(mutex_);
        return entries_.size();
    }
    [[nodiscard]] bool has_group(const std::string& group) const {
        const std::lock_guard lock(mutex_);
        const auto next = entries_.lower_bound({group, std::string()});
        return next != entries_.end() && next->first.first == group;
    }

private:
    using Key = std::pair<std::string, std::string>;  // group, key
    struct Entry {
        Value value;
        std::int64_t asked_at = 0;  // steady
        std::optional<EpochMs> expires_at;
        typename std::list<Key>::iterator place;
    };
    struct Flight {
        int count = 0;
        std::uint64_t generation = 0;
    };

    void put(
        const Asking& asking, const std::string& key, Value value, std::optional<EpochMs> expires_at
    ) {
        const std::lock_guard lock(mutex_);
        if (ttl_ms_ <= 0 || max_entries_ == 0 ||
            flights_.at(asking.group_).generation != asking.generation_) {
            return;
        }
        const Key full{asking.group_, key};
        if (const auto old = entries_.find(full); old != entries_.end()) {
            erase(old);
        }
        while (entries_.size() >= max_entries_) {
            erase(entries_.find(order_.front()));
        }
        const auto place = order_.insert(order_.end(), full);
        entries_.emplace(full, Entry{std::move(value), asking.asked_at_, expires_at, place});
    }

    void erase(typename std::map<Key, Entry>::iterator entry) {
        order_.erase(entry->second.place);
        entries_.erase(entry);
    }

    Clock& clock_;
    const std::int64_t ttl_ms_;
    const std::size_t max_entries_;
    mutable std::mutex mutex_;
    std::map<Key, Entry> entries_;
    std::list<Key> order_;  // oldest first
    std::map<std::string, Flight> flights_;
};

}  // namespace compute::iam
