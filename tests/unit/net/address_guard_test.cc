#include "net/address_guard.h"

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/error.h"

namespace compute::net {
namespace {

IpAddress at(std::string_view text) {
    const auto address = IpAddress::find(text);
    EXPECT_TRUE(address) << text;
    return address.value_or(IpAddress{});
}

bool is_refused(std::string_view text, const GuardRules& rules = {}) {
    return !is_allowed(at(text), rules);
}

struct Edge {
    const char* first;
    const char* last;
    const char* below;  // the public neighbours, or null where the neighbour is refused too
    const char* above;
};

// One row for each refused range of the contract.
const std::vector<Edge>& edges() {
    static const std::vector<Edge> kEdges = {
        {"0.0.0.0", "0.255.255.255", nullptr, "1.0.0.0"},
        {"10.0.0.0", "10.255.255.255", "9.255.255.255", "11.0.0.0"},
        {"100.64.0.0", "100.127.255.255", "100.63.255.255", "100.128.0.0"},
        {"127.0.0.0", "127.255.255.255", "126.255.255.255", "128.0.0.0"},
        {"169.254.0.0", "169.254.255.255", "169.253.255.255", "169.255.0.0"},
        {"172.16.0.0", "172.31.255.255", "172.15.255.255", "172.32.0.0"},
        {"192.0.0.0", "192.0.0.255", "191.255.255.255", "192.0.1.0"},
        {"192.0.2.0", "192.0.2.255", "192.0.1.255", "192.0.3.0"},
        {"192.88.99.0", "192.88.99.255", "192.88.98.255", "192.88.100.0"},
        {"192.168.0.0", "192.168.255.255", "192.167.255.255", "192.169.0.0"},
        {"198.18.0.0", "198.19.255.255", "198.17.255.255", "198.20.0.0"},
        {"198.51.100.0", "198.51.100.255", "198.51.99.255", "198.51.101.0"},
        {"203.0.113.0", "203.0.113.255", "203.0.112.255", "203.0.114.0"},
        {"224.0.0.0", "239.255.255.255", "223.255.255.255", nullptr},
        {"240.0.0.0", "255.255.255.255", nullptr, nullptr},
        {"::", "::ffff:ffff", nullptr, "::1:0:0"},
        {"64:ff9b:1::",
         "64:ff9b:1:ffff:ffff:ffff:ffff:ffff",
         "64:ff9b:0:ffff:ffff:ffff:ffff:ffff",
         "64:ff9b:2::"},
        {"100::",
         "100::ffff:ffff:ffff:ffff",
         "ff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
         "100:0:0:1::"},
        {"2001::",
         "2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff",
         "2000:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
         "2001:200::"},
        {"2001:db8::",
         "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff",
         "2001:db7:ffff:ffff:ffff:ffff:ffff:ffff",
         "2001:db9::"},
        {"2002::",
         "2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
         "2001:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
         "2003::"},
        {"fc00::",
         "fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
         "fbff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
         "fe00::"},
        {"fe80::",
         "febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
         "fe7f:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
         nullptr},
        {"fec0::", "feff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", nullptr, nullptr},
        {"ff00::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", nullptr, nullptr},
    };
    return kEdges;
}

TEST(AddressGuard, W44_RefusesFirstAndLastOfEachRange) {
    for (const Edge& edge : edges()) {
        EXPECT_TRUE(is_refused(edge.first)) << edge.first;
        EXPECT_TRUE(is_refused(edge.last)) << edge.last;
    }
}

TEST(AddressGuard, W44_LetsThePublicNeighboursThrough) {
    for (const Edge& edge : edges()) {
        for (const char* neighbour : {edge.below, edge.above}) {
            if (neighbour != nullptr) {
                EXPECT_FALSE(is_refused(neighbour)) << neighbour;
            }
        }
    }
    for (const char* address :
         {"8.8.8.8", "1.1.1.1", "2606:4700:4700::1111", "2a00:1450:4001::1"}) {
        EXPECT_FALSE(is_refused(address)) << address;
    }
}

TEST(AddressGuard, W44_JudgesACarriedIpv4AddressAsItself) {
    for (const std::string prefix : {"::ffff:", "::ffff:0:", "64:ff9b::"}) {
        for (const Edge& edge : edges()) {
            if (!at(edge.first).is_v4()) {
                continue;
            }
            EXPECT_TRUE(is_refused(prefix + edge.first)) << prefix << edge.first;
            EXPECT_TRUE(is_refused(prefix + edge.last)) << prefix << edge.last;
            if (edge.above != nullptr) {
                EXPECT_FALSE(is_refused(prefix + edge.above)) << prefix << edge.above;
            }
        }
        EXPECT_FALSE(is_refused(prefix + "8.8.8.8")) << prefix;
    }
    EXPECT_TRUE(is_refused("::1"));
    EXPECT_TRUE(is_refused("::8.8.8.8"));          // IPv4-compatible
    EXPECT_TRUE(is_refused("2002:808:808::1"));    // 6to4
    EXPECT_TRUE(is_refused("2001:0:808:808::1"));  // Teredo
}

TEST(AddressGuard, AllowPrivateOpensEverything) {
    for (const Edge& edge : edges()) {
        EXPECT_FALSE(is_refused(edge.first, {.allow_private = true, .allow_cidrs = {}}));
    }
}

TEST(AddressGuard, AnOpenedRangeOpensItselfAlone) {
    const GuardRules rules{
        .allow_private = false,
        .allow_cidrs = parse_cidrs({"10.20.0.0/16", "fd00:1::/32"}, "events.allow_cidrs")};

    EXPECT_FALSE(is_refused("10.20.0.0", rules));
    EXPECT_FALSE(is_refused("10.20.255.255", rules));
    EXPECT_TRUE(is_refused("10.19.255.255", rules));
    EXPECT_TRUE(is_refused("10.21.0.0", rules));
    EXPECT_FALSE(is_refused("::ffff:10.20.1.1", rules));
    EXPECT_FALSE(is_refused("fd00:1::5", rules));
    EXPECT_TRUE(is_refused("fd00:2::5", rules));
    EXPECT_TRUE(is_refused("127.0.0.1", rules));
}

TEST(AddressGuard, NamesTheBadRangeOfAConfiguration) {
    for (const char* bad :
         {"10.0.0.0/33",
          "10.0.0.1/8",
          "fd00::/129",
          "10.0.0.0/",
          "10.0.0.0/08",
          "10.0.0.0/-1",
          "x",
          "",
          "10/8",
          "0x0a.0.0.0/8"}) {
        try {
            (void)parse_cidrs({"10.0.0.0/8", bad}, "events.allow_cidrs");
            FAIL() << bad;
        } catch (const ComputeError& error) {
            EXPECT_EQ(error.code(), ErrorCode::InvalidConfig);
            EXPECT_EQ(
                error.message(),
                "events.allow_cidrs: \"" + std::string(bad) + "\" is no address range"
            );
        }
    }
}

TEST(AddressGuard, KnowsPrivateHostNames) {
    for (const char* host :
         {"localhost",
          "a.localhost",
          "a.b.localhost",
          "internal",
          "metadata.google.internal",
          "x.internal"}) {
        EXPECT_TRUE(is_private_host_name(host)) << host;
    }
    for (const char* host :
         {"localhost.example",
          "notlocalhost",
          "internal.example",
          "xinternal",
          "example.com",
          ""}) {
        EXPECT_FALSE(is_private_host_name(host)) << host;
    }
}

TEST(Cidr, ContainsWhatItsPrefixSays) {
    EXPECT_TRUE(Cidr::find("0.0.0.0/0")->contains(at("255.255.255.255")));
    EXPECT_FALSE(Cidr::find("0.0.0.0/0")->contains(at("::1")));
    EXPECT_TRUE(Cidr::find("10.1.2.3")->contains(at("10.1.2.3")));
    EXPECT_FALSE(Cidr::find("10.1.2.3")->contains(at("10.1.2.4")));
    EXPECT_TRUE(Cidr::find("10.128.0.0/9")->contains(at("10.255.0.1")));
    EXPECT_FALSE(Cidr::find("10.128.0.0/9")->contains(at("10.127.255.255")));
    EXPECT_EQ(Cidr::find("fd00::/8")->text(), "fd00::/8");
}

TEST(IpAddress, TakesCanonicalSpellingsOnly) {
    for (const char* bad :
         {"",
          "1.2.3",
          "01.2.3.4",
          "0x1.2.3.4",
          "1.2.3.4 ",
          "[::1]",
          "::1%lo",
          "1.2.3.4:80",
          "example.com"}) {
        EXPECT_FALSE(IpAddress::find(bad)) << bad;
    }
    EXPECT_FALSE(IpAddress::find(std::string_view("1.2.3.4\0", 8)));
    EXPECT_EQ(IpAddress::v4(0x01020304).text(), "1.2.3.4");
}

}  // namespace
}  // namespace compute::net
