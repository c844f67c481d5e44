#include "audit/keys.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crypto/crypto.h"

#include "tests/unit/audit/rig.h"

namespace compute::audit {
namespace {

using testing::HasSubstr;

class Keys : public AuditTest {
protected:
    Resealed reseal(const crypto::SecretBox& box, ResealMode mode = ResealMode::Reseal) {
        return rig.db().write([&](store::Transaction& tx) {
            return reseal_keys(tx, box, mode, rig.rng);
        });
    }
    std::vector<Key> keys(const crypto::SecretBox* box) {
        return rig.db().read([&](store::Transaction& tx) { return read_keys(tx, box); });
    }
    SealTools tools(const crypto::SecretBox& box) {
        return {rig.db(), box, rig.clock, rig.rng, rig.log};
    }
};
INSTANTIATE_TEST_SUITE_P(Engines, Keys, support::both_engines(), support::engine_name);

TEST_P(Keys, TheFirstSealMakesOne) {
    EXPECT_TRUE(keys(&rig.box).empty());
    rig.append_row("acme");
    seal_now(rig.tools());

    ASSERT_EQ(keys(&rig.box).size(), 1U);
    EXPECT_EQ(keys(&rig.box)[0].trust, KeyTrust::Vouched);
    rig.append_row("acme");
    seal_now(rig.tools());
    EXPECT_EQ(keys(&rig.box).size(), 1U);
}

TEST_P(Keys, ASeedIsNeverStoredOpen) {
    rig.append_row("acme");
    seal_now(rig.tools());
    const auto key =
        rig.db().read([&](store::Transaction& tx) { return find_signing_key(tx, rig.box); });

    const std::string stored = rig.db().query("select seed from audit_keys")[0].get_text(0);
    const std::string seed(key.value().seed.reveal());
    EXPECT_THAT(stored, testing::Not(HasSubstr(crypto::to_base64url(seed))));
    EXPECT_THAT(stored, testing::StartsWith("v1."));
}

TEST_P(Keys, ARotatedSecretSealsTheSameKeyAgain) {
    rig.append_row("acme");
    seal_now(rig.tools());
    const crypto::SecretBox both = make_key_box(kNextSecret, {kSecret});
    const crypto::SecretBox next = make_key_box(kNextSecret, {});
    ASSERT_EQ(keys(&both)[0].trust, KeyTrust::Previous);
    ASSERT_EQ(keys(&next)[0].trust, KeyTrust::Unreadable);

    EXPECT_EQ(reseal(both, ResealMode::DryRun).remaining, 1);
    EXPECT_EQ(keys(&next)[0].trust, KeyTrust::Unreadable);
    EXPECT_EQ(reseal(both).resealed, 1);
    EXPECT_EQ(reseal(both).resealed, 0);

    EXPECT_EQ(keys(&next)[0].trust, KeyTrust::Vouched);
    rig.append_row("acme");
    EXPECT_EQ(seal_now(tools(next)).rows, 1);
    EXPECT_TRUE(verify(rig.db(), &next, {}).is_ok());
    EXPECT_EQ(keys(&next).size(), 1U);
}

TEST_P(Keys, WithoutItsSecretNothingIsSealedOrPruned) {
    rig.append_row("acme");
    seal_now(rig.tools());
    rig.append_row("acme");
    const crypto::SecretBox foreign = make_key_box(kNextSecret, {});

    for (const bool is_pruning : {false, true}) {
        try {
            if (is_pruning) {
                prune_rows(tools(foreign), rig.clock.now_ms() + 1);
            } else {
                seal_now(tools(foreign));
            }
            FAIL();
        } catch (const ComputeError& error) {
            EXPECT_EQ(error.code(), ErrorCode::InvalidConfig);
            EXPECT_THAT(error.hint(), HasSubstr("previous_secrets"));
        }
    }
    EXPECT_EQ(rig.check().unsealed, 1);
    EXPECT_EQ(reseal(foreign).unreadable, 1);
}

TEST_P(Keys, ANewKeySignsFromThenOnAndTheOldOneStillVouches) {
    rig.append_row("acme");
    seal_now(rig.tools());
    const NewKey made = make_key(rig.box, rig.clock, rig.rng);
    EXPECT_TRUE(rig.db().write([&](store::Transaction& tx) { return insert_key(tx, made); }));
    rig.append_row("acme");
    seal_now(rig.tools());

    const auto checkpoints =
        rig.db().read([](store::Transaction& tx) { return read_checkpoints(tx, 0, 10); });
    ASSERT_EQ(checkpoints.size(), 2U);
    EXPECT_NE(checkpoints[0].key_id, checkpoints[1].key_id);
    EXPECT_EQ(checkpoints[1].key_id, made.key.id);
    EXPECT_TRUE(rig.check().is_ok());
}

TEST_P(Keys, WithoutADeploymentSecretNothingVouches) {
    rig.append_row("acme");
    seal_now(rig.tools());
    const std::string key = keys(nullptr)[0].public_key;

    EXPECT_FALSE(verify(rig.db(), nullptr, {}).is_ok());
    EXPECT_TRUE(verify(rig.db(), nullptr, {.keys = {key}}).is_ok());
}

}  // namespace
}  // namespace compute::audit
