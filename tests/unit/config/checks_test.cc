#include "config/checks.h"

#include <gtest/gtest.h>

namespace compute::config {
namespace {

TEST(HostPort, TakesNamesAddressesAndBracketedV6) {
    EXPECT_EQ(find_host_port("127.0.0.1:8420")->port, 8420);
    EXPECT_EQ(find_host_port("localhost:0")->host, "localhost");
    EXPECT_EQ(find_host_port("[::1]:65535")->host, "::1");
}

TEST(HostPort, RefusesWhatIsNone) {
    for (const char* text :
         {"",
          ":",
          "8420",
          "host",
          "host:",
          ":80",
          "host:65536",
          "host:-1",
          "host:+1",
          "host:1x",
          "ho st:1",
          "::1:80",
          "[::1]",
          "[::g]:1",
          "[]:1",
          "h/:1"}) {
        EXPECT_FALSE(find_host_port(text)) << text;
    }
}

TEST(LoopbackHost, IsTheWholeNetworkAndV6AndTheName) {
    for (const char* host : {"127.0.0.1", "127.255.255.254", "::1", "localhost"}) {
        EXPECT_TRUE(is_loopback_host(host)) << host;
    }
    for (const char* host : {"128.0.0.1", "0.0.0.0", "::", "example.com", "10.0.0.1"}) {
        EXPECT_FALSE(is_loopback_host(host)) << host;
    }
}

TEST(Cidr, NeedsZeroHostBits) {
    for (const char* text :
         {"10.0.0.0/8",
          "0.0.0.0/0",
          "192.168.1.1/32",
          "192.168.1.1",
          "fd00::/8",
          "::1/128",
          "::1"}) {
        EXPECT_TRUE(is_cidr(text)) << text;
    }
    for (const char* text :
         {"",
          "10.0.0.1/8",
          "10.0.0.0/33",
          "10.0.0.0/",
          "10.0.0.0/-1",
          "10.0.0/8",
          "fd00::1/8",
          "fd00::/129",
          "x/8",
          "010.0.0.0/8"}) {
        EXPECT_FALSE(is_cidr(text)) << text;
    }
}

TEST(BasePath, HasNoEmptyDottedOrTrailingSegment) {
    for (const char* text : {"/api/compute", "/a", "/a.b/c_d~e-f"}) {
        EXPECT_TRUE(is_base_path(text)) << text;
    }
    for (const char* text :
         {"",
          "/",
          "api",
          "/api/",
          "//api",
          "/a//b",
          "/a/./b",
          "/a/../b",
          "/a b",
          "/a?b",
          "/a%20"}) {
        EXPECT_FALSE(is_base_path(text)) << text;
    }
}

TEST(EventFamily, IsLowerCaseSegmentsAndAStar) {
    for (const char* text : {"acme.*", "acme.widget.*", "a-1.b2.*"}) {
        EXPECT_TRUE(is_event_family(text)) << text;
    }
    for (const char* text :
         {"",
          "*",
          ".*",
          "acme",
          "acme.widget",
          "Acme.*",
          "acme..*",
          "acme.*.*",
          "a_b.*",
          "acme.**"}) {
        EXPECT_FALSE(is_event_family(text)) << text;
    }
}

TEST(DatabaseUrl, IsAFileOrPostgres) {
    for (const char* text :
         {"sqlite:./a",
          "sqlite::memory:",
          "a.db",
          "/var/lib/a.db",
          "postgres://h/d",
          "postgresql://u@h/d?host=/tmp"}) {
        EXPECT_TRUE(is_database_url(text)) << text;
    }
    for (const char* text : {"", "sqlite:", ".db", "mysql://h/d", "a.sqlite", "postgres:h"}) {
        EXPECT_FALSE(is_database_url(text)) << text;
    }
    EXPECT_EQ(find_database_file("sqlite:/a/b"), "/a/b");
    EXPECT_EQ(find_database_file("b.db"), "b.db");
    EXPECT_FALSE(find_database_file("sqlite::memory:"));
    EXPECT_FALSE(find_database_file("postgres://h/d.db"));
}

TEST(DatabaseName, IsFitForAFile) {
    EXPECT_EQ(find_database_name("postgres://u@h/better_compute?host=/tmp"), "better_compute");
    EXPECT_EQ(find_database_name("postgresql:///a%2F..%2Fb"), "a____b");
    EXPECT_EQ(find_database_name("postgres://h"), "postgres");
    EXPECT_EQ(find_database_name("postgres://h/?dbname=x"), "postgres");
    EXPECT_EQ(find_database_name("postgres://h/" + std::string(100, 'd')), std::string(64, 'd'));
    EXPECT_FALSE(find_database_name("sqlite:a.db"));
}

TEST(Password, IsFoundWhereverAUrlCanCarryIt) {
    for (const char* text :
         {"postgres://u:p@h/d",
          "postgresql://u:p:q@h",
          "postgres://h/d?password=x",
          "postgres://h/d?a=b&password=x",
          "postgres://h/d?pass%77ord=x",
          "postgres://h?sslpassword=x"}) {
        EXPECT_TRUE(has_password(text)) << text;
    }
    for (const char* text :
         {"postgres://u@h/d",
          "postgres://u:@h/d",
          "postgres://h:5432/d",
          "postgres://h/d?user=password",
          "sqlite:a:b@c.db",
          "postgres://h/d?password="}) {
        EXPECT_FALSE(has_password(text)) << text;
    }
}

TEST(Password, IsMaskedAndNothingElse) {
    EXPECT_EQ(
        mask_password("postgres://u:hunter2@h:1/d?sslmode=require&password=x&a=b"),
        "postgres://u:********@h:1/d?sslmode=require&password=********&a=b"
    );
    EXPECT_EQ(mask_password("postgres://u:a@b@h/d"), "postgres://u:********@h/d");
    EXPECT_EQ(mask_password("sqlite:./a.db"), "sqlite:./a.db");
}

TEST(Characters, AreCountedNotBytes) {
    EXPECT_EQ(count_characters("abc"), 3U);
    EXPECT_EQ(count_characters("äöü€"), 4U);
}

}  // namespace
}  // namespace compute::config
