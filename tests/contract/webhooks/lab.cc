#include "tests/contract/webhooks/lab.h"

#include <algorithm>
#include <cctype>

#include "outbox/outbox.h"

#include "tests/support/eventually.h"

namespace compute::events {

INSTANTIATE_TEST_SUITE_P(Engines, Webhooks, support::both_engines(), support::engine_name);

namespace {

// Whether a reader sees every committed event. Transaction ids are the cluster's, so what a test
// beside this one has open in its own database holds our events back for a moment.
bool is_in_reach(support::TestDatabase& database) {
    constexpr const char* kOutOfReach =
        "select count(*) from outbox_events where txid >= "
        "pg_snapshot_xmin(pg_current_snapshot())::text::bigint + (select txid_offset from "
        "outbox_state "
        "where id = 1)";
    return database.engine() == store::Engine::Sqlite ||
           database.database().query(kOutOfReach).at(0).get_int(0) == 0;
}

net::AttemptResult cancelled(const net::Attempt& attempt) {
    net::AttemptResult result;
    result.id = attempt.id;
    result.lane = attempt.lane;
    result.is_cancelled = true;
    result.error = "stopped";
    return result;
}

std::map<std::string, std::string> headers_of(const net::HeaderBlock& block) {
    std::map<std::string, std::string> out;
    for (std::size_t i = 0; i < block.size(); ++i) {
        const std::string line(block.line(i));
        const std::size_t colon = line.find(": ");
        std::string name = line.substr(0, colon);
        std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) {
            return std::tolower(c);
        });
        out[name] = line.substr(colon + 2);
    }
    return out;
}

}  // namespace

void FakeLoop::submit(std::vector<net::Attempt> attempts) {
    for (net::Attempt& attempt : attempts) {
        lanes_[attempt.lane].push_back(std::move(attempt));
    }
}

void FakeLoop::drop_lane(net::LaneKey lane) {
    std::deque<net::Attempt> waiting;
    waiting.swap(lanes_[lane]);
    held_.erase(lane);
    for (const net::Attempt& attempt : waiting) {
        engine_->on_result(cancelled(attempt));
    }
}

int FakeLoop::run(Engine& engine, const Answer& answer, std::vector<Sent>& sent, int limit) {
    int done = 0;
    for (bool is_busy = true; is_busy && done < limit;) {
        is_busy = false;
        std::vector<net::LaneKey> keys;
        for (const auto& [key, attempts] : lanes_) {
            keys.push_back(key);
        }
        for (const net::LaneKey key : keys) {
            if (lanes_[key].empty() || held_.contains(key) || done >= limit) {
                continue;
            }
            const net::Attempt attempt = lanes_[key].front();
            net::HeaderBlock headers;
            const net::Go go = engine.before_send(attempt, headers);
            if (go == net::Go::Hold) {
                held_.insert(key);
                continue;
            }
            lanes_[key].pop_front();
            is_busy = true;
            if (go == net::Go::Drop) {
                engine.on_result(cancelled(attempt));
                continue;
            }
            ++done;
            Sent request;
            request.headers = headers_of(headers);
            request.webhook = request.headers["x-better-compute-webhook"];
            request.delivery = request.headers["x-better-compute-delivery"];
            request.url = attempt.url->text;
            request.body = *attempt.body;
            request.at = clock_.now_ms();
            sent.push_back(request);
            net::AttemptResult result = answer(request);
            result.id = attempt.id;
            result.lane = attempt.lane;
            engine.on_result(std::move(result));
        }
    }
    return done;
}

void FakeLoop::hand_back(Engine& engine) {
    std::map<net::LaneKey, std::deque<net::Attempt>> waiting;
    waiting.swap(lanes_);
    for (const auto& [key, attempts] : waiting) {
        for (const net::Attempt& attempt : attempts) {
            engine.on_result(cancelled(attempt));
        }
    }
}

std::size_t FakeLoop::waiting() const {
    std::size_t count = 0;
    for (const auto& [key, attempts] : lanes_) {
        count += attempts.size();
    }
    return count;
}

net::AttemptResult answered(int status) {
    net::AttemptResult result;
    result.outcome = net::Outcome::Answered;
    result.status = status;
    if (status < 200 || status > 299) {
        result.error = "HTTP status " + std::to_string(status);
    }
    result.remote_address = "93.184.216.34";
    return result;
}

net::AttemptResult refused(const std::string& error) {
    net::AttemptResult result;
    result.outcome = net::Outcome::NotSent;
    result.error = error;
    return result;
}

