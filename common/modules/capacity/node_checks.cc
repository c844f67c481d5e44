#include "modules/capacity/node_checks.h"

#include <nlohmann/json.hpp>

#include "modules/capacity/node_watch.h"

namespace compute::capacity {
namespace {

constexpr std::int64_t kNamedNodes = 20;

// Across tenants: doctor looks at the whole deployment.
constexpr store::Sql kSkewed(
    "select id, name, tenant_id, clock_skew_ms from nodes where removed_at is null and "
    "abs(clock_skew_ms) > $1 order by abs(clock_skew_ms) desc limit $2"
);
constexpr store::Sql kCountSkewed(
    "select count(*) from nodes where removed_at is null and abs(clock_skew_ms) > $1"
);
constexpr store::Sql kSilent(
    "select id, name, tenant_id, connection from nodes where removed_at is null and connection in "
    "('disconnected', 'lost') order by connection_since limit $1"
);
constexpr store::Sql kCountSilent(
    "select count(*) from nodes where removed_at is null and connection in ('disconnected', "
    "'lost')"
);
constexpr store::Sql kBadGpus(
    "select g.node_id, n.name, g.tenant_id, g.uuid, g.health from node_gpus g join nodes n on n.id "
    "= g.node_id where g.health <> 'healthy' order by g.health_since limit $1"
);
constexpr store::Sql kCountByConnection(
    "select connection, count(*) from nodes where removed_at is null group by connection"
);
constexpr store::Sql kCountBadGpus("select count(*) from node_gpus where health <> 'healthy'");

std::vector<method::Finding> check_skew(method::CheckContext& context) {
    const store::Rows rows = context.database.query(kSkewed, {kMaxSkewMs, kNamedNodes});
    if (rows.empty()) {
        return {};
    }
    Json nodes = Json::array();
    for (const store::Row& row : rows) {
        nodes.push_back(
            {{"nodeId", row.get_text(0)},
             {"name", row.get_text(1)},
             {"tenantId", row.get_text(2)},
             {"skewMs", row.get_int(3)}}
        );
    }
    return {
        {.check = "capacity.node-clock-skew",
         .severity = method::Severity::Warning,
         .message = "clocks of nodes differ from the server's by more than 2 s, first " +
                    rows.front().get_text(1),
         .fix = "synchronize the clocks of these machines (chrony, systemd-timesyncd)",
         .count = context.database.query(kCountSkewed, {kMaxSkewMs}).front().get_int(0),
         .details = std::make_shared<const Json>(Json{{"nodes", std::move(nodes)}})}};
}

std::vector<method::Finding> check_silent(method::CheckContext& context) {
    const store::Rows rows = context.database.query(kSilent, {kNamedNodes});
    if (rows.empty()) {
        return {};
    }
    Json nodes = Json::array();
    for (const store::Row& row : rows) {
        nodes.push_back(
            {{"nodeId", row.get_text(0)},
             {"name", row.get_text(1)},
             {"tenantId", row.get_text(2)},
             {"connection", row.get_text(3)}}
        );
    }
    return {
        {.check = "capacity.nodes-silent",
         .severity = method::Severity::Warning,
         .message = "nodes are disconnected or lost, the longest is " + rows.front().get_text(1),
         .fix = "look at the machine and its agent; nodes.remove takes away what will not return",
         .count = context.database.query(kCountSilent).front().get_int(0),
         .details = std::make_shared<const Json>(Json{{"nodes", std::move(nodes)}})}};
}

std::vector<method::Finding> check_gpus(method::CheckContext& context) {
    const store::Rows rows = context.database.query(kBadGpus, {kNamedNodes});
    if (rows.empty()) {
        return {};
    }
    Json gpus = Json::array();
    for (const store::Row& row : rows) {
        gpus.push_back(
            {{"nodeId", row.get_text(0)},
             {"name", row.get_text(1)},
             {"tenantId", row.get_text(2)},
             {"gpu", row.get_text(3)},
             {"health", row.get_text(4)}}
        );
    }
    return {
        {.check = "capacity.gpus-unhealthy",
         .severity = method::Severity::Warning,
         .message =
             "GPUs are missing, failed or degraded, the first on node " + rows.front().get_text(1),
         .fix = "repair them, then nodes.resetGpu with clear-health, or accept-missing",
         .count = context.database.query(kCountBadGpus).front().get_int(0),
         .details = std::make_shared<const Json>(Json{{"gpus", std::move(gpus)}})}};
}

}  // namespace

std::vector<method::Check> node_checks() {
    return {
        {"capacity.node-clock-skew", check_skew},
        {"capacity.nodes-silent", check_silent},
        {"capacity.gpus-unhealthy", check_gpus},
    };
}

std::vector<method::Gauge> node_gauges() {
    method::Gauge nodes;
    nodes.name = "better_compute_nodes";
    nodes.help = "Nodes, by what is heard of their agents.";
    nodes.collect = [](const method::Runtime& runtime) {
        std::vector<std::pair<std::map<std::string, std::string>, double>> samples;
        for (const store::Row& row :
             runtime.database.query(kCountByConnection, {}, store::Purpose::Background)) {
            samples.push_back(
                {{{"connection", row.get_text(0)}}, static_cast<double>(row.get_int(1))}
            );
        }
        return samples;
    };
    return {nodes};
}

}  // namespace compute::capacity
