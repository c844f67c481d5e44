// The configuration: one struct, every key checked. Comes from defaults, then better-compute.toml,
// then BETTER_COMPUTE_* variables, then flags; later wins, and each value remembers where it came
// from.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/log.h"
#include "crypto/secret.h"

namespace compute::config {

struct Tls {
    std::string cert;  // PEM file with the chain; empty: plain HTTP
    std::string key;   // PEM file
};

struct DatabaseConfig {
    std::string url = "sqlite:./better-compute.db";
    std::string synchronous = "full";  // full | normal
    int pool_size = 8;
    bool prepared = true;
};

struct Limits {
    int connections = 10000;
    int connections_per_address = 10000;
    int header_bytes = 16384;
    int head_timeout_ms = 10000;
    int idle_timeout_ms = 75000;
    int waiting = 2000;
    int requests_per_second = 0;  // per credential; 0: off
};

struct BetterIam {
    std::string url;
    std::string service_key_file;
    int connect_ms = 1000;
    int total_ms = 5000;
};

struct Iam {
    std::string mode = "local";  // local | better-iam
    std::string resource_prefix = "compute-";
    std::string root_tenant = "root";
    int auth_cache_ms = 30000;  // at most that: the contract's number may only be shortened
    int read_cache_ms = 10000;
    BetterIam better_iam;
};

struct ExtraEvent {
    std::string type;  // "acme.widget.*"
    std::string subject;
    std::string module;
    std::string description;
};

struct DeliveryPolicy {
    int max_attempts = 8;
    std::vector<std::int64_t> backoff_seconds = {60, 300, 1800, 7200, 21600, 43200, 86400};
    int timeout_ms = 10000;
    int limit = 50;  // deliveries per pass
};

struct Retention {
    double delivered_days = 30;  // at least 1
    double dead_days = 90;
};

struct Events {
    int max_per_tenant = 20;
    bool allow_insecure = false;
    bool allow_private = false;
    std::vector<std::string> allow_cidrs;
    bool check_catalog = true;  // extra_events = false turns it off
    std::vector<ExtraEvent> extra_events;
    bool standard_headers = false;
    bool jitter = false;
    std::string ca_file;  // empty: the system's bundle
    DeliveryPolicy delivery;
    std::optional<Retention> retention = Retention{};  // nullopt: keep everything
};

struct Config {
    std::string listen = "127.0.0.1:8420";
    std::vector<std::string> roles = {"api", "controllers"};
    std::string base_path = "/api/compute";
    bool behind_proxy = false;
    crypto::Secret secret;  // the deployment secret; at least 32 characters once resolved
    std::vector<crypto::Secret> previous_secrets;
    std::string log_level = "info";
    std::string log_format = "text";
    std::string admin_listen;
    Tls tls;
    DatabaseConfig database;
    Limits limits;
    Iam iam;
    Events events;
    double outbox_retention_days = 30;
    std::optional<double> audit_retention_days;
    std::vector<std::string> plugins;
    // Where each value came from, by key ("events.delivery.limit" -> "better-compute.toml:12",
    // "BETTER_COMPUTE_LISTEN", "--listen", "default").
    std::map<std::string, std::string> origins;
};

}  // namespace compute::config
