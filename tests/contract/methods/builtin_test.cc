// Rows about every built-in method: M41, M64, M65, M113.
#include "daemon/modules.h"

#include "tests/contract/methods/lab.h"
#include "tests/contract/methods/schema_probes.h"

namespace compute::contract {
namespace {

method::Registry built_in_registry() {
    config::Config config;
    config.secret = crypto::Secret("a-deployment-secret-for-tests-0001");
    method::Registry registry;
    for (const Module& module : daemon::built_in_modules(config)) {
        registry.add(module);
    }
    return registry;
}

TEST(BuiltIn, M41_EveryMethodDecidesOnWhatItsRowSays) {
    const auto registry = built_in_registry();

    EXPECT_NO_THROW(registry.initialize());
    for (const auto& [path, method] : registry.methods()) {
        EXPECT_TRUE(method.row.has_value() || method.definition.kind == Kind::Public) << path;
    }
}

TEST(BuiltIn, M64_EveryMethodCarriesASchema) {
    const auto registry = built_in_registry();

    EXPECT_FALSE(registry.methods().empty());
    for (const auto& [path, method] : registry.methods()) {
        EXPECT_NE(method.definition.json_schema, nullptr) << path;
    }
}

TEST(BuiltIn, M65_SchemaAndValidatorOfEveryMethodAgree) {
    const auto registry = built_in_registry();

    for (const auto& [path, method] : registry.methods()) {
        const Json& schema = *method.definition.json_schema;
        const auto good = find_good_input(method.definition);
        ASSERT_TRUE(good.has_value()) << path;
        EXPECT_THAT(schema::structural_issues(schema, *good), IsEmpty()) << path;
        for (const Json& broken : broken_inputs(schema, *good)) {
            EXPECT_FALSE(accepts(method.definition, broken)) << path << " " << broken.dump();
            EXPECT_FALSE(schema::structural_issues(schema, broken).empty())
                << path << " " << broken.dump();
        }
    }
}

TEST(BuiltIn, M113_OnlyTheQueuedCreatesWait) {
    const auto registry = built_in_registry();

    for (const auto& [path, method] : registry.methods()) {
        const bool may_wait = path == "reservations/create" || path == "instances/create";
        EXPECT_EQ(method.definition.poll.has_value(), may_wait) << path;
    }
}

}  // namespace
}  // namespace compute::contract
