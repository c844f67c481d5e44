#include "net/url.h"

#include <string>

#include <gtest/gtest.h>

namespace compute::net {
namespace {

Url parsed(std::string_view text) {
    UrlResult result = parse_url(text);
    if (const auto* reason = std::get_if<std::string>(&result)) {
        ADD_FAILURE() << text << ": " << *reason;
        return {};
    }
    return std::get<Url>(result);
}

std::string reason_of(std::string_view text) {
    const UrlResult result = parse_url(text);
    const auto* reason = std::get_if<std::string>(&result);
    return reason == nullptr ? "accepted as " + std::get<Url>(result).text : *reason;
}

TEST(Url, TakesApartWhatItIsGiven) {
    const Url url = parsed("https://Hooks.Example.com:8443/a/b?c=d&e=f");

    EXPECT_TRUE(url.is_tls);
    EXPECT_EQ(url.host, "hooks.example.com");
    EXPECT_EQ(url.port, 8443);
    EXPECT_EQ(url.target, "/a/b?c=d&e=f");
    EXPECT_EQ(url.text, "https://hooks.example.com:8443/a/b?c=d&e=f");
    EXPECT_FALSE(url.address);
}

TEST(Url, NormalizesToOneText) {
    EXPECT_EQ(parsed("HTTPS://EXAMPLE.com").text, "https://example.com/");
    EXPECT_EQ(parsed("https://example.com:443/x").text, "https://example.com/x");
    EXPECT_EQ(parsed("http://example.com:80").text, "http://example.com/");
    EXPECT_EQ(parsed("https://example.com./x").text, "https://example.com/x");
    EXPECT_EQ(parsed("https://example.com?a=b").text, "https://example.com/?a=b");
    EXPECT_EQ(parsed("https://ex%61mple.com/").text, "https://example.com/");
    EXPECT_EQ(parsed("https://a_b.example.com/").text, "https://a_b.example.com/");
}

TEST(Url, NormalizedTextParsesToItself) {
    for (const char* text :
         {"https://[2001:DB8::1]:444/x?y",
          "https://bücher.example/ä?ö=ü",
          "https://0x7f.1/",
          "http://h:81"}) {
        const Url url = parsed(text);
        EXPECT_EQ(parsed(url.text).text, url.text) << text;
    }
}

TEST(Url, EncodesWhatIsNotAscii) {
    const Url url = parsed("https://example.com/ü?q=ü");

    EXPECT_EQ(url.target, "/%c3%bc?q=%c3%bc");
}

TEST(Url, TurnsInternationalNamesIntoPunycode) {
    EXPECT_EQ(parsed("https://bücher.example/").host, "xn--bcher-kva.example");
    EXPECT_EQ(parsed("https://BÜCHER.example/").host, "xn--bcher-kva.example");
    EXPECT_EQ(parsed("https://faß.example/").host, "xn--fa-hia.example");
    EXPECT_EQ(parsed("https://例え。テスト/").host, "xn--r8jz45g.xn--zckzah");
}

TEST(Url, ReadsEverySpellingOfAnIpv4Address) {
    for (const char* host :
         {"127.0.0.1",
          "127.0.0.1.",
          "2130706433",
          "0x7f000001",
          "0X7F000001",
          "017700000001",
          "127.1",
          "127.0.1",
          "0x7f.1",
          "0177.0.0.1",
          "127.0.0.0x1",
          "%3127.0.0.1",
          "127%2e0.0.1",
          "１２７.0.0.1",
          "127。0。0。1",
          "①②⑦.0.0.1",
          "00000177.0.0.1"}) {
        const Url url = parsed("https://" + std::string(host) + "/");
        EXPECT_EQ(url.host, "127.0.0.1") << host;
        ASSERT_TRUE(url.address) << host;
        EXPECT_EQ(url.address->text(), "127.0.0.1") << host;
    }
}

TEST(Url, ReadsIpv6Addresses) {
    for (const char* host : {"[::1]", "[0:0:0:0:0:0:0:1]", "[0000:0000::0001]"}) {
        const Url url = parsed("https://" + std::string(host) + ":9/");
        EXPECT_EQ(url.host, "::1");
        EXPECT_EQ(url.text, "https://[::1]:9/");
        EXPECT_EQ(url.address->text(), "::1");
    }
    EXPECT_EQ(parsed("https://[::FFFF:10.0.0.1]/").address->text(), "::ffff:10.0.0.1");
}

TEST(Url, RefusesOtherSchemes) {
    for (const char* text :
         {"ftp://example.com/",
          "file:///etc/passwd",
          "gopher://x/",
          "javascript:alert(1)",
          "example.com",
          "//example.com/",
          "https:/example.com",
          "https:example.com"}) {
        EXPECT_EQ(reason_of(text), "must start with https://") << text;
    }
}

TEST(Url, RefusesUserNamesAndPasswords) {
    for (const char* text :
         {"https://u@h/",
          "https://u:p@h/",
          "https://:p@h/",
          "https://@h/",
          "https://u;auth=x@h/",
          "https://example.com@127.0.0.1/"}) {
        EXPECT_EQ(reason_of(text), "has a user name or password") << text;
    }
}

TEST(Url, RefusesFragments) {
    EXPECT_EQ(reason_of("https://example.com/#a"), "has a fragment");
    EXPECT_EQ(reason_of("https://example.com/#"), "has a fragment");
}

TEST(Url, RefusesUrlsWithoutAHost) {
    for (const char* text : {"https://", "https:///x", "https:////x", "https://?x", "https://#x"}) {
        EXPECT_EQ(reason_of(text), "has no host") << text;
    }
}

TEST(Url, RefusesHostNamesThatAreNone) {
    const std::string long_label(64, 'a');
    for (const std::string& host :
         {std::string("-a.example"),
          std::string("a-.example"),
          std::string("a..example"),
          std::string("."),
          std::string(".example"),
          std::string("a.example.."),
          long_label + ".example",
          std::string("exa%00mple.com"),
          std::string("a%20b.com"),
          std::string("a%2fb.com"),
          std::string("1.2.3.4.5"),
          std::string("256.1.1.1"),
          std::string("1.2.3.0x"),
          std::string("4294967296"),
          std::string("09.1.1.1"),
          std::string("a*b.com"),
          std::string("xn--\xc3\xbc.example")}) {
        const std::string reason = reason_of("https://" + host + "/");
        EXPECT_TRUE(reason.find("host name") != std::string::npos || reason == "is no URL")
            << host << ": " << reason;
    }
}

TEST(Url, RefusesBadIpv6Hosts) {
    for (const char* host :
         {"[::1", "[::g]", "[1.2.3.4]", "[]", "[fe80::1%25eth0]", "[fe80::1%eth0]", "[::1]x"}) {
        const UrlResult result = parse_url("https://" + std::string(host) + "/");
        EXPECT_TRUE(std::holds_alternative<std::string>(result)) << host;
    }
}

TEST(Url, RefusesPortsThatAreNone) {
    for (const char* port : {"0", "65536", "99999999999", "-1", "abc", "1a", "+1"}) {
        const UrlResult result = parse_url("https://example.com:" + std::string(port) + "/");
        EXPECT_TRUE(std::holds_alternative<std::string>(result)) << port;
    }
    EXPECT_EQ(parsed("https://example.com:65535/").port, 65535);
}

TEST(Url, RefusesControlCharactersSpacesAndBackslashes) {
    EXPECT_EQ(reason_of("https://example.com/a\r\nb"), "has a control character");
    EXPECT_EQ(reason_of(std::string("https://example.com/\0", 21)), "has a control character");
    EXPECT_EQ(reason_of("https://example.com/a b"), "has a space");
    EXPECT_EQ(reason_of(" https://example.com/"), "has a space");
    EXPECT_EQ(reason_of("https://example.com\\@127.0.0.1/"), "has a backslash");
}

TEST(Url, BoundsItsLength) {
    const std::string head = "https://example.com/";
    EXPECT_EQ(
        parsed(head + std::string(kMaxUrlBytes - head.size(), 'a')).text.size(), kMaxUrlBytes
    );
    EXPECT_EQ(
        reason_of(head + std::string(kMaxUrlBytes - head.size() + 1, 'a')),
        "is longer than 2048 bytes"
    );
    EXPECT_EQ(reason_of(""), "is empty");
}

}  // namespace
}  // namespace compute::net
