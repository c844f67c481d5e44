#include <algorithm>
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include <sys/resource.h>

#include "tests/fault/http/fixture.h"
#include "tests/support/eventually.h"

namespace compute::daemon::http {
namespace {

using std::chrono::milliseconds;
using support::eventually;
using Steady = std::chrono::steady_clock;

// Who holds up whom: idle, slow, waiting and vanished clients.
class Scheduling : public HttpFault {};
INSTANTIATE_TEST_SUITE_P(Wires, Scheduling, ::testing::Values(Wire::Plain, Wire::Tls), wire_name);

TEST_P(Scheduling, IdleConnectionsHoldUpNobody) {
    Limits limits = short_limits();
    limits.idle_timeout = milliseconds(60'000);
    start(limits);
    std::vector<RawHttp> idle;
    for (int i = 0; i < 1001; ++i) {
        idle.push_back(connect());
        ASSERT_EQ(idle.back().ask(post("/call"))->status, 200);
    }

    for (int i = 0; i < 20; ++i) {
        const auto start_time = Steady::now();
        ASSERT_EQ(ask(post("/call"))->status, 200);
        EXPECT_LT(Steady::now() - start_time, std::chrono::seconds(2));
    }

    EXPECT_EQ(idle.front().ask(post("/call"))->status, 200);
    EXPECT_EQ(idle.back().ask(post("/call"))->status, 200);
    EXPECT_LE(server_->stats().workers, 2U);
}

TEST_P(Scheduling, ASlowHeadIsDropped) {
    Limits limits = short_limits();
    limits.head_timeout = milliseconds(300);
    start(limits);
    RawHttp client = connect();

    const auto start_time = Steady::now();
    client.send("POST /call HTT");
    while (Steady::now() - start_time < std::chrono::seconds(10) &&
           !client.is_closed_within(milliseconds(50))) {
        client.send("P");
    }

    EXPECT_LT(Steady::now() - start_time, std::chrono::seconds(5));
    EXPECT_EQ(server_->stats().timed_out, 1U);
}

TEST_P(Scheduling, ASlowBodyIsDroppedAndHoldsNoWorker) {
    Limits limits = short_limits();
    limits.head_timeout = milliseconds(500);
    start(limits);
    std::vector<RawHttp> slow;
    for (int i = 0; i < 20; ++i) {
        slow.push_back(connect());
        slow.back().send(
            "POST /call HTTP/1.1\r\nHost: test\r\nContent-Type: "
            "application/json\r\nX-Better-Compute: 1\r\nContent-Length: 9\r\n\r\n{"
        );
    }

    EXPECT_EQ(ask(post("/call"))->status, 200);
    for (RawHttp& client : slow) {
        EXPECT_TRUE(client.is_closed_within(milliseconds(10'000)));
    }
    EXPECT_EQ(server_->stats().timed_out, 20U);
}

TEST_P(Scheduling, AnIdleConnectionIsClosedAfterItsTime) {
    Limits limits = short_limits();
    limits.idle_timeout = milliseconds(200);
    start(limits);
    RawHttp used = connect();
    RawHttp silent = connect();

    EXPECT_EQ(used.ask(post("/call"))->status, 200);

    EXPECT_TRUE(used.is_closed_within(milliseconds(10'000)));
    EXPECT_TRUE(silent.is_closed_within(milliseconds(10'000)));
    EXPECT_EQ(server_->stats().timed_out, 0U);
}

TEST_P(Scheduling, AClientThatDoesNotTakeItsAnswerIsDropped) {
    Limits limits = short_limits();
    limits.head_timeout = milliseconds(300);
    start(limits);
    RawHttp client = connect();

    client.send(post("/large"));

    EXPECT_TRUE(eventually([&] { return server_->stats().timed_out == 1; }));
    EXPECT_EQ(ask(post("/call"))->status, 200);
}

TEST_P(Scheduling, ALargeAnswerArrivesWhole) {
    start();

    const auto answer = ask(post("/large"));

    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->body.size(), 32U * 1024 * 1024);
}

TEST_P(Scheduling, OverTheLimitTheLongestIdleConnectionMakesPlace) {
    Limits limits = short_limits();
    limits.connections = 3;
    start(limits);
    RawHttp first = connect();
    ASSERT_EQ(first.ask(post("/call"))->status, 200);
    RawHttp second = connect();
    ASSERT_EQ(second.ask(post("/call"))->status, 200);
    RawHttp third = connect();
    ASSERT_EQ(third.ask(post("/call"))->status, 200);

    EXPECT_EQ(ask(post("/call"))->status, 200);

    EXPECT_TRUE(first.is_closed_within(milliseconds(10'000)));
    EXPECT_EQ(third.ask(post("/call"))->status, 200);
    EXPECT_EQ(server_->stats().refused, 0U);
}

TEST_P(Scheduling, OneAddressGetsNoMoreThanItsShare) {
    Limits limits = short_limits();
    limits.connections_per_address = 2;
    start(limits);
    RawHttp first = connect();
    RawHttp second = connect();
    ASSERT_EQ(first.ask(post("/call"))->status, 200);
    ASSERT_EQ(second.ask(post("/call"))->status, 200);

    if (GetParam() == Wire::Tls) {
        EXPECT_THROW(connect(), std::runtime_error);
    } else {
        EXPECT_TRUE(connect().is_closed_within(milliseconds(10'000)));
    }
    EXPECT_EQ(server_->stats().refused, 1U);

    first.close();
    EXPECT_TRUE(eventually([&] { return server_->stats().connections == 1; }));
    EXPECT_EQ(ask(post("/call"))->status, 200);
}

TEST_P(Scheduling, AThousandWaitingCallsDoNotSlowOthers) {
    start();
    std::vector<RawHttp> waiting;
    for (int i = 0; i < 1000; ++i) {
        waiting.push_back(connect());
        waiting.back().send(post("/wait"));
    }
    ASSERT_TRUE(handler_.wait_for_waiting(1000));

    for (int i = 0; i < 20; ++i) {
        const auto start_time = Steady::now();
        ASSERT_EQ(ask(post("/call"))->status, 200);
        EXPECT_LT(Steady::now() - start_time, std::chrono::seconds(2));
    }
    EXPECT_EQ(server_->stats().waiting, 1000U);
    handler_.release();

    for (RawHttp& client : waiting) {
        const auto answer = client.read_answer();
        ASSERT_TRUE(answer);
        EXPECT_EQ(answer->status, 200);
    }
    EXPECT_TRUE(eventually([&] { return server_->stats().waiting == 0; }));
}

TEST_P(Scheduling, LentThreadsEndWhenTheWaitsAreOver) {
    start();
    std::vector<RawHttp> waiting;
    for (int i = 0; i < 50; ++i) {
        waiting.push_back(connect());
        waiting.back().send(post("/wait"));
    }
    ASSERT_TRUE(handler_.wait_for_waiting(50));
    EXPECT_EQ(server_->stats().workers, 52U);

    handler_.release();

    EXPECT_TRUE(eventually([&] { return server_->stats().workers <= 2; }));
    EXPECT_EQ(ask(post("/call"))->status, 200);
}

TEST_P(Scheduling, AVanishedClientEndsItsWait) {
    start();
    RawHttp client = connect();
    client.send(post("/wait"));
    ASSERT_TRUE(handler_.wait_for_waiting(1));

    const auto start_time = Steady::now();
    client.close();

    ASSERT_TRUE(handler_.wait_for_ended(1));
    EXPECT_LT(Steady::now() - start_time, std::chrono::seconds(1));
    EXPECT_EQ(handler_.aborted(), 1);
    EXPECT_TRUE(eventually([&] {
        return server_->stats().waiting == 0 && server_->stats().connections == 0;
    }));
}

TEST_P(Scheduling, MoreWaitsThanAllowedAreAnsweredAtOnce) {
    Limits limits = short_limits();
    limits.waiting = 1;
    start(limits);
    RawHttp first = connect();
    first.send(post("/wait"));
    ASSERT_TRUE(handler_.wait_for_waiting(1));

    const auto second = ask(post("/wait"));

    ASSERT_TRUE(second);
    EXPECT_EQ(second->body, "{\"data\":\"waited\"}");
    EXPECT_EQ(handler_.aborted(), 1);
    handler_.release();
    EXPECT_TRUE(first.read_answer());
}

TEST_P(Scheduling, AStopFinishesWhatIsUnderWayAndRefusesTheRest) {
    start();
    RawHttp waiting = connect();
    waiting.send(post("/wait"));
    ASSERT_TRUE(handler_.wait_for_waiting(1));
    RawHttp idle = connect();
    ASSERT_EQ(idle.ask(post("/call"))->status, 200);
    const std::string address = server_->address();

    server_->begin_stop();

    const auto answer = waiting.read_answer();
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->status, 200);
    EXPECT_EQ(answer->field("connection"), "close");
    EXPECT_TRUE(idle.is_closed_within(milliseconds(10'000)));
    server_->finish_stop(milliseconds(5000));
    EXPECT_THROW(RawHttp(address, Wire::Plain), std::runtime_error);
}

TEST_P(Scheduling, ManyClientsAtOnceAreAllServed) {
    start();
    std::vector<std::jthread> threads;
    std::atomic<int> right{0};

    for (int t = 0; t < 8; ++t) {
        threads.emplace_back([&, t] {
            for (int i = 0; i < 25; ++i) {
                RawHttp client = connect();
                for (int k = 0; k < 4; ++k) {
                    const std::string body =
                        std::to_string(t) + "-" + std::to_string(i) + "-" + std::to_string(k);
                    const auto answer = client.ask(post("/echo", body));
                    right += answer && answer->body == body ? 1 : 0;
                }
            }
        });
    }
    threads.clear();

    EXPECT_EQ(right, 800);
}

class TlsOnly : public HttpFault {};
INSTANTIATE_TEST_SUITE_P(Wires, TlsOnly, ::testing::Values(Wire::Tls), wire_name);

TEST_P(TlsOnly, CertificatesAreReplacedWhileServing) {
    start();
    RawHttp before = connect();
    const support::TlsIdentity fresh = support::TestAuthority().issue_for({"127.0.0.1"});
    std::ofstream(folder_.path() + "/cert.pem") << fresh.chain;
    std::ofstream(folder_.path() + "/key.pem") << fresh.key;

    tls_->reload();

    EXPECT_EQ(before.ask(post("/call"))->status, 200);
    EXPECT_EQ(ask(post("/call"))->status, 200);
}

TEST_P(TlsOnly, AFaultyCertificateLeavesTheOldOneInForce) {
    start();
    std::ofstream(folder_.path() + "/cert.pem") << "no certificate";

    EXPECT_THROW(tls_->reload(), ComputeError);

    EXPECT_EQ(ask(post("/call"))->status, 200);
}

TEST_P(TlsOnly, ClientsThatNeverShakeHandsHoldUpNobody) {
    Limits limits = short_limits();
    limits.head_timeout = milliseconds(500);
    start(limits);
    std::vector<RawHttp> silent;
    for (int i = 0; i < 50; ++i) {
        silent.emplace_back(server_->address(), Wire::Plain);
        silent.back().send("\x16\x03\x01");
    }

    EXPECT_EQ(ask(post("/call"))->status, 200);
    EXPECT_TRUE(silent.front().is_closed_within(milliseconds(10'000)));
    EXPECT_TRUE(silent.back().is_closed_within(milliseconds(10'000)));
}

}  // namespace
}  // namespace compute::daemon::http
