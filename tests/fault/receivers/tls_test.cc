// Faults of TLS: none of them is an answer, each has its words.
#include <string>

#include <gtest/gtest.h>

#include "core/error.h"

#include "tests/fault/receivers/sender_rig.h"
#include "tests/support/raw_receiver.h"

namespace compute::support {
namespace {

using net::Outcome;
using std::chrono::hours;
using std::chrono::milliseconds;

net::SenderOptions trusting(const TestAuthority& authority) {
    net::SenderOptions options = SenderRig::loopback_options();
    options.ca_file = authority.ca_file();
    return options;
}

Script serving(const TlsIdentity& identity, const TlsServerOptions& options = {}) {
    return [=](RawConnection& connection) {
        if (connection.start_tls(identity, options)) {
            answering(204)(connection);
        }
    };
}

class Tls : public testing::Test {
protected:
    void expect_failure(
        const Script& script, const std::string& error, milliseconds timeout = kPatience
    ) {
        RawReceiver receiver(script);
        SenderRig rig(trusting(authority_));

        const auto result = rig.send(rig.url_of(receiver, "https"), timeout);

        EXPECT_EQ(result.outcome, Outcome::NotSent) << result.detail;
        EXPECT_EQ(result.error, error) << result.detail;
        EXPECT_TRUE(receiver.requests().empty());
        receiver.set_script(serving(authority_.issue()));
        EXPECT_EQ(rig.send(rig.url_of(receiver, "https")).status, 204);
    }

    TestAuthority authority_;
};

TEST_F(Tls, AGoodCertificateIsTaken) {
    RawReceiver receiver(serving(authority_.issue()));
    SenderRig rig(trusting(authority_));

    const auto first = rig.send(rig.url_of(receiver, "https"));
    const auto second = rig.send(rig.url_of(receiver, "https"));

    EXPECT_EQ(first.status, 204) << first.detail;
    EXPECT_GT(first.timings.tls_ms, first.timings.connect_ms);
    EXPECT_TRUE(second.is_reused);
}

TEST_F(Tls, ExpiredIsRefused) {
    CertificateOptions options;
    options.valid_from = hours(-48);
    options.valid_to = hours(-24);
    expect_failure(serving(authority_.issue(options)), "TLS: certificate has expired");
}

TEST_F(Tls, NotYetValidIsRefused) {
    CertificateOptions options;
    options.valid_from = hours(24);
    options.valid_to = hours(48);
    expect_failure(serving(authority_.issue(options)), "TLS: certificate is not yet valid");
}

TEST_F(Tls, AnotherHostIsRefused) {
    expect_failure(
        serving(authority_.issue_for({"other.test"})), "TLS: certificate is for another host"
    );
    expect_failure(
        serving(authority_.issue_for({"127.0.0.1"})), "TLS: certificate is for another host"
    );
    expect_failure(
        serving(authority_.issue_for({"*.receiver.test"})), "TLS: certificate is for another host"
    );
}

TEST_F(Tls, SelfSignedIsRefused) {
    CertificateOptions options;
    options.is_self_signed = true;
    expect_failure(serving(authority_.issue(options)), "TLS: self-signed certificate");
}

TEST_F(Tls, AnUnknownAuthorityIsRefused) {
    const TestAuthority other;
    expect_failure(serving(other.issue()), "TLS: unable to get local issuer certificate");
}

TEST_F(Tls, AWeakKeyIsRefused) {
    CertificateOptions options;
    options.is_weak = true;
    RawReceiver receiver(serving(authority_.issue(options)));
    SenderRig rig(trusting(authority_));

    const auto result = rig.send(rig.url_of(receiver, "https"));

    EXPECT_EQ(result.outcome, Outcome::NotSent);
    EXPECT_EQ(result.error.substr(0, 4), "TLS:");
}

TEST_F(Tls, OldVersionsAreRefused) {
    expect_failure(
        serving(authority_.issue(), {.max_version = 0x0302, .cipher_list = {}}),
        "TLS: handshake failed"
    );
}

TEST_F(Tls, PlainHttpOnTheTlsPortIsRefused) {
    expect_failure(
        [](RawConnection& connection) {
            connection.send("HTTP/1.1 204 No Content\r\n\r\n");
            connection.hang();
        },
        "TLS: handshake failed"
    );
}

TEST_F(Tls, GarbageInTheHandshakeIsRefused) {
    expect_failure(
        [](RawConnection& connection) {
            connection.read_bytes(100);
            connection.send(std::string(64, '\xff'));
            connection.hang();
        },
        "TLS: handshake failed"
    );
}

TEST_F(Tls, ClosingInTheHandshakeIsRefused) {
    expect_failure(
        [](RawConnection& connection) {
            connection.read_bytes(100);
            connection.shutdown_write();
            connection.hang();
        },
        "TLS: handshake failed"
    );
}

TEST_F(Tls, HangingInTheHandshakeEndsAtTheDeadline) {
    expect_failure(
        [](RawConnection& connection) { connection.hang(); },
        "no answer within 400 ms",
        milliseconds(400)
    );
}

TEST_F(Tls, CutOffAfterTheHeaderIsStillAnAnswer) {
    const TlsIdentity identity = authority_.issue();
    RawReceiver receiver([=](RawConnection& connection) {
        if (connection.start_tls(identity) && connection.read_request()) {
            connection.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc");
            connection.reset();
        }
    });
    SenderRig rig(trusting(authority_));

    EXPECT_EQ(rig.send(rig.url_of(receiver, "https")).status, 200);
}

TEST_F(Tls, ResetInTheHeaderIsUnknown) {
    const TlsIdentity identity = authority_.issue();
    RawReceiver receiver([=](RawConnection& connection) {
        if (connection.start_tls(identity) && connection.read_request()) {
            connection.send("HTTP/1.1 200 OK\r\nConte");
            connection.reset();
        }
    });
    SenderRig rig(trusting(authority_));

    const auto result = rig.send(rig.url_of(receiver, "https"));

    EXPECT_EQ(result.outcome, Outcome::Unknown);
    EXPECT_FALSE(result.status);
}

TEST_F(Tls, AMissingCaFileIsAConfigurationError) {
    net::SenderOptions options;
    options.ca_file = "/nowhere/ca.pem";

    EXPECT_THROW(SenderRig rig(options), ComputeError);
}

}  // namespace
}  // namespace compute::support
