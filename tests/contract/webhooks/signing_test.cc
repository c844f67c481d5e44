// Signatures and seals, as receivers and operators rely on them.
#include "modules/events/signing.h"

#include <cstdio>
#include <fstream>

#include <gtest/gtest.h>

#include "modules/events/sealing.h"

#include "tests/support/seeded_rng.h"
#include "tests/support/temp_folder.h"

namespace compute::events {
namespace {

const std::string kSecret = "whsec_" + std::string(43, 'A');
const std::string kTimestamp = "1790244902";
const std::string kBody = R"({"id":"evt_1"})";
const std::string kHex = "8167ca48ca237c46bb65d480d89d8cafc0d6e84b2b5f6b251402f91a499770d9";

SignatureCheck check_of(const std::string& signature, std::int64_t now = 1'790'244'902) {
    return {
        .secret = kSecret,
        .signature = signature,
        .timestamp = kTimestamp,
        .body = kBody,
        .now_seconds = now};
}

TEST(WebhookSignatures, W51_TheSettledVector) {
    EXPECT_EQ(webhook_signature(crypto::Secret(kSecret), kTimestamp, kBody), kHex);
}

TEST(WebhookSignatures, W53_AnyMatchingPartIsEnough) {
    const std::string bad(64, '0');
    const auto verifies = [](const std::string& signature) {
        return verify_webhook_signature(check_of(signature));
    };

    EXPECT_TRUE(verifies("v1=" + kHex));
    EXPECT_TRUE(verifies("v1=" + bad + ",v1=" + kHex));
    EXPECT_TRUE(verifies("v1=" + bad + ", v1=" + kHex));
    EXPECT_TRUE(verifies("v2=whatever,v1=" + kHex));
    EXPECT_FALSE(verifies("v1=" + bad));
    EXPECT_FALSE(verifies("v1=bad"));
    EXPECT_FALSE(verifies("v2=" + kHex));
}

TEST(WebhookSignatures, W55_TheTimestampIsWithinTheTolerance) {
    const std::string signature = "v1=" + kHex;
    const std::int64_t at = 1'790'244'902;

    EXPECT_TRUE(verify_webhook_signature(check_of(signature, at + 300)));
    EXPECT_TRUE(verify_webhook_signature(check_of(signature, at - 300)));
    EXPECT_FALSE(verify_webhook_signature(check_of(signature, at + 301)));
    EXPECT_FALSE(verify_webhook_signature(check_of(signature, at - 301)));
    SignatureCheck wide = check_of(signature, at + 301);
    wide.tolerance_seconds = 400;
    EXPECT_TRUE(verify_webhook_signature(wide));
}

TEST(WebhookSignatures, W54_W56_BadInputIsFalseAndNeverThrows) {
    for (const char* signature : {"", ",", "v1=", "v1", "=", "v1=,v1="}) {
        EXPECT_FALSE(verify_webhook_signature(check_of(signature))) << signature;
    }
    for (const char* timestamp :
         {"", "abc", "1e9", " 1", "-1", "99999999999999999999", "1790244902 "}) {
        SignatureCheck check = check_of("v1=" + kHex);
        check.timestamp = timestamp;
        EXPECT_FALSE(verify_webhook_signature(check)) << timestamp;
    }
}

TEST(WebhookSignatures, W57_TheSameAsOpenssl) {
    support::TempFolder folder;
    const std::string message = std::string(folder.path()) + "/message";
    std::ofstream(message, std::ios::binary) << kTimestamp << '.' << kBody;
    const std::string command =
        "openssl dgst -sha256 -hmac '" + kSecret + "' -hex '" + message + "'";
    std::string output;
    FILE* pipe = ::popen(command.c_str(), "r");
    ASSERT_NE(pipe, nullptr);
    for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) {
        output += static_cast<char>(c);
    }
    ::pclose(pipe);

    EXPECT_NE(output.find(kHex), std::string::npos) << output;
}

TEST(WebhookSeals, W101_W102_ASealOpensForItsWebhookUnderAKnownSecret) {
    support::SeededRng rng;
    const crypto::Secret old_secret("the-deployment-secret-of-last-year");
    const crypto::Secret new_secret("the-deployment-secret-of-this-year");
    const std::string sealed = Sealer(old_secret, {}).seal(crypto::Secret(kSecret), "whk_1", rng);

    EXPECT_EQ(Sealer(old_secret, {}).open(sealed, "whk_1")->reveal(), kSecret);
    EXPECT_FALSE(Sealer(old_secret, {}).open(sealed, "whk_2"));
    EXPECT_FALSE(Sealer(new_secret, {}).open(sealed, "whk_1"));
    EXPECT_EQ(Sealer(new_secret, {old_secret}).open(sealed, "whk_1")->reveal(), kSecret);
    EXPECT_TRUE(Sealer(new_secret, {old_secret}).is_sealed_with_previous(sealed, "whk_1"));
    EXPECT_NE(Sealer(old_secret, {}).seal(crypto::Secret(kSecret), "whk_1", rng), sealed);
}

}  // namespace
}  // namespace compute::events
