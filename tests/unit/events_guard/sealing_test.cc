#include "modules/events/sealing.h"

#include <string>

#include <gtest/gtest.h>

#include "crypto/crypto.h"

#include "tests/support/seeded_rng.h"

namespace compute::events {
namespace {

const crypto::Secret kDeployment(std::string(32, 'd'));
const crypto::Secret kOther(std::string(32, 'o'));
const crypto::Secret kSecret("whsec_" + std::string(43, 'A'));

TEST(Sealing, W100_IsNotPlainAndNewEachTime) {
    const Sealer sealer(kDeployment, {});
    support::SeededRng rng;

    const std::string first = sealer.seal(kSecret, "whk_1", rng);
    const std::string second = sealer.seal(kSecret, "whk_1", rng);

    EXPECT_EQ(first.substr(0, 3), "v1.");
    EXPECT_EQ(first.find("whsec_"), std::string::npos);
    EXPECT_NE(first, second);
    EXPECT_EQ(sealer.open(first, "whk_1").value().reveal(), kSecret.reveal());
    EXPECT_EQ(sealer.open(second, "whk_1").value().reveal(), kSecret.reveal());
}

TEST(Sealing, UsesTheSettledKeyAndAdditionalData) {
    const Sealer sealer(kDeployment, {});
    support::SeededRng rng;
    const crypto::Secret key =
        crypto::hkdf_sha256(kDeployment.reveal(), "better-compute/webhook-secret/v1", 32);
    const crypto::Sealed by_hand =
        crypto::aes256gcm_seal(key, kSecret.reveal(), "webhook:whk_1", rng);
    const std::string sealed = "v1." + crypto::to_base64url(by_hand.iv) + "." +
                               crypto::to_base64url(by_hand.tag) + "." +
                               crypto::to_base64url(by_hand.text);

    EXPECT_EQ(sealer.open(sealed, "whk_1").value().reveal(), kSecret.reveal());
}

TEST(Sealing, W101_IsBoundToTheWebhook) {
    const Sealer sealer(kDeployment, {});
    support::SeededRng rng;

    EXPECT_FALSE(sealer.open(sealer.seal(kSecret, "whk_1", rng), "whk_2"));
}

TEST(Sealing, W102_PreviousSecretsOpenOldRows) {
    support::SeededRng rng;
    const std::string old_row = Sealer(kOther, {}).seal(kSecret, "whk_1", rng);

    const Sealer rotated(kDeployment, {crypto::Secret(std::string(32, 'x')), kOther});
    EXPECT_EQ(rotated.open(old_row, "whk_1").value().reveal(), kSecret.reveal());
    EXPECT_TRUE(rotated.is_sealed_with_previous(old_row, "whk_1"));
    EXPECT_FALSE(rotated.is_sealed_with_previous(rotated.seal(kSecret, "whk_1", rng), "whk_1"));
    EXPECT_FALSE(Sealer(kDeployment, {}).open(old_row, "whk_1"));
}

TEST(Sealing, DamagedValuesDoNotOpen) {
    const Sealer sealer(kDeployment, {});
    support::SeededRng rng;
    const std::string good = sealer.seal(kSecret, "whk_1", rng);

    for (std::size_t i = 0; i < good.size(); ++i) {
        std::string bad = good;
        bad[i] = bad[i] == 'A' ? 'B' : 'A';
        EXPECT_FALSE(sealer.open(bad, "whk_1")) << i;
    }
    for (const std::string& bad :
         {std::string(),
          std::string("v1"),
          std::string("v1..."),
          "v2" + good.substr(2),
          good + ".",
          good + "=",
          good.substr(1)}) {
        EXPECT_FALSE(sealer.open(bad, "whk_1")) << bad;
        EXPECT_FALSE(sealer.is_sealed_with_previous(bad, "whk_1"));
    }
}

}  // namespace
}  // namespace compute::events
