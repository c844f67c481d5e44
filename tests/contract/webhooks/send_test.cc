// The worker with its real loops against real sockets.
#include "modules/events/signing.h"
#include "modules/events/worker.h"

#include "tests/contract/webhooks/lab.h"
#include "tests/support/raw_receiver.h"
#include "tests/support/stub_resolver.h"

namespace compute::events {
namespace {

using std::chrono::milliseconds;
using support::RawConnection;
using support::RawReceiver;
using ::testing::HasSubstr;
using ::testing::SizeIs;

class Forward final : public net::Resolver {
public:
    explicit Forward(net::Resolver& to) : to_(to) {}
    void resolve(
        const std::string& host, milliseconds timeout, std::function<void(net::ResolveResult)> done
    ) override {
        to_.resolve(host, timeout, std::move(done));
    }

private:
    net::Resolver& to_;
};

config::Config open_config() {
    config::Config config = lab_config();
    config.events.allow_insecure = true;
    config.events.allow_private = true;
    config.events.delivery.timeout_ms = 5'000;
    return config;
}

// A lab whose worker runs on the system's clock.
struct Live {
    explicit Live(store::Engine engine, const config::Config& config = open_config())
        : lab(engine, config),
          runtime{
              .database = lab.plane.database(),
              .iam = lab.plane.iam,
              .clock = clock,
              .rng = lab.plane.rng,
              .log = lab.plane.messages,
              .config = lab.plane.config,
              .wake = lab.plane.wake,
              .catalog = lab.plane.runtime().catalog,
          } {
        lab.plane.clock.set(clock.now_ms());
    }
    ~Live() {
        if (worker) {
            worker->finish_stop();
        }
    }

    std::unique_ptr<method::Worker> make_worker() {
        WorkerOptions options;
        options.make_resolver = [this] { return std::make_unique<Forward>(resolver); };
        return start_worker(runtime, std::make_shared<EngineCounters>(), options);
    }
    void start() { worker = make_worker(); }

    // True once `is_done` holds; looks until a generous deadline.
    static bool eventually(const std::function<bool()>& is_done) {
        SystemClock clock;
        const std::int64_t deadline = clock.steady_ms() + 60'000;
        while (!is_done()) {
            if (clock.steady_ms() > deadline) {
                return false;
            }
            clock.sleep(milliseconds(5), [] { return false; });
        }
        return true;
    }
    bool settled(int attempts = 1) {
        return eventually([&] {
            const auto all = lab.deliveries("acme");
            return !all.empty() && std::all_of(all.begin(), all.end(), [&](const Json& delivery) {
                return delivery["state"] != "pending" ||
                       (delivery["attempts"] >= attempts && delivery.contains("lastError"));
            });
        });
    }

