#include "modules/events/signing.h"

#include <array>
#include <cstdio>
#include <fstream>
#include <map>
#include <string>

#include <gtest/gtest.h>
#include <unistd.h>

#include "crypto/crypto.h"

#include "tests/support/seeded_rng.h"

namespace compute::events {
namespace {

const std::string kSecret = "whsec_" + std::string(43, 'A');
constexpr std::string_view kTimestamp = "1790244902";
constexpr std::string_view kBody = R"({"id":"evt_1"})";
constexpr std::string_view kMac =
    "8167ca48ca237c46bb65d480d89d8cafc0d6e84b2b5f6b251402f91a499770d9";
constexpr std::int64_t kNow = 1'790'244'902;

bool verifies(
    std::string_view signature,
    std::string_view timestamp = kTimestamp,
    std::int64_t now = kNow,
    std::int64_t tolerance = 300
) {
    return verify_webhook_signature({kSecret, signature, timestamp, kBody, tolerance, now});
}

std::string v1(std::string_view mac) {
    return "v1=" + std::string(mac);
}

std::map<std::string, std::string> headers_of(const net::HeaderBlock& block) {
    std::map<std::string, std::string> out;
    for (std::size_t i = 0; i < block.size(); ++i) {
        const std::string line(block.line(i));
        const std::size_t colon = line.find(": ");
        out[line.substr(0, colon)] = line.substr(colon + 2);
    }
    return out;
}

SignedDelivery delivery() {
    SignedDelivery out;
    out.event_type = "reservation.active";
    out.delivery_id = "dlv_1";
    out.webhook_id = "whk_1";
    out.body = kBody;
    out.now = kNow * 1000 + 999;
    return out;
}

TEST(Signing, W51_GivesTheSettledVector) {
    EXPECT_EQ(webhook_signature(crypto::Secret(kSecret), kTimestamp, kBody), kMac);
}

TEST(Signing, SecretsAreNewAndWellFormed) {
    support::SeededRng rng;
    const crypto::Secret first = new_webhook_secret(rng);

    EXPECT_EQ(first.size(), 49U);
    EXPECT_EQ(first.reveal().substr(0, 6), kSecretPrefix);
    EXPECT_TRUE(crypto::from_base64url(first.reveal().substr(6)));
    EXPECT_NE(new_webhook_secret(rng).reveal(), first.reveal());
}

TEST(Signing, W52_DeliveriesCarryTheirHeaders) {
    net::HeaderBlock block;
    Signer(crypto::Secret(kSecret)).add_headers(block, delivery());

    EXPECT_EQ(
        headers_of(block),
        (std::map<std::string, std::string>{
            {"Content-Type", "application/json"},
            {"User-Agent", "better-compute-webhooks/1"},
            {"X-Better-Compute-Delivery", "dlv_1"},
            {"X-Better-Compute-Event", "reservation.active"},
            {"X-Better-Compute-Signature", v1(kMac)},
            {"X-Better-Compute-Timestamp", std::string(kTimestamp)},
            {"X-Better-Compute-Webhook", "whk_1"},
        })
    );
}

TEST(Signing, W95_TwoSecretsSignNewFirst) {
    const crypto::Secret previous("whsec_" + std::string(43, 'B'));
    Signer signer(crypto::Secret(kSecret), &previous);
    const std::string old_part = v1(webhook_signature(previous, kTimestamp, kBody));

    net::HeaderBlock both;
    signer.add_headers(both, delivery());
    net::HeaderBlock one;
    signer.add_headers(one, delivery(), false);

    EXPECT_EQ(headers_of(both)["X-Better-Compute-Signature"], v1(kMac) + "," + old_part);
    EXPECT_EQ(headers_of(one)["X-Better-Compute-Signature"], v1(kMac));
}

TEST(Signing, OneSignerSignsManyDeliveriesAlike) {
    Signer signer{crypto::Secret(kSecret)};
    for (int i = 0; i < 3; ++i) {
        net::HeaderBlock block;
        signer.add_headers(block, delivery());
        EXPECT_EQ(headers_of(block)["X-Better-Compute-Signature"], v1(kMac));
    }
}

TEST(Signing, StandardHeadersComeBesideOurs) {
    const crypto::Secret previous("whsec_" + std::string(43, 'B'));
    SignedDelivery with_standard = delivery();
    with_standard.standard_headers = true;
    net::HeaderBlock block;
    Signer(crypto::Secret(kSecret), &previous).add_headers(block, with_standard);

    auto headers = headers_of(block);
    const std::string text = "dlv_1." + std::string(kTimestamp) + "." + std::string(kBody);
    EXPECT_EQ(headers["webhook-id"], "dlv_1");
    EXPECT_EQ(headers["webhook-timestamp"], kTimestamp);
    EXPECT_EQ(
        headers["webhook-signature"],
        "v1," + crypto::to_base64(crypto::hmac_sha256(kSecret, text)) + " v1," +
            crypto::to_base64(crypto::hmac_sha256(previous.reveal(), text))
    );
    EXPECT_EQ(headers["X-Better-Compute-Signature"].substr(0, 3), "v1=");
    EXPECT_NE(block.list(), nullptr);
}

TEST(Verify, W53_AnyV1PartMayMatch) {
    const std::string bad = v1(std::string(64, '0'));
    EXPECT_TRUE(verifies(v1(kMac)));
    EXPECT_TRUE(verifies(bad + "," + v1(kMac)));
    EXPECT_TRUE(verifies(v1(kMac) + "," + bad));
    EXPECT_TRUE(verifies(bad + ",  " + v1(kMac) + " "));
    EXPECT_TRUE(verifies("v2=abc," + v1(kMac)));
    EXPECT_FALSE(verifies(bad));
    EXPECT_FALSE(verifies("v2=" + std::string(kMac)));
    EXPECT_FALSE(verifies(std::string(kMac)));
    EXPECT_FALSE(verifies("V1=" + std::string(kMac)));
}

TEST(Verify, W54_LengthIsCheckedFirst) {
    EXPECT_FALSE(verifies(v1(kMac.substr(0, 63))));
    EXPECT_FALSE(verifies(v1(kMac) + "0"));
    EXPECT_FALSE(verifies("v1="));
}

TEST(Verify, W55_TimestampLiesWithinTheToleranceBothWays) {
    EXPECT_TRUE(verifies(v1(kMac), kTimestamp, kNow + 300));
    EXPECT_TRUE(verifies(v1(kMac), kTimestamp, kNow - 300));
    EXPECT_FALSE(verifies(v1(kMac), kTimestamp, kNow + 301));
    EXPECT_FALSE(verifies(v1(kMac), kTimestamp, kNow - 301));
    EXPECT_TRUE(verifies(v1(kMac), kTimestamp, kNow + 10, 10));
    EXPECT_FALSE(verifies(v1(kMac), kTimestamp, kNow + 11, 10));
    EXPECT_FALSE(verifies(v1(kMac), kTimestamp, kNow, -1));
    EXPECT_FALSE(verifies(v1(kMac), kTimestamp, INT64_MIN));
    EXPECT_TRUE(verifies(v1(kMac), kTimestamp, INT64_MAX, INT64_MAX));
}

TEST(Verify, W56_BadInputIsFalse) {
    for (const char* signature : {"", ",", ",,,", "v1", "=", " "}) {
        EXPECT_FALSE(verifies(signature)) << signature;
    }
    for (const char* timestamp :
         {"",
          "abc",
          "1e9",
          " 1",
          "1 ",
          "-1",
          "+1790244902",
          "0x1",
          "1790244902.0",
          "99999999999999999999999"}) {
        EXPECT_FALSE(verifies(v1(kMac), timestamp)) << timestamp;
    }
    EXPECT_FALSE(verify_webhook_signature({"", v1(kMac), kTimestamp, kBody, 300, kNow}));
    EXPECT_FALSE(
        verify_webhook_signature({kSecret, v1(kMac), kTimestamp, R"({"id":"evt_2"})", 300, kNow})
    );
    EXPECT_FALSE(verifies(v1(kMac), "01790244902"));  // the very text is signed, not its value
}

TEST(Verify, UsesTheWallClockWithoutATime) {
    EXPECT_FALSE(
        verify_webhook_signature({kSecret, v1(kMac), "1000000000", kBody, 300, std::nullopt})
    );
}

TEST(Signing, W57_SameAsOpenssl) {
    char path[] = "/tmp/better-compute-signing.XXXXXX";
    const int fd = mkstemp(path);
    ASSERT_GE(fd, 0);
    std::ofstream(path) << kTimestamp << "." << kBody;
    ::close(fd);

    const std::string command = "openssl dgst -sha256 -hmac " + kSecret + " -hex " + path;
    FILE* const output = popen(command.c_str(), "r");
    ASSERT_NE(output, nullptr);
    std::array<char, 512> line{};
    const std::size_t size = fread(line.data(), 1, line.size() - 1, output);
    pclose(output);
    ::unlink(path);

    EXPECT_NE(std::string(line.data(), size).find(kMac), std::string::npos) << line.data();
}

}  // namespace
}  // namespace compute::events
