#include "iam/local/token.h"

#include <gtest/gtest.h>

#include "crypto/crypto.h"
#include "iam/operator_port.h"

#include "tests/support/seeded_rng.h"

namespace compute::iam::local {
namespace {

std::string fresh_token() {
    support::SeededRng rng;
    return std::string(make_token("user", rng).reveal());
}

TEST(Token, IsKindRandomPartAndChecksum) {
    const std::string token = fresh_token();

    ASSERT_EQ(token.size(), std::string("bct_user_").size() + 43 + 6);
    EXPECT_TRUE(token.starts_with("bct_user_"));
    EXPECT_TRUE(is_well_formed(crypto::Secret(token)));
    EXPECT_EQ(token_hash(crypto::Secret(token)), crypto::to_hex(crypto::sha256(token)));
}

TEST(Token, AnyOneChangedCharacterIsNoticed) {
    const std::string token = fresh_token();
    for (std::size_t i = 0; i < token.size(); ++i) {
        std::string changed = token;
        changed[i] = changed[i] == 'q' ? 'z' : 'q';
        EXPECT_FALSE(is_well_formed(crypto::Secret(changed))) << i;
    }
}

TEST(Token, OtherShapesAreNone) {
    const std::string token = fresh_token();
    for (const std::string& other :
         {std::string(),
          std::string("bct_"),
          token + "A",
          token.substr(1),
          token.substr(0, token.size() - 1),
          std::string(5'000, 'a'),
          "bct__" + token.substr(9),
          "bct_USER_" + token.substr(9)}) {
        EXPECT_FALSE(is_well_formed(crypto::Secret(other))) << other;
    }
}

TEST(OperatorPort, ActsAsTheOperatingSystemUserInTheRootTenant) {
    const Session session = operator_session("alice", "root");
    OperatorPort port;

    EXPECT_EQ(session.caller.identity_id.str(), "os:alice");
    EXPECT_EQ(session.caller.identity_kind, "operator");
    EXPECT_EQ(session.caller.tenant_id.str(), "root");
    EXPECT_EQ(port.require(session, {}).reason, "operator");
    EXPECT_TRUE(port.require(session, {}).is_allowed);
    EXPECT_THROW((void)port.authenticate(crypto::Secret("x")), ComputeError);
}

}  // namespace
}  // namespace compute::iam::local
