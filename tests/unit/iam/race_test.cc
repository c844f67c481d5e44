// What several threads or processes at once may not do to each other. Each thread has a database
// handle of its own, as a process would, where the engine allows several writers.
#include <atomic>
#include <functional>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "iam/local/confirmations.h"

#include "tests/unit/iam/local_plane.h"

namespace compute::iam::local {
namespace {

constexpr int kThreads = 6;

class Race : public ::testing::TestWithParam<store::Engine> {};
INSTANTIATE_TEST_SUITE_P(Engines, Race, support::both_engines(), support::engine_name);

// Runs `function(database)` on kThreads threads that start together.
void all_at_once(LocalPlane& plane, const std::function<void(store::Database&)>& function) {
    const bool is_shared = plane.db.engine() == store::Engine::Sqlite;
    std::vector<std::unique_ptr<store::Database>> handles;
    for (int i = 0; i < kThreads && !is_shared; ++i) {
        handles.push_back(plane.db.open());
    }
    std::atomic<int> ready = 0;
    std::vector<std::jthread> threads;
    for (int i = 0; i < kThreads; ++i) {
        store::Database& database =
            is_shared ? plane.db.database() : *handles[static_cast<std::size_t>(i)];
        threads.emplace_back([&] {
            ++ready;
            while (ready < kThreads) {
                std::this_thread::yield();
            }
            function(database);
        });
    }
}

TEST_P(Race, OneFirstRunMakesTheRootTheOthersFindIt) {
    LocalPlane plane(GetParam());
    std::atomic<int> made = 0;

    all_at_once(plane, [&](store::Database& database) {
        const bool is_first = database.write([&](store::Transaction& tx) {
            return bootstrap_root(tx, plane.clock, plane.rng, "root").has_value();
        });
        made += is_first ? 1 : 0;
    });

    EXPECT_EQ(made, 1);
    EXPECT_EQ(plane.write([](store::Transaction& tx) { return list_tokens(tx); }).size(), 1U);
}

TEST_P(Race, OneApprovalAdmitsOneOfManyDecisions) {
    LocalPlane plane(GetParam());
    plane.apply(kDocument);
    const Session bot = plane.session("acme", "bot", "dlg1");
    Question held = question("acme", "compute:pools:delete", "compute-pool", "p1");
    held.request_hash = "h";
    const auto confirmation = plane.iam.request_confirmation(bot, held, "r", "h");
    plane.write([&](store::Transaction& tx) {
        rule_confirmation(tx, plane.clock.now_ms(), confirmation->id, Ruling::Approve, "os:ops");
    });
    std::atomic<int> allowed = 0;

    all_at_once(plane, [&](store::Database& database) {
        LocalIam iam(database, plane.clock, plane.rng);
        allowed += iam.require(bot, held).is_allowed ? 1 : 0;
    });

    EXPECT_EQ(allowed, 1);
}

TEST_P(Race, TheSameRequestAskedAtOnceOpensOneConfirmation) {
    LocalPlane plane(GetParam());
    plane.apply(kDocument);
    const Session bot = plane.session("acme", "bot", "dlg1");
    const Question held = question("acme", "compute:pools:delete", "compute-pool", "p1");

    all_at_once(plane, [&](store::Database& database) {
        LocalIam iam(database, plane.clock, plane.rng);
        (void)iam.request_confirmation(bot, held, "r", "h");
    });

    EXPECT_EQ(
        plane
            .write([&](store::Transaction& tx) {
                return list_confirmations(tx, plane.clock.now_ms());
            })
            .size(),
        1U
    );
}

TEST_P(Race, DocumentsAppliedAtOnceComeOneAfterTheOther) {
    LocalPlane plane(GetParam());
    plane.apply(kDocument);
    const auto before = plane.apply(kDocument).revision;
    std::atomic<int> number = 0;

    all_at_once(plane, [&](store::Database& database) {
        const std::string name = "t" + std::to_string(number++);
        const Contents contents =
            parse_document(Json{{"version", 1}, {"tenants", Json::array({Json{{"id", name}}})}});
        database.write([&](store::Transaction& tx) {
            return apply_document(tx, contents, {}, plane.clock.now_ms());
        });
    });

    EXPECT_EQ(plane.apply(kDocument).revision, before + kThreads);
    EXPECT_EQ(plane.exported()["tenants"].size(), 3U + kThreads);
}

}  // namespace
}  // namespace compute::iam::local
