// Names that lie: what resolving can bring, and where a connection may go in spite of it.
#include <string>

#include <gtest/gtest.h>

#include "tests/fault/receivers/sender_rig.h"
#include "tests/support/raw_receiver.h"

namespace compute::support {
namespace {

using net::Outcome;
using net::ResolveStatus;
using std::chrono::milliseconds;

// Only 127.0.0.2 may be reached: 127.0.0.1, where the receivers listen too, stands for a private
// address.
net::SenderOptions second_loopback_only() {
    net::SenderOptions options;
    options.guard.allow_cidrs = net::parse_cidrs({"127.0.0.2/32"}, "test");
    return options;
}

void expect_refused(const net::AttemptResult& result) {
    EXPECT_EQ(result.outcome, Outcome::NotSent);
    EXPECT_EQ(result.error, "resolves to a non-public address");
    EXPECT_FALSE(result.status);
}

TEST(Resolving, APrivateAddressFailsWithoutAConnection) {
    RawReceiver receiver(answering(204));
    SenderRig rig(net::SenderOptions{});

    const auto result = rig.send(rig.url_of(receiver));

    expect_refused(result);
    EXPECT_EQ(result.error.find("127."), std::string::npos);
    EXPECT_NE(result.detail.find("127.0.0.1 (loopback)"), std::string::npos);
    EXPECT_EQ(receiver.connections(), 0);
}

TEST(Resolving, OnePrivateAddressAmongPublicOnesFails) {
    RawReceiver receiver(answering(204));
    SenderRig rig(net::SenderOptions{});
    for (const auto& addresses : {
             std::vector<std::string>{"8.8.8.8", "127.0.0.1"},
             {"127.0.0.1", "8.8.8.8"},
             {"8.8.8.8", "::1"},
             {"2606:4700::1", "fd00::1"},
             {"8.8.8.8", "64:ff9b::7f00:1"},
             {"8.8.8.8", "::ffff:127.0.0.1"},
         }) {
        rig.resolver.set("receiver.test", addresses);
        expect_refused(rig.send(rig.url_of(receiver)));
    }
    EXPECT_EQ(receiver.connections(), 0);
}

TEST(Resolving, ALiteralIsJudgedToo) {
    RawReceiver receiver(answering(204));
    SenderRig rig(net::SenderOptions{});

    expect_refused(rig.send(receiver.url()));
    expect_refused(rig.send("http://[::ffff:127.0.0.1]:" + std::to_string(receiver.port()) + "/"));
    EXPECT_EQ(receiver.connections(), 0);
}

TEST(Resolving, EveryAttemptAsksAgain) {
    RawReceiver receiver(answering(204));
    SenderRig rig;

    for (int i = 0; i < 3; ++i) {
        ASSERT_TRUE(rig.send(rig.url_of(receiver)).is_success());
    }

    EXPECT_EQ(rig.resolver.lookups("receiver.test"), 3);
}

TEST(Resolving, ANameThatTurnsPrivateFailsThoughAConnectionIsKept) {
    RawReceiver receiver(answering(204), "127.0.0.2");
    SenderRig rig(second_loopback_only());
    rig.resolver.set("receiver.test", {"127.0.0.2"});
    ASSERT_EQ(rig.send(rig.url_of(receiver)).status, 204);

    rig.resolver.set("receiver.test", {"127.0.0.1"});

    expect_refused(rig.send(rig.url_of(receiver)));
    rig.resolver.set("receiver.test", {"127.0.0.2", "127.0.0.1"});
    expect_refused(rig.send(rig.url_of(receiver)));
    EXPECT_EQ(receiver.requests().size(), 1U);
}

TEST(Resolving, AKeptConnectionToAnAddressThatIsNoLongerTheHostsIsNotUsed) {
    RawReceiver old_place(answering(200));
    RawReceiver new_place(answering(204), "127.0.0.3", old_place.port());
    SenderRig rig;
    ASSERT_EQ(rig.send(rig.url_of(old_place)).status, 200);

    rig.resolver.set("receiver.test", {"127.0.0.3"});

    const auto result = rig.send(rig.url_of(old_place));
    EXPECT_EQ(result.status, 204);
    EXPECT_FALSE(result.is_reused);
    EXPECT_EQ(result.remote_address, "127.0.0.3");
    EXPECT_EQ(old_place.requests().size(), 1U);
}

TEST(Resolving, AKeptConnectionToOneOfTheHostsAddressesIsUsed) {
    RawReceiver receiver(answering(204));
    SenderRig rig;
    ASSERT_TRUE(rig.send(rig.url_of(receiver)).is_success());

    rig.resolver.set("receiver.test", {"127.0.0.3", "127.0.0.1"});

    const auto result = rig.send(rig.url_of(receiver));
    EXPECT_EQ(result.status, 204);
    EXPECT_TRUE(result.is_reused);
}

TEST(Resolving, W45_TheConnectionGoesToTheJudgedAddressWhateverTheNameMeansByThen) {
    RawReceiver vetted(answering(204), "127.0.0.2");
    RawReceiver other(answering(200), "127.0.0.1", vetted.port());
    SenderRig rig(second_loopback_only());
    // The check sees one address; whoever asked again would get the other.
    rig.resolver.set_in_turn("receiver.test", {{"127.0.0.2"}, {"127.0.0.1"}});

    const auto result = rig.send(rig.url_of(vetted));

    EXPECT_EQ(result.status, 204);
    EXPECT_EQ(result.remote_address, "127.0.0.2");
    EXPECT_EQ(rig.resolver.lookups("receiver.test"), 1);
    EXPECT_EQ(other.connections(), 0);
}

TEST(Resolving, LookupFailuresAreToldApart) {
    SenderRig rig;
    rig.resolver.fail("missing.test", ResolveStatus::NotFound);
    rig.resolver.fail("servfail.test", ResolveStatus::Failed);
    rig.resolver.fail("slow.test", ResolveStatus::TimedOut);
    rig.resolver.set("empty.test", {});

    const auto error_of = [&](const std::string& host) {
        const auto result = rig.send("http://" + host + "/");
        EXPECT_EQ(result.outcome, Outcome::NotSent);
        return result.error;
    };
    EXPECT_EQ(error_of("missing.test"), "host name not found");
    EXPECT_EQ(error_of("servfail.test"), "host name lookup failed");
    EXPECT_EQ(error_of("slow.test"), "host name lookup timed out");
    EXPECT_EQ(error_of("empty.test"), "host name not found");
}

TEST(Resolving, ALookupThatHangsEndsAtTheDeadlineAndHoldsUpNobody) {
    RawReceiver receiver(answering(204));
    SenderRig rig;
    rig.resolver.hang("hang.test");
    net::Attempt stuck = rig.attempt("http://hang.test/", milliseconds(300));
    stuck.lane = 2;
    rig.sender->submit(stuck);

    EXPECT_TRUE(rig.send(rig.url_of(receiver)).is_success());

    const auto result = rig.wait_for(stuck.id);
    EXPECT_EQ(result.outcome, Outcome::NotSent);
    EXPECT_EQ(result.error, "host name lookup timed out");
}

TEST(Resolving, ADeadFamilyDoesNotHideTheOther) {
    RawReceiver v4(answering(204));
    SenderRig rig;
    rig.resolver.set("receiver.test", {"::1", "127.0.0.1"});

    const auto first = rig.send(rig.url_of(v4));

    EXPECT_EQ(first.status, 204) << first.detail;
    EXPECT_EQ(first.remote_address, "127.0.0.1");
    RawReceiver v6(answering(204), "::1");
    rig.resolver.set("receiver.test", {"127.0.0.1", "::1"});
    const auto second = rig.send(rig.url_of(v6));
    EXPECT_EQ(second.status, 204) << second.detail;
    EXPECT_EQ(second.remote_address, "::1");
}

TEST(Resolving, ManyNamesDoNotPileUp) {
    RawReceiver receiver(answering(204));
    SenderRig rig;
    for (int i = 0; i < 5000; ++i) {
        const std::string host = "h" + std::to_string(i) + ".test";
        rig.resolver.set(host, {"127.0.0.1"});
        rig.sender->submit(rig.attempt("http://" + host + ":1/"));
    }
    for (std::uint64_t id = 1; id <= 5000; ++id) {
        EXPECT_EQ(rig.wait_for(id).error, "connection refused");
    }
    EXPECT_TRUE(rig.send(rig.url_of(receiver)).is_success());
}

}  // namespace
}  // namespace compute::support
