// A plugin to measure with: the plainest mutation there is. `entries/create` writes one row, and
// the envelope around it writes the audit row and the event in the same transaction: the three
// inserts that the peers in bench/peers make.
#include <string>

#include <nlohmann/json.hpp>

#include "core/json.h"
#include "method/plugin.h"

namespace {

using compute::Json;
using compute::TenantId;
using compute::method::Context;
using compute::method::Kind;
using compute::method::Method;
using compute::method::Module;
using compute::method::Resource;
namespace schema = compute::schema;

struct EntryInput {
    TenantId tenant_id;
    std::string name;
    std::string type;
    Json data;
};

schema::Manifest<EntryInput> entry_input() {
    return schema::Manifest<EntryInput>()
        .required("tenantId", &EntryInput::tenant_id, schema::tenant_id())
        .required("id", &EntryInput::name, schema::string({.pattern = "", .max_length = 64}))
        .required("type", &EntryInput::type, schema::string({.pattern = "", .max_length = 64}))
        .required("data", &EntryInput::data, schema::any_object());
}

Json create(Context& context, EntryInput& input) {
    auto& tx = context.transaction();
    const std::string id = context.new_id("ent_");
    const Json body{{"id", input.name}, {"type", input.type}, {"data", input.data}};
    tx.defer(
        "insert into bench_entries (id, tenant_id, name, body, created_at) values ($1, $2, $3, $4, "
        "$5)",
        {id, input.tenant_id, input.name, compute::dump_json(body), context.now()}
    );
    context.publish(
        tx,
        {"bench.entry.created", input.tenant_id, "entry/" + id, std::make_shared<const Json>(body)}
    );
    return {{"id", id}, {"status", "ok"}};
}

constexpr const char* kMigration =
    "create table bench_entries (id text primary key not null, tenant_id text not null, name text "
    "not null, body text not null, "
    "created_at bigint not null)";

Module bench() {
    Method<EntryInput> method;
    method.action = "compute:bench:create";
    method.kind = Kind::Mutation;
    method.resource = [](const EntryInput& input) {
        return Resource::tenant(input.tenant_id.str());
    };
    method.input(entry_input());
    method.handler = create;
    Module module;
    module.methods = {
        {"entries", "create", compute::method::define_method(std::move(method)), std::nullopt}};
    module.migrations = {{"bench/0001_entries", kMigration, kMigration}};
    module.event_families = {
        {"bench.entry", "entry/{id}", "bench", "measured entries", {"bench.entry.created"}}};
    return module;
}

}  // namespace

COMPUTE_PLUGIN("bench", bench)
