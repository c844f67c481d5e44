// Every key with what it takes and what it refuses: limits, one past them, and other types.
#include "config/keys.h"

#include <cmath>
#include <set>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace compute::config {
namespace {

const std::string k32(32, 's');
const std::string k31(31, 's');

struct Case {
    const char* key;
    std::vector<Json> good;
    std::vector<Json> bad;
};

const std::vector<Json> kNoBooleans = {1, 0, "true", nullptr, Json::array()};

std::vector<Case> cases() {
    const Json list = Json::array();
    return {
        {"listen",
         {"127.0.0.1:0", "0.0.0.0:65535", "[::]:1"},
         {"", "host", "h:65536", 8420, nullptr}},
        {"roles",
         {{"api"}, {"controllers"}, {"api", "controllers"}},
         {list, {"api", "api"}, {"worker"}, "api", {1}}},
        {"base_path", {"/api/compute", "/x"}, {"", "/", "/api/", "api", 1}},
        {"behind_proxy", {true, false}, kNoBooleans},
        {"secret", {k32, std::string(4096, 's')}, {k31, "", 1, std::string(4097, 's')}},
        {"previous_secrets",
         {list, {k32}, {k32, k32 + "2"}},
         {{k31}, k32, {1}, Json(std::vector<std::string>(17, k32))}},
        {"log_level", {"debug", "info", "warning", "error"}, {"", "Info", "trace", 1}},
        {"log_format", {"text", "json"}, {"xml", "", true}},
        {"admin_listen", {"", "127.0.0.1:9000"}, {"9000", 1}},
        {"tls.cert", {"", "/etc/cert.pem"}, {"a\nb", 1}},
        {"tls.key", {"", "/etc/key.pem"}, {std::string("a\0b", 3), 1}},
        {"database.url",
         {"sqlite:./a.db", "a.db", "postgres://h/d"},
         {"", "mysql://h", "sqlite:", 1}},
        {"database.synchronous", {"full", "normal"}, {"off", "FULL", 1}},
        {"database.pool_size", {1, 512}, {0, 513, -1, "8", 1.5}},
        {"database.prepared", {true, false}, kNoBooleans},
        {"limits.connections", {1, 1'000'000}, {0, 1'000'001, "1"}},
        {"limits.connections_per_address", {1, 1'000'000}, {0, 1'000'001}},
        {"limits.header_bytes", {1024, 65536}, {1023, 65537}},
        {"limits.head_timeout_ms", {100, 600'000}, {99, 600'001}},
        {"limits.idle_timeout_ms", {100, 3'600'000}, {99, 3'600'001}},
        {"limits.waiting", {0, 100'000}, {-1, 100'001}},
        {"limits.requests_per_second", {0, 1'000'000}, {-1, 1'000'001, 0.5}},
        {"iam.mode", {"local", "better-iam"}, {"remote", ""}},
        {"iam.resource_prefix",
         {"compute-", "x-", std::string(32, 'a')},
         {"", "-x", "Compute-", "1x", std::string(33, 'a')}},
        {"iam.root_tenant",
         {"root", std::string(128, 'a'), "a.b_c:d-e"},
         {"", std::string(129, 'a'), "a/b", "a b"}},
        {"iam.auth_cache_ms", {0, 30'000}, {-1, 30'001}},
        {"iam.read_cache_ms", {0, 10'000}, {-1, 10'001}},
        {"iam.better_iam.url",
         {"", "https://iam.example.com", "http://127.0.0.1:1/x"},
         {"iam.example.com", "https://u:p@h", "ftp://h", "https://"}},
        {"iam.better_iam.service_key_file", {"", "/etc/key"}, {1}},
        {"iam.better_iam.connect_ms", {1, 60'000}, {0, 60'001}},
        {"iam.better_iam.total_ms", {1, 60'000}, {0, 60'001}},
        {"events.max_per_tenant", {1, 100'000}, {0, 100'001}},
        {"events.allow_insecure", {true, false}, kNoBooleans},
        {"events.allow_private", {true, false}, kNoBooleans},
        {"events.allow_cidrs",
         {list, {"10.0.0.0/8", "fd00::/8"}},
         {"10.0.0.0/8", {"10.0.0.1/8"}, {"x"}, {1}, {"10.0.0.0/8", "10.0.0.0/8"}}},
        {"events.extra_events",
         {false,
          list,
          {{{"type", "acme.widget.*"}}},
          {{{"type", "acme.*"}, {"subject", "s"}, {"module", "m"}, {"description", "d"}}}},
         {true,
          "x",
          {"acme.*"},
          {{{"subject", "s"}}},
          {{{"type", "acme"}}},
          {{{"type", "acme.*"}, {"x", "y"}}},
          {{{"type", 1}}},
          {{{"type", "a.*"}}, {{"type", "a.*"}}}}},
        {"events.standard_headers", {true, false}, kNoBooleans},
        {"events.jitter", {true, false}, kNoBooleans},
        {"events.ca_file", {"", "/etc/ca.pem"}, {1}},
        {"events.delivery.max_attempts", {1, 100}, {0, 101}},
        {"events.delivery.backoff_seconds",
         {{1}, {60, 300}, {2'592'000}, Json(std::vector<int>(64, 1))},
         {list, {0}, {2'592'001}, 60, {"60"}, {1.5}, Json(std::vector<int>(65, 1))}},
        {"events.delivery.timeout_ms", {1, 300'000}, {0, 300'001}},
        {"events.delivery.limit", {1, 1000}, {0, 1001}},
        {"events.retention", {false}, {true, 0, "false", nullptr}},
        {"events.retention.delivered_days",
         {1, 1.5, 36500},
         {0, 0.5, 0.999, 36501, "30", std::nan("")}},
        {"events.retention.dead_days", {1, 90, 36500}, {0, -1, 36500.5}},
        {"outbox.retention_days", {1, 30}, {0, 0.5, "1"}},
        {"audit.retention_days", {1, 3650}, {0, 0.5}},
        {"plugins",
         {list, {{{"path", "a.so"}}}},
         {"a.so",
          {"a.so"},
          {{{"path", ""}}},
          {{{"path", "a"}, {"x", 1}}},
          {{{"path", "a"}}, {{"path", "a"}}}}},
    };
}

TEST(Keys, TakeTheirLimitsAndRefuseOnePast) {
    for (const Case& one : cases()) {
        const Key* key = find_key(one.key);
        ASSERT_NE(key, nullptr) << one.key;
        for (const Json& value : one.good) {
            Config config;
            EXPECT_EQ(key->set(config, value), std::nullopt) << one.key << " = " << value;
        }
        for (const Json& value : one.bad) {
            Config config;
            const Json before = key->get(config);
            EXPECT_NE(key->set(config, value), std::nullopt) << one.key << " = " << value;
            EXPECT_EQ(key->get(config), before) << one.key << " was changed by a refused value";
        }
    }
}

TEST(Keys, AreAllInTheTableAbove) {
    std::set<std::string> tested;
    for (const Case& one : cases()) {
        tested.insert(one.key);
    }
    for (const Key& key : keys()) {
        EXPECT_TRUE(tested.contains(key.name)) << key.name << " has no case";
    }
    EXPECT_EQ(tested.size(), keys().size());
}

TEST(Keys, ShowWhatWasSetUnlessItIsSecret) {
    for (const Case& one : cases()) {
        const Key* key = find_key(one.key);
        const Json& value = one.good.front();
        Config config;
        ASSERT_EQ(key->set(config, value), std::nullopt);
        if (key->is_secret) {
            EXPECT_EQ(key->get(config).dump().find(k32), std::string::npos);
        } else if (value != Json("")) {
            EXPECT_EQ(key->get(config), value) << one.key;
        }
    }
}

TEST(Keys, NameTheirVariable) {
    EXPECT_EQ(variable_of(*find_key("database.url")), "BETTER_COMPUTE_DATABASE_URL");
    EXPECT_EQ(
        variable_of(*find_key("events.allow_private")), "BETTER_COMPUTE_EVENTS_ALLOW_PRIVATE"
    );
    EXPECT_EQ(variable_of(*find_key("plugins")), "");
}

TEST(Keys, ReadTheTextOfAVariable) {
    EXPECT_EQ(find_value_of_text(*find_key("events.jitter"), "1"), Json(true));
    EXPECT_EQ(find_value_of_text(*find_key("events.jitter"), "false"), Json(false));
    EXPECT_EQ(find_value_of_text(*find_key("events.jitter"), "yes"), std::nullopt);
    EXPECT_EQ(
        find_value_of_text(*find_key("roles"), "api, controllers"), Json({"api", "controllers"})
    );
    EXPECT_EQ(
        find_value_of_text(*find_key("events.delivery.backoff_seconds"), "1,2"), Json({1, 2})
    );
    EXPECT_EQ(
        find_value_of_text(*find_key("events.delivery.backoff_seconds"), "1,x"), std::nullopt
    );
    EXPECT_EQ(find_value_of_text(*find_key("limits.waiting"), "12 "), std::nullopt);
    EXPECT_EQ(find_value_of_text(*find_key("outbox.retention_days"), "1.5"), Json(1.5));
}

}  // namespace
}  // namespace compute::config
