#include <string>

#include <gtest/gtest.h>

#include "crypto/crypto.h"

#include "tests/support/seeded_rng.h"

namespace compute::crypto {
namespace {

std::string bytes(std::string_view hex) {
    return from_hex(hex).value();
}

// Hands out the bytes it was given: the IV of a published vector.
class FixedRng final : public Rng {
public:
    explicit FixedRng(std::string bytes) : bytes_(std::move(bytes)) {}
    void fill(void* out, std::size_t size) override { bytes_.copy(static_cast<char*>(out), size); }

private:
    std::string bytes_;
};

// Test case 16 of the GCM specification that SP 800-38D grew out of (256-bit key, additional data).
TEST(Aes256Gcm, GivesThePublishedVector) {
    const Secret key(bytes("feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308"));
    const std::string plain = bytes(
        "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a721c3c0c95956809532fcf0e2449"
        "a6b525b16aedf5aa0de657ba637b39"
    );
    const std::string aad = bytes("feedfacedeadbeeffeedfacedeadbeefabaddad2");
    FixedRng rng(bytes("cafebabefacedbaddecaf888"));

    const Sealed sealed = aes256gcm_seal(key, plain, aad, rng);

    EXPECT_EQ(
        to_hex(sealed.text),
        "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa8cb08e48590dbb3da7b08b1056"
        "828838c5f61e6393ba7a0abcc9f662"
    );
    EXPECT_EQ(to_hex(sealed.tag), "76fc6ece0f4e1768cddf8853bb2d551b");
    EXPECT_EQ(aes256gcm_open(key, sealed, aad).value().reveal(), plain);
}

TEST(Aes256Gcm, OpensNothingThatWasChanged) {
    support::SeededRng rng;
    const Secret key(std::string(32, 'k'));
    const Sealed good = aes256gcm_seal(key, "plain text", "aad", rng);
    const auto opens = [&](Sealed sealed, const Secret& with, std::string_view aad) {
        return aes256gcm_open(with, sealed, aad).has_value();
    };

    ASSERT_TRUE(opens(good, key, "aad"));
    EXPECT_FALSE(opens(good, key, "aad2"));
    EXPECT_FALSE(opens(good, Secret(std::string(32, 'x')), "aad"));
    for (std::string Sealed::*part : {&Sealed::iv, &Sealed::tag, &Sealed::text}) {
        for (std::size_t i = 0; i < (good.*part).size(); ++i) {
            Sealed bad = good;
            (bad.*part)[i] = static_cast<char>((bad.*part)[i] ^ 1);
            EXPECT_FALSE(opens(bad, key, "aad"));
        }
        Sealed shorter = good;
        (shorter.*part).pop_back();
        EXPECT_FALSE(opens(shorter, key, "aad"));
    }
}

TEST(Aes256Gcm, TakesAnEmptyTextAndNoAdditionalData) {
    support::SeededRng rng;
    const Secret key(std::string(32, 'k'));

    const Sealed sealed = aes256gcm_seal(key, {}, {}, rng);

    EXPECT_EQ(aes256gcm_open(key, sealed, {}).value().reveal(), "");
}

TEST(Aes256Gcm, UsesANewIvEachTime) {
    const Secret key(std::string(32, 'k'));

    EXPECT_NE(
        aes256gcm_seal(key, "a", "", system_rng()).iv, aes256gcm_seal(key, "a", "", system_rng()).iv
    );
}

// RFC 8032, 7.1, test 2.
TEST(Ed25519, GivesTheVectorOfRfc8032) {
    const Secret seed(bytes("4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb"));
    const std::string message = bytes("72");

    const Ed25519KeyPair pair = ed25519_from_seed(seed);
    const std::string signature = ed25519_sign(seed, message);

    EXPECT_EQ(
        to_hex(pair.public_key), "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c"
    );
    EXPECT_EQ(
        to_hex(signature),
        "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0"
        "f11d8c387b2eaeb4302aeeb00d291612bb0c00"
    );
    EXPECT_TRUE(ed25519_verify(pair.public_key, message, signature));
}

TEST(Ed25519, RefusesAnotherMessageKeyOrSignature) {
    const Secret seed(std::string(32, 's'));
    const std::string key = ed25519_from_seed(seed).public_key;
    const std::string signature = ed25519_sign(seed, "message");
    std::string changed = signature;
    changed[5] = static_cast<char>(changed[5] ^ 1);

    EXPECT_FALSE(ed25519_verify(key, "other", signature));
    EXPECT_FALSE(ed25519_verify(key, "message", changed));
    EXPECT_FALSE(ed25519_verify(key, "message", ""));
    EXPECT_FALSE(ed25519_verify("short", "message", signature));
}

}  // namespace
}  // namespace compute::crypto
