#include "config/keys.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "config/checks.h"
#include "config/key_builders.h"

namespace compute::config {

namespace {

using build::boolean;
using build::choice;
using build::days;
using build::integer;
using build::text;
using build::text_list;

// Short for the lambda that reaches a member of either a const or a mutable Config.
#define AT(member)              \
    [](auto& config) -> auto& { \
        return config.member;   \
    }

bool is_role(std::string_view role) {
    return role == "api" || role == "controllers";
}
bool is_address(std::string_view value) {
    return find_host_port(value).has_value();
}

std::vector<Key> make_keys() {
    const build::TextRules host_port{
        "HOST:PORT", "must be HOST:PORT, with a port from 0 to 65535", is_address, false};
    const build::TextRules optional_host_port{
        "HOST:PORT", "must be HOST:PORT, with a port from 0 to 65535", is_address, true};
    const build::TextRules path{"a path", "must be a path on one line", nullptr, true};
    std::vector<Key> list;
    list.push_back(
        text("listen", "Where the API listens; port 0 picks a free one.", host_port, AT(listen))
    );
    list.push_back(text_list(
        "roles",
        "What this process does: serve requests, run reconcilers and deliveries, or both.",
        {"api, controllers", "must name api, controllers or both", is_role, 1, 2},
        AT(roles)
    ));
    list.push_back(text(
        "base_path",
        "The path below which the methods lie.",
        {"a path",
         "must be a path such as /api/compute, without a trailing slash",
         is_base_path,
         false},
        AT(base_path)
    ));
    list.push_back(boolean(
        "behind_proxy",
        "A proxy in front ends TLS and adds X-Forwarded-For; its last hop is the source address.",
        AT(behind_proxy)
    ));
    list.push_back(build::secret());
    list.push_back(build::previous_secrets());
    list.push_back(choice(
        "log_level",
        "The least severe line that is logged.",
        {"debug", "info", "warning", "error"},
        AT(log_level)
    ));
    list.push_back(
        choice("log_format", "Lines for people or for machines.", {"text", "json"}, AT(log_format))
    );
    list.push_back(text(
        "admin_listen",
        "A second listener for health and metrics alone.",
        optional_host_port,
        AT(admin_listen)
    ));
    list.push_back(text(
        "tls.cert",
        "PEM file with the certificate and its chain; empty: plain HTTP.",
        path,
        AT(tls.cert)
    ));
    list.push_back(text("tls.key", "PEM file with the private key.", path, AT(tls.key)));
    list.push_back(text(
        "database.url",
        "The database: sqlite:PATH, a path ending in .db, or postgres://...",
        {"sqlite:PATH, PATH.db, postgres://...",
         "must be sqlite:PATH, a path ending in .db, or postgres://...",
         is_database_url,
         false},
        AT(database.url)
    ));
    list.back().get = [](const Config& config) { return Json(mask_password(config.database.url)); };
    list.push_back(choice(
        "database.synchronous",
        "SQLite: full survives power loss, normal may lose the last commits then.",
        {"full", "normal"},
        AT(database.synchronous)
    ));
    list.push_back(integer(
        "database.pool_size",
        "PostgreSQL connections, or SQLite readers.",
        1,
        512,
        AT(database.pool_size)
    ));
    list.push_back(boolean(
        "database.prepared",
        "false behind a transaction pooler: no prepared statements, no LISTEN.",
        AT(database.prepared)
    ));
    list.push_back(integer(
        "limits.connections", "Open connections at most.", 1, 1'000'000, AT(limits.connections)
    ));
    list.push_back(integer(
        "limits.connections_per_address",
        "Open connections of one address at most.",
        1,
        1'000'000,
        AT(limits.connections_per_address)
    ));
    list.push_back(integer(
        "limits.header_bytes",
        "The largest head of a request.",
        1024,
        65536,
        AT(limits.header_bytes)
    ));
    list.push_back(integer(
        "limits.head_timeout_ms",
        "How long a client may take to send a head.",
        100,
        600'000,
        AT(limits.head_timeout_ms)
    ));
    list.push_back(integer(
        "limits.idle_timeout_ms",
        "How long a connection may stay idle.",
        100,
        3'600'000,
        AT(limits.idle_timeout_ms)
    ));
    list.push_back(integer(
        "limits.waiting",
        "Calls that may wait for work to finish at the same time.",
        0,
        100'000,
        AT(limits.waiting)
    ));
    list.push_back(integer(
        "limits.requests_per_second",
        "Requests per second and credential; 0: no limit.",
        0,
        1'000'000,
        AT(limits.requests_per_second)
    ));
    list.push_back(choice(
        "iam.mode",
        "The embedded IAM or a remote Better IAM.",
        {"local", "better-iam"},
        AT(iam.mode)
    ));
    list.push_back(text(
        "iam.resource_prefix",
        "Put before resource types in decisions.",
        {"[a-z][a-z0-9-]{0,31}",
         "must be 1 to 32 of a-z, 0-9 and hyphen, a letter first",
         is_resource_prefix,
         false},
        AT(iam.resource_prefix)
    ));
    list.push_back(text(
        "iam.root_tenant",
        "The tenant that may act in all others.",
        {"a tenant id", "must be 1 to 128 of A-Z, a-z, 0-9 and ._:-", is_tenant_id, false},
        AT(iam.root_tenant)
    ));
    list.push_back(integer(
        "iam.auth_cache_ms",
        "How long an authentication is remembered; may only be shortened.",
        0,
        30'000,
        AT(iam.auth_cache_ms)
    ));
    list.push_back(integer(
        "iam.read_cache_ms",
        "How long an allowed read is remembered; may only be shortened.",
        0,
        10'000,
        AT(iam.read_cache_ms)
    ));
    list.push_back(text(
        "iam.better_iam.url",
        "The remote IAM's base address.",
        {"http(s)://...",
         "must be an http or https address without a user name",
         is_http_url,
         true},
        AT(iam.better_iam.url)
    ));
    list.push_back(text(
        "iam.better_iam.service_key_file",
        "File with the deployment's own service key.",
        path,
        AT(iam.better_iam.service_key_file)
    ));
    list.push_back(integer(
        "iam.better_iam.connect_ms",
        "How long connecting to the remote IAM may take.",
        1,
        60'000,
        AT(iam.better_iam.connect_ms)
    ));
    list.push_back(integer(
        "iam.better_iam.total_ms",
        "How long one question to the remote IAM may take.",
        1,
        60'000,
        AT(iam.better_iam.total_ms)
    ));
    list.push_back(integer(
        "events.max_per_tenant",
        "Webhooks of one tenant at most.",
        1,
        100'000,
        AT(events.max_per_tenant)
    ));
    list.push_back(boolean(
        "events.allow_insecure", "Permits http: receivers (development).", AT(events.allow_insecure)
    ));
    list.push_back(boolean(
        "events.allow_private",
        "Permits private and loopback receivers (development).",
        AT(events.allow_private)
    ));
    list.push_back(text_list(
        "events.allow_cidrs",
        "Non-public networks that receivers may lie in.",
        {"networks such as 10.1.0.0/16",
         "must be a list of different networks such as 10.1.0.0/16, host bits zero",
         is_cidr,
         0,
         1000},
        AT(events.allow_cidrs)
    ));
    list.push_back(build::extra_events());
    list.push_back(boolean(
        "events.standard_headers",
        "Also sends the Standard Webhooks header set.",
        AT(events.standard_headers)
    ));
    list.push_back(boolean(
        "events.jitter", "Lengthens retry delays at random by up to a tenth.", AT(events.jitter)
    ));
    list.push_back(text(
        "events.ca_file",
        "PEM file of the authorities receivers are verified by; empty: the system's.",
        path,
        AT(events.ca_file)
    ));
    list.push_back(integer(
        "events.delivery.max_attempts",
        "Attempts before a delivery is dead.",
        1,
        100,
        AT(events.delivery.max_attempts)
    ));
    list.push_back(build::backoff_seconds());
    list.push_back(integer(
        "events.delivery.timeout_ms",
        "How long one attempt may take.",
        1,
        300'000,
        AT(events.delivery.timeout_ms)
    ));
    list.push_back(integer(
        "events.delivery.limit",
        "Deliveries claimed by one pass.",
        1,
        1000,
        AT(events.delivery.limit)
    ));
    list.push_back(build::retention());
    list.push_back(build::retention_days(
        "events.retention.delivered_days",
        "Days from queueing after which delivered and cancelled deliveries are deleted.",
        &Retention::delivered_days
    ));
    list.push_back(build::retention_days(
        "events.retention.dead_days",
        "Days from queueing after which dead deliveries are deleted.",
        &Retention::dead_days
    ));
    list.push_back(days(
        "outbox.retention_days",
        "Days an event is kept once every reader has passed it.",
        [](Config& config, double value) { config.outbox_retention_days = value; },
        [](const Config& config) { return Json(config.outbox_retention_days); }
    ));
    list.push_back(days(
        "audit.retention_days",
        "Days an audit row is kept; absent: for ever.",
        [](Config& config, double value) { config.audit_retention_days = value; },
        [](const Config& config) {
            return config.audit_retention_days ? Json(*config.audit_retention_days) : Json();
        }
    ));
    list.push_back(build::plugins());
    return list;
}

#undef AT

}  // namespace

const std::vector<Key>& keys() {
    static const std::vector<Key> kKeys = make_keys();
    return kKeys;
}

const Key* find_key(std::string_view name) {
    const auto found = std::find_if(keys().begin(), keys().end(), [&](const Key& key) {
        return key.name == name;
    });
    return found == keys().end() ? nullptr : &*found;
}

}  // namespace compute::config
