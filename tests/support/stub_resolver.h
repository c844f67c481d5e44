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
        net::ResolveResult result{net::ResolveStatus::Ok, {}, {}};
        for (const std::string& address : addresses) {
            result.addresses.push_back(net::IpAddress::find(address).value());
        }
        set_all(host, {std::move(result)});
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
