#include <string>

#include <gtest/gtest.h>

#include "crypto/crypto.h"

namespace compute::crypto {
namespace {

std::string bytes(std::string_view hex) {
    return from_hex(hex).value();
}

TEST(Sha256, GivesTheVectorsOfFips180) {
    EXPECT_EQ(
        to_hex(sha256("")), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    );
    EXPECT_EQ(
        to_hex(sha256("abc")), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    );
    EXPECT_EQ(
        to_hex(sha256(std::string(1'000'000, 'a'))),
        "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"
    );
}

TEST(Sha256, IsUnchangedByAnEarlierCall) {
    const std::string first = sha256("abc");

    EXPECT_NE(sha256("something else"), first);
    EXPECT_EQ(sha256("abc"), first);
}

struct HmacVector {
    std::string key;
    std::string data;
    std::string_view mac;
};

// RFC 4231, cases 1, 2, 3, 6 and 7.
std::vector<HmacVector> rfc4231() {
    return {
        {std::string(20, '\x0b'),
         "Hi There",
         "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"},
        {"Jefe",
         "what do ya want for nothing?",
         "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"},
        {std::string(20, '\xaa'),
         std::string(50, '\xdd'),
         "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe"},
        {std::string(131, '\xaa'),
         "Test Using Larger Than Block-Size Key - Hash Key First",
         "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"},
        {std::string(131, '\xaa'),
         "This is a test using a larger than block-size key and a larger than block-size data. The "
         "key needs to be "
         "hashed before being used by the HMAC algorithm.",
         "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2"},
    };
}

TEST(HmacSha256, GivesTheVectorsOfRfc4231) {
    for (const HmacVector& vector : rfc4231()) {
        EXPECT_EQ(to_hex(hmac_sha256(vector.key, vector.data)), vector.mac) << vector.data;
    }
}

TEST(HmacSha256, TakesAnEmptyKeyAndAnEmptyText) {
    EXPECT_EQ(
        to_hex(hmac_sha256("", "")),
        "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad"
    );
}

TEST(HmacKey, SignsManyTextsLikeTheFunction) {
    for (const HmacVector& vector : rfc4231()) {
        HmacKey key(vector.key);
        for (int round = 0; round < 3; ++round) {
            const std::string_view data = vector.data;
            EXPECT_EQ(to_hex(key.sign(data.substr(0, 3), data.substr(3))), vector.mac);
            EXPECT_EQ(key.sign("", "other"), hmac_sha256(vector.key, "other"));
        }
    }
}

// RFC 5869, case 3: no salt, no info. Its cases with info carry a salt, so the info is checked
// against the extract and expand steps.
TEST(HkdfSha256, GivesTheVectorOfRfc5869) {
    EXPECT_EQ(
        to_hex(hkdf_sha256(std::string(22, '\x0b'), "", 42).reveal()),
        "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d9d201395faa4b61a96c8"
    );
}

TEST(HkdfSha256, BindsTheKeyToTheInfo) {
    const std::string prk = hmac_sha256(std::string(32, '\0'), "key");

    EXPECT_EQ(
        hkdf_sha256("key", "info", 32).reveal(), hmac_sha256(prk, std::string("info") + '\x01')
    );
    EXPECT_NE(hkdf_sha256("key", "info", 32).reveal(), hkdf_sha256("key", "other", 32).reveal());
}

TEST(Crc32, GivesTheCheckValue) {
    EXPECT_EQ(crc32("123456789"), 0xcbf43926U);
    EXPECT_EQ(crc32(""), 0U);
}

TEST(Digest, HexVectorsDecode) {
    EXPECT_EQ(bytes("00ff"), std::string("\0\xff", 2));
}

}  // namespace
}  // namespace compute::crypto
