// A control plane with webhooks for tests: events by name, an engine whose steps the test takes,
// and loops that send nothing but ask the test what the receiver answers.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "modules/events/engine.h"
#include "modules/events/events.h"
#include "modules/events/fanout.h"

#include "tests/support/test_plane.h"

namespace compute::events {

// One request as a receiver would see it.
struct Sent {
    std::string webhook;
    std::string delivery;
    std::string url;
    std::string body;
    std::map<std::string, std::string> headers;  // names in lower case
    EpochMs at = 0;
};

using Answer = std::function<net::AttemptResult(const Sent&)>;

// A loop that sends when the test says so.
class FakeLoop final : public Outbound {
public:
    explicit FakeLoop(support::FakeClock& clock) : clock_(clock) {}
    void submit(std::vector<net::Attempt> attempts) override;
    void resume(net::LaneKey lane) override { held_.erase(lane); }
    void drop_lane(net::LaneKey lane) override;

    // Sends at most `limit` requests, lanes in turn, each lane in order. Lanes that must wait are
    // passed over.
    int run(Engine& engine, const Answer& answer, std::vector<Sent>& sent, int limit = 1'000'000);
    // What waits is reported as never sent, as at a clean stop.
    void hand_back(Engine& engine);
    // What waits is forgotten, as in a crash.
    void crash() {
        lanes_.clear();
        held_.clear();
    }
    [[nodiscard]] std::size_t waiting() const;
    void owner(Engine& engine) { engine_ = &engine; }

private:
    support::FakeClock& clock_;
    Engine* engine_ = nullptr;
    std::map<net::LaneKey, std::deque<net::Attempt>> lanes_;
    std::set<net::LaneKey> held_;
};

[[nodiscard]] net::AttemptResult answered(int status);
[[nodiscard]] net::AttemptResult refused(const std::string& error);  // no connection
[[nodiscard]] net::AttemptResult timed_out();                        // sent, no answer

// An engine with its loops over a plane: a process that delivers.
struct Process {
    explicit Process(support::TestPlane& plane, EngineOptions options = {});

    support::TestPlane& plane;
    EngineCounters counters;
    Engine engine;
    FakeLoop fast;
    FakeLoop slow;
    std::vector<Sent> sent;
    Answer answer = [](const Sent&) { return answered(204); };

    // One claim of at most `limit` rows; nothing is sent yet.
    StepReport claim_pass() { return engine.step({.passes = 1}); }
    int send(int limit = 1'000'000);
    // Settles what came back without claiming.
    void settle() { engine.step({.passes = 0}); }
    // Until nothing is due any more.
    void deliver();
};

[[nodiscard]] config::Config lab_config();
[[nodiscard]] method::Module lab_events();

class Lab {
public:
    explicit Lab(store::Engine engine, config::Config config = lab_config());

    // The created webhook's id; the secret is kept.
    std::string create(
        const std::string& tenant,
        const std::vector<std::string>& events,
        const std::string& url = "https://hooks.example.com/a"
    );
    // Commits one event; returns its id.
    std::string emit(
        const std::string& tenant, const std::string& type, const Json& data = {{"n", 1}}
    );
    // Runs fan-out until it finds nothing; returns how many deliveries were queued.
    int fan_out();
    // emit, fan_out.
    std::string queue(const std::string& tenant, const std::string& type = "node.lost");

    Json call(const std::string& method, const std::string& tenant, Json input = Json::object());
    ComputeError error(
        const std::string& method, const std::string& tenant, Json input = Json::object()
    );
    // Items of webhooks.deliveries.
    std::vector<Json> deliveries(const std::string& tenant, Json filter = Json::object());
    Json only_delivery(const std::string& tenant);
    std::int64_t number(const char* sql);  // one number; literal text
    std::vector<method::Finding> check(const std::string& id);

    support::TestPlane plane;
    Fanout fanout;
    Process process;
    std::map<std::string, std::string> secrets;  // by webhook id
};

// The fixture of every test: one per engine.
class Webhooks : public ::testing::TestWithParam<store::Engine> {};

}  // namespace compute::events
