// A control plane in process, for tests: a fresh database, a clock that the test moves, randomness
// that repeats, an IAM that answers as the test says, and the real registry and envelope over the
// modules given.
//
//     TestPlane plane(GetParam(), {capacity::module()});
//     const Json pool = plane.call("pools/create", TestPlane::admin_of("acme"), {{"tenantId",
//     "acme"}, {"name", "a"}}); const auto error = plane.error_of("pools/create",
//     TestPlane::viewer_of("acme"), {{"tenantId", "acme"}, {"name", "b"}}); EXPECT_EQ(plane.log(),
//     ...);  // auth, require, begin, handler, audit, commit
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "config/config.h"
#include "core/wake.h"
#include "method/envelope.h"
#include "method/module.h"
#include "method/registry.h"

#include "tests/support/fake_clock.h"
#include "tests/support/memory_log.h"
#include "tests/support/recording_database.h"
#include "tests/support/seeded_rng.h"
#include "tests/support/spy_iam.h"
#include "tests/support/test_database.h"

namespace compute::support {

struct AuditRow {
    std::string id;
    std::string tenant_id;
    std::string identity_id;
    std::string method;
    std::string action;
    std::string resource_type;
    std::string resource_id;
    std::string decision_reason;
    Json admission;  // null when there is none
    std::string request_id;
    std::string source_ip;
    std::string parent_id;
};

struct OutboxRow {
    std::string id;
    std::string type;
    std::string tenant_id;
    std::string subject;
    Json data;
};

// Keeps the refusals it is told of.
class MemoryDenials final : public method::DenialSink {
public:
    void add(const method::Refusal& refusal) noexcept override {
        refusals_.with([&](auto& all) { all.push_back(refusal); });
    }
    [[nodiscard]] std::vector<method::Refusal> all() const {
        return refusals_.with([](const auto& all) { return all; });
    }

private:
    Guarded<std::vector<method::Refusal>> refusals_;
};

// call() and error_of() may be used by many threads at once; the rest is the test's own thread's.
class TestPlane {
public:
    // Registers the modules and runs their on_start. Throws what a daemon would refuse to start
    // with.
    explicit TestPlane(
        store::Engine engine, std::vector<method::Module> modules = {}, config::Config config = {}
    );
    // A second control plane, as another process would be, over the database of `other`, which
    // outlives it.
    TestPlane(TestPlane& other, std::vector<method::Module> modules);
    ~TestPlane();
    TestPlane(const TestPlane&) = delete;
    TestPlane& operator=(const TestPlane&) = delete;

    // Credentials by the convention of spy_iam.h.
    [[nodiscard]] static std::string admin_of(std::string_view tenant) {
        return "admin:" + std::string(tenant);
    }
    [[nodiscard]] static std::string viewer_of(std::string_view tenant) {
        return "viewer:" + std::string(tenant);
    }
    [[nodiscard]] static std::string agent_of(std::string_view tenant) {
        return "agent:" + std::string(tenant);
    }
    [[nodiscard]] static std::string root() { return "admin:root"; }

    // Runs a call; an empty credential is none. request_id is "req-1", "req-2", ...
    Json call(const std::string& path, const std::string& credential, const Json& input);
    // The error of a call that must fail; std::logic_error when it does not.
    [[nodiscard]] ComputeError error_of(
        const std::string& path, const std::string& credential, const Json& input
    );
    // The same with everything a call can carry.
    Json run(method::Call call);
    [[nodiscard]] method::Call call_of(
        const std::string& path, const std::string& credential, const Json& input
    );

    // The steps since the last clear(), in order: auth, authorize, require, confirm, billing, sync
    // (the IAM), begin, commit, rollback, savepoint, audit, begin read, end read (the database),
    // handler, prepare, check, denied, abandoned, refresh (the methods).
    [[nodiscard]] std::vector<std::string> log() const;
    [[nodiscard]] int count(std::string_view step) const;
    // Calls' transactions of both kinds, and statements, since the last clear().
    [[nodiscard]] int transactions_opened() const { return count("begin") + count("begin read"); }
    [[nodiscard]] int statements() const;
    // Forgets steps, IAM calls and counts.
    void clear();

    // What is in the tables, oldest first.
    [[nodiscard]] std::vector<AuditRow> audit();
    [[nodiscard]] std::vector<OutboxRow> outbox();
    // The attributes a decision on a resource (type without prefix) would see: pending merged over
    // the rest; null when there is no row.
    [[nodiscard]] Json attributes_of(const std::string& type, const std::string& id);

    // Runs one of the modules' reconcilers once.
    std::optional<std::chrono::milliseconds> run_reconciler(const std::string& name);

    [[nodiscard]] store::Database& database();
    [[nodiscard]] const method::Runtime& runtime() const;
    [[nodiscard]] const method::Registry& registry() const;
    [[nodiscard]] method::Envelope& envelope();
    [[nodiscard]] TestDatabase& test_database();
    // See RecordingDatabase::set_crash.
    void set_crash(std::function<bool(std::string_view step)> crash);

    FakeClock clock;
    SeededRng rng;
    MemoryLog messages;
    MemoryDenials denials;
    SpyIam iam;
    WakeHub wake;
    config::Config config;

private:
    struct Impl;
    void build(std::vector<method::Module> modules);
    std::unique_ptr<Impl> impl_;
};

}  // namespace compute::support
