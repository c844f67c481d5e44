#include "net/resolver.h"

#include <atomic>
#include <condition_variable>
#include <future>
#include <mutex>
#include <thread>

#include <gtest/gtest.h>

namespace compute::net {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kLong{20'000};

std::future<ResolveResult> ask(
    Resolver& resolver, const std::string& host, milliseconds timeout = kLong
) {
    auto promise = std::make_shared<std::promise<ResolveResult>>();
    auto future = promise->get_future();
    resolver.resolve(host, timeout, [promise](ResolveResult result) {
        promise->set_value(std::move(result));
    });
    return future;
}

// Lookups of "hang*" wait until the gate opens.
struct Gate {
    std::mutex mutex;
    std::condition_variable signal;
    bool is_open = false;
    std::atomic<int> lookups = 0;
    std::atomic<int> hanging = 0;

    void open() {
        const std::lock_guard lock(mutex);
        is_open = true;
        signal.notify_all();
    }
    void wait_for_hanging(int count) {
        std::unique_lock lock(mutex);
        EXPECT_TRUE(signal.wait_for(lock, kLong, [&] { return hanging >= count; }));
    }
};

Lookup lookup_through(const std::shared_ptr<Gate>& gate) {
    return [gate](const std::string& host) {
        ++gate->lookups;
        if (host.rfind("hang", 0) == 0) {
            std::unique_lock lock(gate->mutex);
            ++gate->hanging;
            gate->signal.notify_all();
            gate->signal.wait(lock, [&] { return gate->is_open; });
        }
        return ResolveResult{ResolveStatus::Ok, {IpAddress::v4(0x08080808)}, {}};
    };
}

TEST(PoolResolver, AnswersEachCallerOnce) {
    const auto gate = std::make_shared<Gate>();
    const auto resolver = make_pool_resolver(lookup_through(gate));

    const ResolveResult result = ask(*resolver, "example.com").get();

    EXPECT_EQ(result.status, ResolveStatus::Ok);
    EXPECT_EQ(result.addresses, std::vector{IpAddress::v4(0x08080808)});
}

TEST(PoolResolver, TimesOutALookupThatHangs) {
    const auto gate = std::make_shared<Gate>();
    const auto resolver = make_pool_resolver(lookup_through(gate));

    EXPECT_EQ(ask(*resolver, "hang", milliseconds(30)).get().status, ResolveStatus::TimedOut);
    gate->open();
}

TEST(PoolResolver, HungLookupsDoNotHoldUpOthers) {
    const auto gate = std::make_shared<Gate>();
    const auto resolver =
        make_pool_resolver(lookup_through(gate), {.threads = 2, .max_threads = 8});
    auto first = ask(*resolver, "hang1");
    auto second = ask(*resolver, "hang2");
    gate->wait_for_hanging(2);

    EXPECT_EQ(ask(*resolver, "example.com").get().status, ResolveStatus::Ok);

    gate->open();
    EXPECT_EQ(first.get().status, ResolveStatus::Ok);
    EXPECT_EQ(second.get().status, ResolveStatus::Ok);
}

TEST(PoolResolver, OneHostHoldsAtMostOneThread) {
    const auto gate = std::make_shared<Gate>();
    const auto resolver =
        make_pool_resolver(lookup_through(gate), {.threads = 2, .max_threads = 2});
    std::vector<std::future<ResolveResult>> stuck;
    stuck.push_back(ask(*resolver, "hang"));
    gate->wait_for_hanging(1);
    for (int i = 0; i < 10; ++i) {
        stuck.push_back(ask(*resolver, "hang"));
    }

    EXPECT_EQ(ask(*resolver, "example.com").get().status, ResolveStatus::Ok);

    gate->open();
    for (auto& each : stuck) {
        EXPECT_EQ(each.get().status, ResolveStatus::Ok);
    }
    EXPECT_EQ(
        gate->lookups, 3
    );  // the first, one for those that came meanwhile, and the other host
}

TEST(PoolResolver, RefusesMoreThanMayWait) {
    const auto gate = std::make_shared<Gate>();
    const auto resolver = make_pool_resolver(
        lookup_through(gate), {.threads = 1, .max_threads = 1, .max_waiting = 2}
    );
    auto first = ask(*resolver, "hang1");
    auto second = ask(*resolver, "hang2");

    EXPECT_EQ(ask(*resolver, "example.com").get().status, ResolveStatus::Failed);
    gate->open();
    (void)first.get();
    (void)second.get();
}

TEST(PoolResolver, ClosingAnswersWhatHangs) {
    const auto gate = std::make_shared<Gate>();
    auto resolver = make_pool_resolver(lookup_through(gate));
    auto stuck = ask(*resolver, "hang");
    gate->wait_for_hanging(1);

    resolver.reset();

    EXPECT_EQ(stuck.get().status, ResolveStatus::Failed);
    gate->open();
}

TEST(SystemResolver, FindsLocalhostAndMissesTheInvalid) {
    const auto resolver = make_system_resolver();

    const ResolveResult local = ask(*resolver, "localhost").get();
    ASSERT_EQ(local.status, ResolveStatus::Ok);
    EXPECT_TRUE(
        local.addresses.front().text() == "127.0.0.1" || local.addresses.front().text() == "::1"
    );

    const ResolveResult missing = ask(*resolver, "nothing.invalid").get();
    EXPECT_NE(missing.status, ResolveStatus::Ok);
    EXPECT_TRUE(missing.addresses.empty());
}

}  // namespace
}  // namespace compute::net
