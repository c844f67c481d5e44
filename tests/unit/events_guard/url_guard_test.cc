#include "modules/events/url_guard.h"

#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "core/error.h"

namespace compute::events {
namespace {

std::string refusal(const std::string& text, const UrlRules& rules = {}) {
    try {
        return "accepted as " + check_webhook_url(text, rules).text;
    } catch (const ComputeError& error) {
        EXPECT_EQ(error.code(), ErrorCode::InvalidInput);
        EXPECT_EQ(error.details()->at("field"), "url");
        EXPECT_EQ("url: " + error.details()->at("reason").get<std::string>(), error.message());
        return error.message();
    }
}

TEST(UrlGuard, W38_UrlMustBeHttps) {
    EXPECT_EQ(refusal("http://hooks.example.com/"), "url: must start with https://");
    EXPECT_EQ(refusal("ftp://hooks.example.com/"), "url: must start with https://");
    EXPECT_EQ(
        check_webhook_url("https://hooks.example.com/a", {}).text, "https://hooks.example.com/a"
    );
}

TEST(UrlGuard, W39_NoUserNameOrPassword) {
    EXPECT_EQ(refusal("https://u:p@hooks.example.com/"), "url: has a user name or password");
}

TEST(UrlGuard, W40_NoNonPublicAddressInAnySpelling) {
    for (const char* host :
         {"10.0.0.1",
          "127.0.0.1",
          "127.0.0.1.",
          "169.254.169.254",
          "100.64.0.1",
          "[::1]",
          "[fd00::1]",
          "[::ffff:10.0.0.1]",
          "[::FFFF:0a00:0001]",
          "2130706433",
          "0x7f000001",
          "017700000001",
          "127.1",
          "0x7f.0.1",
          "0",
          "[::]",
          "[64:ff9b::10.0.0.1]",
          "[::ffff:0:127.0.0.1]",
          "[fe80::1]",
          "１２７.0.0.1"}) {
        EXPECT_EQ(
            refusal("https://" + std::string(host) + "/"), "url: must not be a non-public address"
        ) << host;
    }
    EXPECT_EQ(check_webhook_url("https://8.8.8.8/", {}).text, "https://8.8.8.8/");
}

TEST(UrlGuard, W41_NoLocalhostOrInternal) {
    for (const char* host :
         {"localhost",
          "LOCALHOST",
          "localhost.",
          "a.localhost",
          "A.Localhost.",
          "metadata.google.internal",
          "x.INTERNAL",
          "x.internal.",
          "loc%61lhost"}) {
        EXPECT_EQ(
            refusal("https://" + std::string(host) + "/"),
            "url: must not be localhost, *.localhost or *.internal"
        ) << host;
    }
    EXPECT_EQ(refusal("https://localhost.example/").substr(0, 8), "accepted");
}

TEST(UrlGuard, W46_EachFlagOpensItsOwnRuleAlone) {
    UrlRules insecure;
    insecure.allow_insecure = true;
    UrlRules private_too;
    private_too.guard.allow_private = true;

    EXPECT_EQ(
        check_webhook_url("http://hooks.example.com/", insecure).text, "http://hooks.example.com/"
    );
    EXPECT_EQ(refusal("http://127.0.0.1/", insecure), "url: must not be a non-public address");
    EXPECT_EQ(
        refusal("http://localhost/", insecure),
        "url: must not be localhost, *.localhost or *.internal"
    );
    EXPECT_EQ(check_webhook_url("https://localhost/", private_too).text, "https://localhost/");
    EXPECT_EQ(check_webhook_url("https://10.0.0.1/", private_too).text, "https://10.0.0.1/");
    EXPECT_EQ(refusal("http://10.0.0.1/", private_too), "url: must start with https://");
}

TEST(UrlGuard, NamedRangesOpenThemselves) {
    config::Events config;
    config.allow_cidrs = {"10.20.0.0/16"};
    const UrlRules rules = url_rules(config);

    EXPECT_EQ(check_webhook_url("https://10.20.1.1/", rules).text, "https://10.20.1.1/");
    EXPECT_EQ(refusal("https://10.21.1.1/", rules), "url: must not be a non-public address");

    config.allow_cidrs = {"10.20.0.0/8"};
    EXPECT_THROW((void)url_rules(config), ComputeError);
}

TEST(UrlGuard, OtherFaultsNameTheirReason) {
    EXPECT_EQ(refusal(""), "url: is empty");
    EXPECT_EQ(refusal("https:///x"), "url: has no host");
    EXPECT_EQ(refusal("https://example.com/#a"), "url: has a fragment");
    EXPECT_EQ(
        refusal("https://example.com/" + std::string(2048, 'a')), "url: is longer than 2048 bytes"
    );
}

}  // namespace
}  // namespace compute::events