    SystemClock clock;
    support::StubResolver resolver;
    Lab lab;
    method::Runtime runtime;
    std::unique_ptr<method::Worker> worker;
};

TEST_P(Webhooks, W2_ACommitReachesItsReceiverSigned) {
    RawReceiver receiver(support::answering(204));
    Live live(GetParam());
    live.start();
    const std::string id = live.lab.create("acme", {"*"}, receiver.url());

    live.lab.queue("acme");

    ASSERT_TRUE(receiver.wait_for_requests(1));
    const support::RecordedRequest request = receiver.requests().front();
    EXPECT_EQ(request.method, "POST");
    EXPECT_EQ(request.header("content-type"), "application/json");
    EXPECT_TRUE(verify_webhook_signature({
        .secret = live.lab.secrets[id],
        .signature = request.header("x-better-compute-signature"),
        .timestamp = request.header("x-better-compute-timestamp"),
        .body = request.body,
        .now_seconds = std::nullopt,
    }));
    ASSERT_TRUE(live.settled());
    EXPECT_EQ(live.lab.only_delivery("acme")["state"], "delivered");
}

TEST_P(Webhooks, W42_W43_AnAddressThatIsNotPublicIsNotConnectedTo) {
    RawReceiver receiver(support::answering(204));
    config::Config config = open_config();
    config.events.allow_private = false;
    Live live(GetParam(), config);
    live.resolver.set("turned.test", {"127.0.0.1"});
    live.resolver.set("mixed.test", {"93.184.216.34", "127.0.0.1"});
    live.start();
    const std::string port = std::to_string(receiver.port());
    live.lab.create("acme", {"*"}, "http://turned.test:" + port + "/");
    live.lab.create("acme", {"*"}, "http://mixed.test:" + port + "/");

    live.lab.queue("acme");
    ASSERT_TRUE(live.settled());

    for (const Json& delivery : live.lab.deliveries("acme")) {
        EXPECT_THAT(delivery["lastError"].get<std::string>(), HasSubstr("non-public"));
        EXPECT_FALSE(delivery.contains("lastStatus"));
    }
    EXPECT_EQ(receiver.connections(), 0);
    EXPECT_GE(live.resolver.lookups("turned.test"), 1);
}

TEST_P(Webhooks, W58_TheBodyOfASuccessIsIgnored) {
    RawReceiver receiver(support::answering_raw(
        "HTTP/1.1 200 OK\r\nContent-Length: 10485760\r\n\r\n" + std::string(1000, 'x')
    ));
    Live live(GetParam());
    live.start();
    live.lab.create("acme", {"*"}, receiver.url());

    live.lab.queue("acme");

    ASSERT_TRUE(live.settled());
    EXPECT_EQ(live.lab.only_delivery("acme")["state"], "delivered");
}

TEST_P(Webhooks, W59_ARedirectIsNotFollowed) {
    RawReceiver second(support::answering(204));
    RawReceiver first(support::answering_raw(
        "HTTP/1.1 302 Found\r\nLocation: " + second.url() + "\r\nContent-Length: 0\r\n\r\n"
    ));
    Live live(GetParam());
    live.start();
    live.lab.create("acme", {"*"}, first.url());

    live.lab.queue("acme");

    ASSERT_TRUE(live.settled());
    EXPECT_EQ(live.lab.only_delivery("acme")["lastStatus"], 302);
    EXPECT_EQ(second.connections(), 0);
}

TEST_P(Webhooks, W60_W61_NoConnectionAndNoAnswerAreFailures) {
    int closed_port = 0;
    {
        RawReceiver gone(support::answering(204));
        closed_port = gone.port();
    }
    RawReceiver silent([](RawConnection& connection) {
        connection.read_request();
        connection.hang();
    });
    config::Config config = open_config();
    config.events.delivery.timeout_ms = 300;
    Live live(GetParam(), config);
    live.start();
    live.lab.create("acme", {"*"}, "http://127.0.0.1:" + std::to_string(closed_port) + "/");
    live.lab.create("acme", {"*"}, silent.url());

    live.lab.queue("acme");

    ASSERT_TRUE(live.settled());
    for (const Json& delivery : live.lab.deliveries("acme")) {
        EXPECT_EQ(delivery["state"], "pending");
        EXPECT_EQ(delivery["attempts"], 1);
        EXPECT_FALSE(delivery.contains("lastStatus"));
        EXPECT_FALSE(delivery["lastError"].get<std::string>().empty());
    }
}

TEST_P(Webhooks, W20_AHungReceiverDelaysNoOtherOnSockets) {
    RawReceiver good(support::answering(204));
    RawReceiver silent([](RawConnection& connection) {
        connection.read_request();
        connection.hang();
    });
    Live live(GetParam());
    live.start();
    live.lab.create("acme", {"*"}, silent.url());
    live.lab.create("acme", {"*"}, good.url());
    for (int i = 0; i < 20; ++i) {
        live.lab.emit("acme", "node.lost");
    }

    live.lab.fan_out();

    EXPECT_TRUE(good.wait_for_requests(20, milliseconds(4'000)));  // the hung one takes 5 s a try
}

TEST_P(Webhooks, AStopEndsWithinTheTimeoutAndHandsBack) {
    RawReceiver silent([](RawConnection& connection) {
        connection.read_request();
        connection.hang();
    });
    config::Config config = open_config();
    config.events.delivery.timeout_ms = 1'000;
    Live live(GetParam(), config);
    live.start();
    live.lab.create("acme", {"*"}, silent.url());
    for (int i = 0; i < 10; ++i) {
        live.lab.emit("acme", "node.lost");
    }
    live.lab.fan_out();
    ASSERT_TRUE(silent.wait_for_requests(1));

    const std::int64_t start = live.clock.steady_ms();
    live.worker->begin_stop();
    live.worker->finish_stop();

    EXPECT_LE(live.clock.steady_ms() - start, 2'500);
    EXPECT_EQ(
        live.lab.number("select count(*) from webhook_deliveries where token is not null"), 0
    );
    EXPECT_EQ(live.lab.number("select count(*) from webhook_lanes where token is not null"), 0);
    EXPECT_EQ(live.lab.number("select sum(attempts) from webhook_deliveries"), 1);
}

TEST_P(Webhooks, TwoWorkersDeliverEachOnce) {
    RawReceiver receiver(support::answering(204));
    Live live(GetParam());
    live.start();
    const auto second = live.make_worker();
    for (int i = 0; i < 5; ++i) {
        live.lab.create("acme", {"*"}, receiver.url());
    }
    for (int i = 0; i < 40; ++i) {
        live.lab.emit("acme", "node.lost");
    }

    live.lab.fan_out();

    ASSERT_TRUE(Live::eventually([&] {
        return live.lab.number("select count(*) from webhook_deliveries where state = 1") == 200;
    }));
    second->finish_stop();
    std::set<std::string> distinct;
    for (const support::RecordedRequest& request : receiver.requests()) {
        distinct.insert(request.header("x-better-compute-delivery"));
    }
    EXPECT_EQ(distinct.size(), 200U);
    EXPECT_EQ(receiver.requests().size(), 200U);
}

}  // namespace
}  // namespace compute::events
