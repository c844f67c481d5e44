#include "modules/capacity/node_admission.h"

#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

#include "core/fail_point.h"
#include "core/json.h"
#include "iam/local/token.h"
#include "modules/capacity/name_list.h"
#include "modules/capacity/node_gpu_set.h"
#include "modules/capacity/node_shape.h"
#include "modules/capacity/node_tokens.h"
#include "modules/capacity/node_view.h"

namespace compute::capacity {
namespace {

using agent_protocol::Hello;

constexpr const char* kCredentialKind = "node";
constexpr std::int64_t kMsPerSecond = 1000;

// Held until the commit, so that the pool is neither deleted nor given other groups meanwhile.
constexpr store::Sql kHoldPool(
    "select id from pools where tenant_id = $1 and id = $2 and deleted_at is null",
    "select id from pools where tenant_id = $1 and id = $2 and deleted_at is null for share"
);

ComputeError unauthenticated(std::string message) {
    return {ErrorCode::Unauthenticated, std::move(message)};
}

// What is computed before the transaction, off the writer's thread.
struct Ready {
    const Hello& hello;
    const std::string& process;
    std::string inventory_hash;
    crypto::Secret new_credential;
    std::string new_credential_hash;
    EpochMs now = 0;
};

struct Declared {
    Pool pool;
    std::optional<DeclaredShape> shape;
};

Declared check_declared(
    store::Transaction& tx,
    const TenantId& tenant,
    const PoolId& pool_id,
    const std::string& name,
    const Hello& hello,
    GpuCount count
) {
    if (!tx.find_row(kHoldPool, {tenant, pool_id})) {
        throw ComputeError(ErrorCode::InvalidState, "the pool has been deleted");
    }
    Declared declared{get_pool(tx, tenant, pool_id, Reach::Own), std::nullopt};
    declared.shape = find_declared(tx, tenant, pool_id, name);
    if (!declared.shape) {
        if (has_declared(tx, tenant, pool_id)) {
            throw ComputeError(
                ErrorCode::InvalidState,
                "name: " + name + " is not declared in the node groups of the pool"
            );
        }
        return declared;
    }
    const auto lines = differences(*declared.shape, hello.inventory, count);
    if (!lines.empty()) {
        std::string text = "inventory: differs from what the pool declares";
        for (const std::string& line : lines) {
            text += "; " + line;
        }
        throw ComputeError(ErrorCode::InvalidState, text, Json{{"differences", lines}});
    }
    return declared;
}

Admitted admitted_of(Node node, std::vector<NodeGpu> gpus, const Pool& pool) {
    Admitted admitted;
    admitted.disconnected_after_ms = pool.settings.disconnected_after_seconds * kMsPerSecond;
    admitted.lost_after_ms = pool.settings.lost_after_seconds * kMsPerSecond;
    admitted.node = std::move(node);
    admitted.gpus = std::move(gpus);
    return admitted;
}

// Takes over what the hello says about a node that is known, and makes it ready.
Admitted come_back(
    const method::Context& context,
    store::Transaction& tx,
    Node node,
    const Declared& declared,
    const Ready& ready
) {
    const Hello& hello = ready.hello;
    const std::string before = std::exchange(node.connection, "ready");
    const EpochMs since = node.connection_since;
    if (before != "ready") {
        node.connection_since = ready.now;
    }
    std::string held_by = std::exchange(node.connected_to, ready.process);
    ++node.epoch;
    node.boot_id = hello.boot_id;
    node.inventory_hash = ready.inventory_hash;
    node.driver = hello.inventory.driver;
    node.abilities = dump_json(hello.can.json());
    node.fence_ms = declared.pool.settings.lost_after_seconds * kMsPerSecond - kFenceMarginMs;
    node.updated_at = ready.now;
    if (!declared.shape) {
        // Never less than what may be booked already.
        node.cpu_milli = std::max(node.cpu_milli, hello.inventory.cpu_milli);
        node.memory_mib = std::max(node.memory_mib, hello.inventory.memory_mib);
    }
    std::vector<NodeGpu> gpus =
        take_inventory(tx, node, declared.shape, hello.inventory, ready.now);
    if (!update_node(tx, node)) {
        throw ComputeError(
            ErrorCode::Conflict,
            "the node has changed meanwhile",
            Json{{"reason", "concurrent-change"}}
        );
    }
    ++node.version;
    if (before != "ready") {
        publish_node(
            context,
            tx,
            node,
            {before == "lost" ? "node.ready" : "node.reconnected", std::nullopt, ready.now - since}
        );
    }
    Admitted admitted = admitted_of(std::move(node), std::move(gpus), declared.pool);
    admitted.held_by = std::move(held_by);
    return admitted;
}

Admitted join(
    const method::Context& context,
    store::Transaction& tx,
    const NodeToken& token,
    const Declared& declared,
    const Ready& ready
) {
    const Hello& hello = ready.hello;
    Node node;
    node.id = NodeId(context.new_id(kNodePrefix));
    node.tenant_id = token.tenant_id;
    node.pool_id = token.pool_id;
    node.name = *hello.name;
    node.connection_since = node.created_at = node.updated_at = ready.now;
    node.cpu_milli = hello.inventory.cpu_milli;
    node.memory_mib = hello.inventory.memory_mib;
    if (const auto& shape = declared.shape) {
        node.memory_mib = std::min(node.memory_mib, shape->memory_mib);
        node.fabric = shape->fabric;
        node.labels =
            declared.pool.settings.node_groups.at(static_cast<std::size_t>(shape->group_index))
                .labels;
    }
    node.expected_gpus = static_cast<std::int64_t>(hello.inventory.gpus.size());
    node.machine_id = hello.machine_id;
    node.boot_id = hello.boot_id;
    node.credential_hash = ready.new_credential_hash;
    node.token_id = token.id;
    node.connected_to = ready.process;
    node.inventory_hash = ready.inventory_hash;
    node.driver = hello.inventory.driver;
    node.abilities = dump_json(hello.can.json());
    node.fence_ms = declared.pool.settings.lost_after_seconds * kMsPerSecond - kFenceMarginMs;
    if (!insert_node(tx, node)) {
        throw ComputeError(
            ErrorCode::Conflict,
            "the same node has just joined",
            Json{{"reason", "concurrent-change"}}
        );
    }
    std::vector<NodeGpu> gpus = first_inventory(declared.shape, hello.inventory, ready.now);
    insert_gpus(tx, node.tenant_id, node.id, gpus);
    set_joined(tx, node.tenant_id, node.pool_id, node.name, node.id.str());
    project_node(context, tx, node);
    publish_node(context, tx, node, {"node.registered", std::nullopt, 0});
    publish_node(context, tx, node, {"node.ready", std::nullopt, 0});
    return admitted_of(std::move(node), std::move(gpus), declared.pool);
}

void take_use(store::Transaction& tx, const NodeToken& token, EpochMs now) {
    if (!take_node_token(tx, token, now)) {
        throw unauthenticated(
            token.expires_at <= now ? "token: has expired" : "token: has been used up"
        );
    }
}

Admitted enrol(
    const method::Context& context,
    store::Transaction& tx,
    const NodeToken& token,
    const Ready& ready
) {
    const Hello& hello = ready.hello;
    auto known = find_node_by_name(tx, token.tenant_id, token.pool_id, *hello.name);
    if (known && known->machine_id != hello.machine_id) {
        throw ComputeError(
            ErrorCode::Conflict,
            "name: is taken by a node on another machine; remove that node first",
            Json{{"reason", "name-taken"}, {"nodeId", known->id.str()}}
        );
    }
    const Declared declared = check_declared(
        tx,
        token.tenant_id,
        token.pool_id,
        *hello.name,
        hello,
        known ? GpuCount::FewerToo : GpuCount::Exact
    );
    const bool is_repeated = known && known->token_id == token.id;
    if (!is_repeated) {
        take_use(tx, token, ready.now);
    }
    Admitted admitted;
    if (known) {
        known->credential_hash = ready.new_credential_hash;
        known->token_id = token.id;
        admitted = come_back(context, tx, *std::move(known), declared, ready);
    } else {
        admitted = join(context, tx, token, declared, ready);
    }
    admitted.credential = ready.new_credential;
    return admitted;
}

Admitted resume(const method::Context& context, store::Transaction& tx, const Ready& ready) {
    const Hello& hello = ready.hello;
    const std::string hash = iam::local::token_hash(*hello.credential);
    auto node = find_node_to_change(tx, NodeId(*hello.node_id));
    // The same words for a node that is not there, so that ids cannot be probed.
    if (!node || !crypto::equal_constant_time(node->credential_hash, hash)) {
        throw unauthenticated("credential: is not valid for this node");
    }
    if (node->machine_id != hello.machine_id) {
        throw ComputeError(
            ErrorCode::Conflict,
            "machineId: the credential belongs to another machine",
            Json{{"reason", "other-machine"}}
        );
    }
    node->token_id.reset();  // it has the credential
    const Declared declared =
        check_declared(tx, node->tenant_id, node->pool_id, node->name, hello, GpuCount::FewerToo);
    return come_back(context, tx, *std::move(node), declared, ready);
}

// The names are expanded outside the transaction that joins: they never change, and many nodes join
// with one token at once.
NodeToken get_token(const method::Runtime& runtime, const Hello& hello, EpochMs now) {
    if (!iam::local::is_well_formed(*hello.token)) {
        throw unauthenticated("token: is not valid");
    }
    const std::string hash = iam::local::token_hash(*hello.token);
    const auto token =
        runtime.database.read([&](store::Transaction& tx) { return find_node_token(tx, hash); });
    if (!token || !crypto::equal_constant_time(token->token_hash, hash)) {
        throw unauthenticated("token: is not valid");
    }
    if (token->expires_at <= now) {
        throw unauthenticated("token: has expired");
    }
    if (token->names) {
        const auto names = expand_names(*token->names, "names");
        if (std::find(names.begin(), names.end(), *hello.name) == names.end()) {
            throw invalid_input("name: is not among those the token may enrol");
        }
    }
    return *token;
}

}  // namespace

Admitted admit_agent(
    const method::Runtime& runtime, const Hello& hello, const std::string& process
) {
    Ready ready{
        hello,
        process,
        agent_protocol::inventory_hash(hello.inventory.gpus),
        {},
        {},
        runtime.clock.now_ms()};
    std::optional<NodeToken> token;
    if (hello.token) {
        token = get_token(runtime, hello, ready.now);
        ready.new_credential = iam::local::make_token(kCredentialKind, runtime.rng);
        ready.new_credential_hash = iam::local::token_hash(ready.new_credential);
    } else if (!iam::local::is_well_formed(*hello.credential)) {
        throw unauthenticated("credential: is not valid for this node");
    }
    const method::Context context(runtime);
    Admitted admitted = runtime.database.write([&](store::Transaction& tx) {
        Admitted result = token ? enrol(context, tx, *token, ready) : resume(context, tx, ready);
        fail_point("capacity.node-admitted.uncommitted");
        return result;
    });
    fail_point("capacity.node-admitted.committed");
    return admitted;
}

}  // namespace compute::capacity
