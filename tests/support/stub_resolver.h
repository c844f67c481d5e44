// A resolver that the test tells what to answer.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "net/resolver.h"

namespace compute::support {

// Thread-safe. Answers on the caller's thread; a host it was not told about is NotFound.
class StubResolver final : public net::Resolver {
public:
    // From now on `host` has these addresses.
    void set(const std::string& host, const std::vector<std::string>& addresses) {
        set_in_turn(host, {addresses});
    }
    // The first lookup gets the first list, and so on; the last one stays.
    void set_in_turn(const std::string& host, const std::vector<std::vector<std::string>>& turns) {
        std::vector<net::ResolveResult> results;
        for (const auto& addresses : turns) {
            net::ResolveResult& result = results.emplace_back();
            result.status = net::ResolveStatus::Ok;
            for (const std::string& address : addresses) {
                result.addresses.push_back(net::IpAddress::find(address).value());
            }
        }
        set_all(host, std::move(results));
    }
    void fail(const std::string& host, net::ResolveStatus status) {
        set_all(host, {{status, {}, "told to"}});
    }
    // Lookups of `host` are never answered.
    void hang(const std::string& host) { set_all(host, {}); }

    void resolve(
        const std::string& host,
        std::chrono::milliseconds /*timeout*/,
        std::function<void(net::ResolveResult)> done
    ) override {
        net::ResolveResult result{net::ResolveStatus::NotFound, {}, "unknown to the stub"};
        {
            const std::lock_guard lock(mutex_);
            ++lookups_[host];
            if (const auto found = answers_.find(host); found != answers_.end()) {
                if (found->second.empty()) {
                    hanging_.push_back(std::move(done));
                    return;
                }
                result = found->second.front();
                if (found->second.size() > 1) {
                    found->second.erase(found->second.begin());
                }
            }
        }
        done(std::move(result));
    }

    [[nodiscard]] int lookups(const std::string& host) const {
        const std::lock_guard lock(mutex_);
        const auto found = lookups_.find(host);
        return found == lookups_.end() ? 0 : found->second;
    }

private:
    void set_all(const std::string& host, std::vector<net::ResolveResult> results) {
        const std::lock_guard lock(mutex_);
        answers_[host] = std::move(results);
    }

    mutable std::mutex mutex_;
    std::map<std::string, std::vector<net::ResolveResult>> answers_;  // none: hangs
    std::map<std::string, int> lookups_;
    std::vector<std::function<void(net::ResolveResult)>> hanging_;
};

}  // namespace compute::support
