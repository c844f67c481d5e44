#include <string>

#include <gtest/gtest.h>

#include "crypto/crypto.h"

#include "tests/support/seeded_rng.h"

namespace compute::crypto {
namespace {

TEST(Hex, RoundTripsAndTakesBothCases) {
    EXPECT_EQ(to_hex(std::string("\x00\x7f\xff", 3)), "007fff");
    EXPECT_EQ(from_hex("007FfF"), std::string("\x00\x7f\xff", 3));
    EXPECT_EQ(from_hex(""), "");
}

TEST(Hex, RefusesWhatIsNone) {
    for (const char* bad : {"0", "0g", " 0", "0x00", "00 "}) {
        EXPECT_FALSE(from_hex(bad)) << bad;
    }
}

// RFC 4648, section 10.
TEST(Base64, GivesTheVectorsOfRfc4648) {
    const std::pair<const char*, const char*> vectors[] = {
        {"", ""},
        {"f", "Zg=="},
        {"fo", "Zm8="},
        {"foo", "Zm9v"},
        {"foob", "Zm9vYg=="},
        {"fooba", "Zm9vYmE="},
        {"foobar", "Zm9vYmFy"},
    };
    for (const auto& [plain, encoded] : vectors) {
        EXPECT_EQ(to_base64(plain), encoded);
        EXPECT_EQ(from_base64(encoded), plain);
        std::string url = encoded;
        url.erase(std::min(url.find('='), url.size()));
        EXPECT_EQ(to_base64url(plain), url);
        EXPECT_EQ(from_base64url(url), plain);
    }
}

TEST(Base64, RefusesOtherAlphabetsPaddingAndSpareBits) {
    for (const char* bad :
         {"Zg",
          "Zg=",
          "Zh==",
          "Zm9=",
          "Zm9v\n",
          " Zm9v",
          "Zm9v====",
          "====",
          "=",
          "Z===",
          "Zm-_",
          "Zg==Zg=="}) {
        EXPECT_FALSE(from_base64(bad)) << bad;
    }
    for (const char* bad : {"Zg==", "Zh", "Z", "Zm9vZ", "+/+/", "Zm9v ", "Zm9v\n", "Zm 9v"}) {
        EXPECT_FALSE(from_base64url(bad)) << bad;
    }
}

TEST(Base64url, RoundTripsEveryLength) {
    support::SeededRng rng;
    for (std::size_t size = 0; size < 70; ++size) {
        std::string bytes(size, '\0');
        rng.fill(bytes.data(), size);
        EXPECT_EQ(from_base64url(to_base64url(bytes)), bytes);
        EXPECT_EQ(from_base64(to_base64(bytes)), bytes);
        EXPECT_EQ(from_hex(to_hex(bytes)), bytes);
    }
}

}  // namespace
}  // namespace compute::crypto
