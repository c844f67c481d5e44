// What the rows about methods are tried on: a module `lab` whose methods each test states itself,
// and `claims`, an admission of the same shape as reservations.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "method/module.h"

#include "tests/support/test_plane.h"

namespace compute::contract {

using method::Context;
using method::Kind;
using method::Method;
using method::MethodEntry;
using method::Module;
using method::Prepared;
using method::Resource;
using support::TestPlane;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

// The input of most test methods.
struct Plain {
    std::optional<std::string> tenant_id;
    std::optional<std::string> id;
    std::optional<std::int64_t> count;
    std::optional<std::string> text;
    std::optional<std::string> key;
    std::optional<Json> wait;
};

// {tenantId?, id?, count?, text?, idempotencyKey?, wait?}; all optional, so that a test sends what
// it is about.
[[nodiscard]] schema::Manifest<Plain> plain_manifest();

// A method with everything required: decided as `action` on {thing, id or "t-1"}, answering {ok:
// true}.
[[nodiscard]] Method<Plain> plain(Kind kind, std::string action = "compute:lab:poke");

[[nodiscard]] inline MethodEntry entry(
    std::string group, std::string name, method::MethodDefinition definition
) {
    return {
        .group = std::move(group),
        .name = std::move(name),
        .definition = std::move(definition),
        .row = std::nullopt};
}
template <class I>
[[nodiscard]] MethodEntry entry(std::string group, std::string name, Method<I> typed) {
    return entry(std::move(group), std::move(name), method::define_method(std::move(typed)));
}

// Modules that declare the resource types thing, node, pool, template and claim.
[[nodiscard]] Module lab(std::vector<MethodEntry> methods);
[[nodiscard]] Module plugin(
    std::string id, std::vector<MethodEntry> methods, std::vector<std::string> types = {}
);

// A plane with the tables of the test methods: lab_rows (id, note) and lab_claims.
class LabPlane : public TestPlane {
public:
    explicit LabPlane(
        store::Engine engine, std::vector<Module> modules = {}, config::Config config = {}
    );
    ~LabPlane();

    [[nodiscard]] std::int64_t rows();
    [[nodiscard]] std::string claim_state(const std::string& id);
    [[nodiscard]] std::int64_t claims();
    [[nodiscard]] std::int64_t made();  // how often a claim was made real
    [[nodiscard]] std::int64_t count_of(const std::string& sql);
};

// Inserts a row into lab_rows.
void insert_row(store::Transaction& tx, const std::string& id, const std::string& note = "");

// A request that may take an admission: GPUs for a time.
struct Claim {
    std::string tenant_id;
    std::string key;
    std::int64_t gpu_count = 1;
    std::int64_t duration_seconds = 60;
    std::optional<Json> wait;
    std::vector<std::string> notes;  // what `check` leaves for the handler
};

// What a test watches or changes of claims.create.
struct ClaimHooks {
    std::function<void(Context&, Claim&)> in_prepare = {};
    std::function<void(Context&, Claim&, const Resource&)> check = {};
    std::function<void(Context&, Claim&)> in_handler = {};
    std::function<void(Context&)> in_denied = {};
    std::function<void(Context&, const std::exception&)> in_abandoned = {};
    bool has_denied = true;
    bool has_abandoned = true;
    bool starts_running =
        false;  // operation.state is running until lab_claims.operation says otherwise
};

// claims/create: draft, decision on {claim, draft id} with gpuCount and durationSeconds, then
// active. Answers {id, tenantId, state, gpuCount, operation:{state}}.
[[nodiscard]] Method<Claim> claim_method(ClaimHooks hooks = {});
[[nodiscard]] Module claims(ClaimHooks hooks = {});

[[nodiscard]] inline Json claim_input(
    const std::string& tenant, const std::string& key, std::int64_t gpus = 1
) {
    return Json{{"tenantId", tenant}, {"idempotencyKey", key}, {"gpuCount", gpus}};
}

// The id of the draft that admin_of(tenant) makes under `key`.
[[nodiscard]] std::string claim_id(
    const std::string& tenant, const std::string& key, const std::string& credential = {}
);

class Contract : public testing::TestWithParam<store::Engine> {};

// gtest wants the suite's name where it is instantiated; each file does so for its own.
#define COMPUTE_BOTH_ENGINES(Suite)                                                         \
    INSTANTIATE_TEST_SUITE_P(                                                               \
        Engines, Suite, ::compute::support::both_engines(), ::compute::support::engine_name \
    )

}  // namespace compute::contract