net::AttemptResult timed_out() {
    net::AttemptResult result;
    result.outcome = net::Outcome::Unknown;
    result.error = "no answer within 10 s";
    return result;
}

Process::Process(support::TestPlane& plane_in, EngineOptions options)
    : plane(plane_in),
      engine(plane_in.runtime(), counters, options),
      fast(plane_in.clock),
      slow(plane_in.clock) {
    fast.owner(engine);
    slow.owner(engine);
    engine.attach(fast, slow);
}

int Process::send(int limit) {
    const int first = fast.run(engine, answer, sent, limit);
    return first + slow.run(engine, answer, sent, limit - first);
}

void Process::deliver() {
    for (int round = 0; round < 1'000; ++round) {
        engine.wake();
        const StepReport report = engine.step();
        const int count = send();
        if (report.claimed == 0 && report.settled == 0 && report.lanes_released == 0 &&
            count == 0) {
            return;
        }
    }
    FAIL() << "delivery did not come to an end";
}

config::Config lab_config() {
    config::Config config;
    config.secret = crypto::Secret("a-deployment-secret-for-tests-0001");
    return config;
}

method::Module lab_events() {
    method::Module module;
    module.id = "lab";
    module.event_families = {
        {"node",
         "node/{id}",
         "lab",
         "A node changed.",
         {"node.lost", "node.ready", "node.disconnected", "node.gpu.missing"}},
        {"nodegroup", "nodegroup/{id}", "lab", "A group changed.", {"nodegroup.x"}},
        {"reservation",
         "reservation/{id}",
         "lab",
         "A reservation changed.",
         {"reservation.placed", "reservation.active"}},
    };
    return module;
}

Lab::Lab(store::Engine engine, config::Config config)
    : plane(engine, {events_module(config), lab_events()}, config), process(plane) {}

std::string Lab::create(
    const std::string& tenant, const std::vector<std::string>& events, const std::string& url
) {
    const Json made = call("create", tenant, {{"url", url}, {"events", events}});
    const std::string id = made["webhook"]["id"];
    secrets[id] = made["secret"];
    return id;
}

std::string Lab::emit(const std::string& tenant, const std::string& type, const Json& data) {
    std::string id = plane.database().write([&](store::Transaction& tx) {
        const outbox::Event event{
            type, TenantId(tenant), "node/node_1", std::make_shared<const Json>(data)};
        return outbox::append(tx, event, plane.clock, plane.rng);
    });
    EXPECT_TRUE(support::eventually([&] { return is_in_reach(plane.test_database()); }));
    return id;
}

int Lab::fan_out() {
    int queued = 0;
    while (true) {
        const FanoutReport report = fanout.run_once(plane.runtime());
        queued += report.deliveries;
        if (!report.is_full) {
            return queued;
        }
    }
}

std::string Lab::queue(const std::string& tenant, const std::string& type) {
    std::string id = emit(tenant, type);
    fan_out();
    return id;
}

Json Lab::call(const std::string& method, const std::string& tenant, Json input) {
    input["tenantId"] = tenant;
    return plane.call("webhooks/" + method, support::TestPlane::admin_of(tenant), input);
}

ComputeError Lab::error(const std::string& method, const std::string& tenant, Json input) {
    input["tenantId"] = tenant;
    return plane.error_of("webhooks/" + method, support::TestPlane::admin_of(tenant), input);
}

std::vector<Json> Lab::deliveries(const std::string& tenant, Json filter) {
    filter["limit"] = filter.value("limit", 200);
    const Json answer = call("deliveries", tenant, filter);
    return {answer["items"].begin(), answer["items"].end()};
}

Json Lab::only_delivery(const std::string& tenant) {
    const std::vector<Json> all = deliveries(tenant);
    EXPECT_EQ(all.size(), 1U);
    return all.empty() ? Json::object() : all.front();
}

std::int64_t Lab::number(const char* sql) {
    return plane.database().query(sql).at(0).get_int(0);
}

std::vector<method::Finding> Lab::check(const std::string& id) {
    method::CheckContext context{
        .database = plane.database(),
        .config = plane.config,
        .clock = plane.clock,
        .migrations = store::built_in_migrations(),
        .catalog = plane.runtime().catalog,
    };
    const method::Module module = events_module(plane.config);
    for (const method::Check& check : module.checks) {
        if (check.id == id) {
            return check.run(context);
        }
    }
    throw std::logic_error("no check " + id);
}

}  // namespace compute::events
