#include <nlohmann/json.hpp>

#include "iam/local/token.h"
#include "modules/capacity/methods.h"
#include "modules/capacity/name_list.h"
#include "modules/capacity/node_tokens.h"
#include "modules/capacity/pool_fields.h"

namespace compute::capacity {
namespace {

constexpr const char* kTokenKind = "enroll";
constexpr std::int64_t kMsPerSecond = 1000;

struct CreateTokenInput {
    TenantId tenant_id;
    PoolId pool_id;
    std::int64_t ttl_seconds = 3600;
    std::int64_t max_uses = 1;
    std::optional<std::string> names;
};

schema::Manifest<CreateTokenInput> create_token_manifest() {
    schema::Manifest<CreateTokenInput> manifest;
    manifest.required("tenantId", &CreateTokenInput::tenant_id, schema::tenant_id())
        .required("poolId", &CreateTokenInput::pool_id, pool_id_shape())
        .defaulted(
            "ttlSeconds",
            &CreateTokenInput::ttl_seconds,
            schema::integer({.min = 60, .max = 604'800}),
            "default 3600"
        )
        .defaulted(
            "maxUses",
            &CreateTokenInput::max_uses,
            schema::integer({.min = 1, .max = 10'000}),
            "how many nodes may join with it; default 1"
        )
        .optional(
            "names",
            &CreateTokenInput::names,
            schema::string({.pattern = {}, .min_length = 1, .max_length = kMaxNameListLength}),
            "a bracket list of the names that may join; default any"
        );
    return manifest;
}

// A repeated call makes another token; one whose answer was lost ends with its ttl, unused.
Json handle(method::Context& context, CreateTokenInput& input) {
    store::Transaction& tx = context.transaction();
    const Pool pool = get_pool(tx, input.tenant_id, input.pool_id, Reach::Own);
    const crypto::Secret secret = iam::local::make_token(kTokenKind, context.runtime->rng);
    const EpochMs now = context.now();
    const NodeToken token{
        .id = context.new_id(kNodeTokenPrefix),
        .tenant_id = pool.tenant_id,
        .pool_id = pool.id,
        .token_hash = iam::local::token_hash(secret),
        .names = input.names,
        .max_uses = input.max_uses,
        .uses = 0,
        .expires_at = now + input.ttl_seconds * kMsPerSecond,
        .created_by = context.caller->identity_id.str(),
        .created_at = now};
    insert_node_token(tx, token);
    Json answer{
        {"id", token.id},
        {"poolId", token.pool_id.str()},
        {"token", std::string(secret.reveal())},
        {"maxUses", token.max_uses},
        {"expiresAt", token.expires_at}};
    if (token.names) {
        answer["names"] = *token.names;
    }
    return answer;
}

}  // namespace

method::MethodEntry nodes_create_token() {
    method::Method<CreateTokenInput> create;
    create.action = "compute:nodes:enroll";
    create.kind = method::Kind::Mutation;
    create.resource = [](const CreateTokenInput& input) {
        return method::Resource{kPoolType, input.pool_id.str(), std::nullopt};
    };
    create.input(create_token_manifest());
    create.validate = [parse = std::move(create.validate)](const Json& raw) {
        CreateTokenInput input = parse(raw);
        if (input.names) {
            input.names = canonical_names(*input.names, "names");
        }
        return input;
    };
    create.handler = handle;
    return {
        "nodes",
        "createToken",
        method::define_method(std::move(create)),
        method::MethodRow{
            .action = "compute:nodes:enroll",
            .resource_type = kPoolType,
            .alternatives = {},
            .phase = 2,
            // No sample of the schema is a list of names.
            .probe = std::make_shared<const Json>(Json{
                {"tenantId", "acme"}, {"poolId", "pool_00000000000000000000000000"}})}};
}

}  // namespace compute::capacity
