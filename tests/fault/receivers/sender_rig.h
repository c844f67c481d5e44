// A sender with a resolver and an owner that a test can talk to.
#pragma once

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/log.h"
#include "net/resolver.h"
#include "net/sender.h"

#include "tests/support/raw_receiver.h"
#include "tests/support/stub_resolver.h"

namespace compute::support {

inline constexpr std::chrono::milliseconds kPatience{20'000};

class SenderRig final : public net::SenderOwner {
public:
    explicit SenderRig(net::SenderOptions options = loopback_options())
        : sender(std::make_unique<net::Sender>(std::move(options), *this, resolver, null_log())) {
        resolver.set("receiver.test", {"127.0.0.1"});
    }

    [[nodiscard]] static net::SenderOptions loopback_options() {
        net::SenderOptions options;
        options.guard.allow_cidrs = net::parse_cidrs({"127.0.0.0/8", "::1"}, "test");
        return options;
    }

    [[nodiscard]] net::Attempt attempt(
        const std::string& url, std::chrono::milliseconds timeout = kPatience
    ) {
        net::Attempt out;
        out.id = ++last_id_;
        out.lane = 1;
        out.url = std::make_shared<const net::Url>(std::get<net::Url>(net::parse_url(url)));
        out.body = std::make_shared<const std::string>(R"({"id":"evt_1"})");
        out.timeout = timeout;
        return out;
    }
    [[nodiscard]] std::string url_of(
        const RawReceiver& receiver, const std::string& scheme = "http"
    ) const {
        return scheme + "://receiver.test:" + std::to_string(receiver.port()) + "/hook";
    }

    net::AttemptResult wait_for(std::uint64_t id) {
        std::unique_lock lock(mutex_);
        const bool has_come =
            signal_.wait_for(lock, kPatience + kPatience, [&] { return results_.count(id) > 0; });
        EXPECT_TRUE(has_come) << "no result of attempt " << id;
        net::AttemptResult out = results_[id];
        results_.erase(id);
        return out;
    }
    net::AttemptResult send(net::Attempt attempt) {
        const std::uint64_t id = attempt.id;
        sender->submit(std::move(attempt));
        return wait_for(id);
    }
    net::AttemptResult send(const std::string& url, std::chrono::milliseconds timeout = kPatience) {
        return send(attempt(url, timeout));
    }

    net::Go before_send(const net::Attempt& attempt, net::HeaderBlock& headers) override {
        headers.add("Content-Type", "application/json");
        headers.add("X-Better-Compute-Delivery", "dlv_" + std::to_string(attempt.id));
        return gate ? gate(attempt) : net::Go::Send;
    }
    void on_result(net::AttemptResult result) override {
        const std::lock_guard lock(mutex_);
        order_.push_back(result.id);
        const std::uint64_t id = result.id;
        const bool is_new = results_.emplace(id, std::move(result)).second;
        EXPECT_TRUE(is_new) << "attempt " << id << " reported twice";
        signal_.notify_all();
    }
    [[nodiscard]] std::vector<std::uint64_t> order() const {
        const std::lock_guard lock(mutex_);
        return order_;
    }

    StubResolver resolver;
    std::function<net::Go(const net::Attempt&)> gate;  // set before the first attempt
    std::unique_ptr<net::Sender> sender;               // last: it calls the others

private:
    mutable std::mutex mutex_;
    std::condition_variable signal_;
    std::map<std::uint64_t, net::AttemptResult> results_;
    std::vector<std::uint64_t> order_;
    std::uint64_t last_id_ = 0;
};

}  // namespace compute::support
