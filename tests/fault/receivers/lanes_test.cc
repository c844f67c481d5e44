// Lanes, holding back and stopping.
#include <atomic>
#include <future>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/fault/receivers/sender_rig.h"
#include "tests/support/raw_receiver.h"

namespace compute::support {
namespace {

using net::Go;
using net::Outcome;
using std::chrono::milliseconds;
using testing::ElementsAre;

std::vector<std::string> deliveries_of(const RawReceiver& receiver) {
    std::vector<std::string> out;
    for (const RecordedRequest& request : receiver.requests()) {
        out.push_back(request.header("x-better-compute-delivery"));
    }
    return out;
}

TEST(Lanes, SendOneAtATimeInOrder) {
    std::atomic<int> under_way = 0;
    std::atomic<int> most = 0;
    RawReceiver receiver([&](RawConnection& connection) {
        while (connection.read_request()) {
            most = std::max<int>(most, ++under_way);
            connection.pause(milliseconds(2));
            --under_way;
            connection.send("HTTP/1.1 204 No Content\r\n\r\n");
        }
    });
    SenderRig rig;
    std::vector<net::Attempt> attempts;
    std::vector<std::string> expected;
    for (int i = 1; i <= 20; ++i) {
        attempts.push_back(rig.attempt(rig.url_of(receiver)));
        expected.push_back("dlv_" + std::to_string(i));
    }

    rig.sender->submit(attempts);
    for (std::uint64_t id = 1; id <= 20; ++id) {
        EXPECT_TRUE(rig.wait_for(id).is_success());
    }

    EXPECT_EQ(deliveries_of(receiver), expected);
    EXPECT_EQ(most, 1);
    EXPECT_EQ(receiver.connections(), 1);
}

TEST(Lanes, AHungReceiverDoesNotHoldUpOthers) {
    RawReceiver hung([](RawConnection& connection) { connection.hang(); });
    RawReceiver good(answering(204));
    SenderRig rig;
    net::Attempt stuck = rig.attempt(rig.url_of(hung));
    rig.sender->submit(stuck);

    for (int i = 0; i < 10; ++i) {
        net::Attempt other = rig.attempt(rig.url_of(good));
        other.lane = 2;
        EXPECT_TRUE(rig.send(other).is_success());
    }
    rig.sender->stop(milliseconds(0));
    EXPECT_TRUE(rig.wait_for(stuck.id).is_cancelled);
}

TEST(Lanes, AFailureDoesNotHoldBackTheNext) {
    RawReceiver receiver([](RawConnection& connection) {
        for (const int status : {500, 204}) {
            if (connection.read_request()) {
                connection.send(
                    "HTTP/1.1 " + std::to_string(status) + " X\r\nContent-Length: 0\r\n\r\n"
                );
            }
        }
    });
    SenderRig rig;
    rig.sender->submit({rig.attempt(rig.url_of(receiver)), rig.attempt(rig.url_of(receiver))});

    EXPECT_EQ(rig.wait_for(1).status, 500);
    EXPECT_EQ(rig.wait_for(2).status, 204);
}

TEST(Lanes, MoreThanMayBeUnderWayTakeTurns) {
    RawReceiver receiver(answering(204));
    net::SenderOptions options = SenderRig::loopback_options();
    options.max_in_flight = 3;
    SenderRig rig(options);
    std::vector<net::Attempt> attempts;
    for (std::uint64_t i = 0; i < 200; ++i) {
        attempts.push_back(rig.attempt(rig.url_of(receiver)));
        attempts.back().lane = i % 50;
    }

    rig.sender->submit(attempts);

    for (std::uint64_t id = 1; id <= 200; ++id) {
        EXPECT_TRUE(rig.wait_for(id).is_success());
    }
    EXPECT_LE(receiver.connections(), 3);
}

TEST(Lanes, HoldWaitsForResumeAndAsksAgain) {
    RawReceiver receiver(answering(204));
    SenderRig rig;
    std::atomic<int> asked = 0;
    std::promise<void> is_held;
    rig.gate = [&](const net::Attempt&) {
        if (++asked == 1) {
            is_held.set_value();
            return Go::Hold;
        }
        return Go::Send;
    };
    const net::Attempt attempt = rig.attempt(rig.url_of(receiver));
    rig.sender->submit(attempt);
    is_held.get_future().wait();
    EXPECT_EQ(receiver.connections(), 0);

    rig.sender->resume(attempt.lane);

    EXPECT_TRUE(rig.wait_for(attempt.id).is_success());
    EXPECT_EQ(asked, 2);
}

TEST(Lanes, DropIsReportedAsCancelledAndTheNextGoes) {
    RawReceiver receiver(answering(204));
    SenderRig rig;
    rig.gate = [](const net::Attempt& attempt) { return attempt.id == 1 ? Go::Drop : Go::Send; };

    rig.sender->submit({rig.attempt(rig.url_of(receiver)), rig.attempt(rig.url_of(receiver))});

    const auto dropped = rig.wait_for(1);
    EXPECT_TRUE(dropped.is_cancelled);
    EXPECT_EQ(dropped.outcome, Outcome::NotSent);
    EXPECT_TRUE(rig.wait_for(2).is_success());
    EXPECT_EQ(receiver.requests().size(), 1U);
}

TEST(Lanes, AnOwnerThatThrowsLosesOneAttemptOnly) {
    RawReceiver receiver(answering(204));
    SenderRig rig;
    rig.gate = [](const net::Attempt& attempt) {
        if (attempt.id == 1) {
            throw std::runtime_error("no secret");
        }
        return Go::Send;
    };

    rig.sender->submit({rig.attempt(rig.url_of(receiver)), rig.attempt(rig.url_of(receiver))});

    EXPECT_TRUE(rig.wait_for(1).is_cancelled);
    EXPECT_TRUE(rig.wait_for(2).is_success());
}

TEST(Lanes, DroppedLaneKeepsTheAttemptUnderWay) {
    std::promise<void> may_answer;
    std::shared_future<void> signal = may_answer.get_future().share();
    RawReceiver receiver([&](RawConnection& connection) {
        while (connection.read_request()) {
            signal.wait();
            connection.send("HTTP/1.1 204 No Content\r\n\r\n");
        }
    });
    SenderRig rig;
    rig.sender->submit(
        {rig.attempt(rig.url_of(receiver)),
         rig.attempt(rig.url_of(receiver)),
         rig.attempt(rig.url_of(receiver))}
    );
    ASSERT_TRUE(receiver.wait_for_requests(1));

    rig.sender->drop_lane(1);

    EXPECT_TRUE(rig.wait_for(2).is_cancelled);
    EXPECT_TRUE(rig.wait_for(3).is_cancelled);
    may_answer.set_value();
    EXPECT_TRUE(rig.wait_for(1).is_success());
}

TEST(Stop, LetsWhatIsUnderWayFinishAndCancelsTheRest) {
    std::promise<void> may_answer;
    std::shared_future<void> signal = may_answer.get_future().share();
    RawReceiver receiver([&](RawConnection& connection) {
        while (connection.read_request()) {
            signal.wait();
            connection.send("HTTP/1.1 204 No Content\r\n\r\n");
        }
    });
    SenderRig rig;
    rig.sender->submit({rig.attempt(rig.url_of(receiver)), rig.attempt(rig.url_of(receiver))});
    ASSERT_TRUE(receiver.wait_for_requests(1));

    rig.sender->begin_stop();
    EXPECT_TRUE(rig.wait_for(2).is_cancelled);
    may_answer.set_value();
    rig.sender->stop(kPatience);

    EXPECT_TRUE(rig.wait_for(1).is_success());
    EXPECT_EQ(receiver.requests().size(), 1U);
}

TEST(Stop, BreaksOffAtTheBound) {
    RawReceiver receiver([](RawConnection& connection) {
        connection.read_request();
        connection.hang();
    });
    SenderRig rig;
    rig.resolver.hang("slow.test");
    net::Attempt lookup = rig.attempt("http://slow.test/");
    lookup.lane = 2;
    rig.sender->submit({rig.attempt(rig.url_of(receiver)), lookup});
    ASSERT_TRUE(receiver.wait_for_requests(1));

    rig.sender->stop(milliseconds(50));

    const auto sent = rig.wait_for(2);
    EXPECT_TRUE(sent.is_cancelled);
    EXPECT_EQ(sent.outcome, Outcome::Unknown);
    const auto unsent = rig.wait_for(lookup.id);
    EXPECT_TRUE(unsent.is_cancelled);
    EXPECT_EQ(unsent.outcome, Outcome::NotSent);
}

TEST(Stop, ReportsWhatComesAfterIt) {
    SenderRig rig;
    rig.sender->stop(milliseconds(0));

    rig.sender->submit(rig.attempt("http://receiver.test:1/"));

    EXPECT_TRUE(rig.wait_for(1).is_cancelled);
}

}  // namespace
}  // namespace compute::support
