// Kept connections, lanes and shutdown: what one receiver does must not reach another attempt.
#include <atomic>
#include <future>
#include <string>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <malloc.h>
#include <sys/socket.h>

#include "tests/fault/receivers/sender_rig.h"
#include "tests/support/raw_receiver.h"

namespace compute::support {
namespace {

using net::Outcome;
using std::chrono::milliseconds;
using testing::ElementsAre;

TEST(Connections, AreKeptAndUsedAgain) {
    RawReceiver receiver(answering(204));
    SenderRig rig;

    const auto first = rig.send(rig.url_of(receiver));
    const auto second = rig.send(rig.url_of(receiver));

    EXPECT_FALSE(first.is_reused);
    EXPECT_TRUE(second.is_reused);
    EXPECT_EQ(receiver.connections(), 1);
}

TEST(Connections, CarryTheBodyAndTheOwnersHeaders) {
    RawReceiver receiver(answering(204));
    SenderRig rig;

    ASSERT_TRUE(rig.send(rig.url_of(receiver)).is_success());

    const RecordedRequest request = receiver.requests().at(0);
    EXPECT_EQ(request.method, "POST");
    EXPECT_EQ(request.target, "/hook");
    EXPECT_EQ(request.body, R"({"id":"evt_1"})");
    std::vector<std::string> names;
    for (const auto& [name, value] : request.headers) {
        names.push_back(name);
    }
    EXPECT_THAT(
        names, ElementsAre("host", "content-type", "x-better-compute-delivery", "content-length")
    );
}

TEST(Connections, ClosingAtOnceIsAnOutcome) {
    RawReceiver receiver([](RawConnection& connection) { connection.close(); });
    SenderRig rig;

    const auto result = rig.send(rig.url_of(receiver));

    EXPECT_FALSE(result.status);
    EXPECT_THAT(
        result.error,
        testing::AnyOf(
            "connection closed without an answer",
            "connection broken off before the whole answer",
            "connection broken off while sending"
        )
    );
}

TEST(Connections, RefusedIsNotSent) {
    int port = 0;
    { port = RawReceiver(answering(204)).port(); }
    SenderRig rig;

    const auto result = rig.send("http://receiver.test:" + std::to_string(port) + "/");

    EXPECT_EQ(result.outcome, Outcome::NotSent);
    EXPECT_EQ(result.error, "connection refused");
    EXPECT_NE(result.detail.find("receiver.test"), std::string::npos);
}

TEST(Connections, ALateSecondAnswerIsNotTakenForTheNext) {
    std::promise<void> has_sent;
    RawReceiver receiver([&](RawConnection& connection) {
        if (connection.read_request() && connection.number() == 1) {
            connection.send("HTTP/1.1 204 No Content\r\n\r\n");
            connection.pause(milliseconds(30));
            connection.send("HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n");
            has_sent.set_value();
            connection.hang();
            return;
        }
        connection.send("HTTP/1.1 204 No Content\r\n\r\n");
    });
    SenderRig rig;
    ASSERT_TRUE(rig.send(rig.url_of(receiver)).is_success());
    has_sent.get_future().wait();

    EXPECT_EQ(rig.send(rig.url_of(receiver)).status, 204);
    EXPECT_EQ(receiver.connections(), 2);
}

TEST(Connections, ResetOnReuseIsTriedOnceMoreOnAFreshOne) {
    RawReceiver receiver([](RawConnection& connection) {
        if (connection.read_request()) {
            connection.send("HTTP/1.1 204 No Content\r\n\r\n");
            if (connection.read_request()) {
                connection.reset();
            }
        }
    });
    SenderRig rig;
    ASSERT_TRUE(rig.send(rig.url_of(receiver)).is_success());

    EXPECT_EQ(rig.send(rig.url_of(receiver)).status, 204);
    EXPECT_EQ(receiver.connections(), 2);
}

TEST(Connections, ClosedWhileIdleIsReplaced) {
    RawReceiver receiver([](RawConnection& connection) {
        if (connection.read_request()) {
            connection.send("HTTP/1.1 204 No Content\r\n\r\n");
        }
    });
    SenderRig rig;
    for (int i = 0; i < 5; ++i) {
        EXPECT_EQ(rig.send(rig.url_of(receiver)).status, 204);
    }
}

TEST(Connections, AnswerClosedAtEachByteCountsOnlyWhenWhole) {
    const std::string answer = "HTTP/1.1 200 OK\r\nServer: x\r\nContent-Length: 2\r\n\r\nok";
    const std::size_t header = answer.find("\r\n\r\n") + 4;
    SenderRig rig;
    for (std::size_t size = 0; size <= answer.size(); ++size) {
        RawReceiver receiver([&](RawConnection& connection) {
            if (connection.read_request()) {
                connection.send(answer.substr(0, size));
            }
        });

        const auto result = rig.send(rig.url_of(receiver));

        EXPECT_EQ(result.outcome, size < header ? Outcome::Unknown : Outcome::Answered)
            << size << " " << result.detail;
        EXPECT_EQ(result.is_success(), size >= header) << size;
    }
}

TEST(Connections, CookiesAreNotSentBack) {
    RawReceiver receiver(
        answering_raw("HTTP/1.1 200 OK\r\nSet-Cookie: a=b\r\nContent-Length: 0\r\n\r\n")
    );
    SenderRig rig;
    ASSERT_TRUE(rig.send(rig.url_of(receiver)).is_success());
    ASSERT_TRUE(rig.send(rig.url_of(receiver)).is_success());

    EXPECT_EQ(receiver.requests().at(1).header("cookie"), "");
}

TEST(Connections, ProxyVariablesAreIgnored) {
    RawReceiver proxy(answering(200));
    RawReceiver receiver(answering(204));
    ::setenv("http_proxy", proxy.url("").c_str(), 1);
    ::setenv("ALL_PROXY", proxy.url("").c_str(), 1);
    SenderRig rig;

    const auto result = rig.send(rig.url_of(receiver));

    ::unsetenv("http_proxy");
    ::unsetenv("ALL_PROXY");
    EXPECT_EQ(result.status, 204);
    EXPECT_EQ(proxy.connections(), 0);
}

TEST(Connections, ABodyThatIsNotReadEndsAtTheDeadline) {
    RawReceiver receiver([](RawConnection& connection) { connection.pause(kPatience); });
    SenderRig rig;
    net::Attempt attempt = rig.attempt(rig.url_of(receiver), milliseconds(400));
    attempt.body = std::make_shared<const std::string>(std::string(16U << 20U, 'x'));

    const auto result = rig.send(attempt);

    EXPECT_EQ(result.outcome, Outcome::Unknown);
    EXPECT_EQ(result.error, "no answer within 400 ms");
}

TEST(Connections, RetryAfterComesBack) {
    RawReceiver receiver(
        answering_raw("HTTP/1.1 503 Busy\r\nRetry-After: 77\r\nContent-Length: 0\r\n\r\n")
    );
    SenderRig rig;

    const auto result = rig.send(rig.url_of(receiver));

    EXPECT_EQ(result.status, 503);
    ASSERT_TRUE(result.retry_after);
    EXPECT_EQ(result.retry_after->seconds, 77);
}

TEST(Connections, TimingsAndAddressAreToldToTheOperator) {
    RawReceiver receiver(answering(204));
    SenderRig rig;

    const auto result = rig.send(rig.url_of(receiver));

    EXPECT_EQ(result.remote_address, "127.0.0.1");
    EXPECT_GT(result.timings.connect_ms, 0);
    EXPECT_EQ(result.timings.tls_ms, 0);
    EXPECT_GE(result.timings.first_byte_ms, result.timings.connect_ms);
    EXPECT_GE(result.timings.total_ms, result.timings.first_byte_ms);
}

// Hostile answers over and over: heap in use does not grow with the rounds.
TEST(Connections, MemoryStaysFlatOverHostileRounds) {
    RawReceiver receiver([](RawConnection& connection) {
        if (!connection.read_bytes(100)) {
            return;
        }
        switch (connection.number() % 4) {
            case 0:
                connection.flood("HTTP/1.1 103 Early Hints\r\n\r\n");
                break;
            case 1:
                connection.send("HTTP/1.1 200 OK\r\nA: ");
                connection.flood(std::string(4096, 'x'));
                break;
            case 2:
                connection.send("HTTP/1.1 200 OK\r\n\r\n");
                connection.flood(std::string(4096, 'x'));
                break;
            default:
                connection.reset();
        }
    });
    SenderRig rig;
    const auto run = [&](int rounds) {
        for (int i = 0; i < rounds; ++i) {
            (void)rig.send(rig.url_of(receiver));
        }
        return static_cast<long>(mallinfo2().uordblks + mallinfo2().hblkhd);
    };
    const long before = run(40);

    const long after = run(400);

    EXPECT_LT(after - before, 1'000'000);
}

}  // namespace
}  // namespace compute::support
