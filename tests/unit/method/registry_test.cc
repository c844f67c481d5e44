#include "method/registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "method/probe.h"

#include "tests/unit/method/definitions.h"

namespace compute::method {
namespace {

using ::testing::HasSubstr;

// What adding `modules` and the probes of the start refuse; empty when they take all.
std::string refusal(const std::vector<Module>& modules) {
    Registry registry;
    try {
        for (const Module& module : modules) {
            registry.add(module);
        }
        registry.initialize();
    } catch (const ComputeError& error) {
        EXPECT_EQ(error.code(), ErrorCode::InvalidConfig);
        return error.message();
    }
    return "";
}

std::string refusal(Method<Nothing> method, std::optional<MethodRow> row = {}) {
    return refusal({module_of({entry_of(std::move(method), std::move(row))})});
}

const std::string kRead = "compute:pools:read";

TEST(Registry, AModulesIdIsAWordOfItsOwn) {
    for (const char* bad : {"", "Lab", "1lab", "la_b", "lab\n", "lab/x"}) {
        Module module;
        module.id = bad;
        EXPECT_THAT(refusal({module}), HasSubstr("id: must match")) << bad;
    }
    EXPECT_THAT(refusal({module_of({}), module_of({})}), HasSubstr("there are two of this name"));
}

TEST(Registry, GroupAndNameAreWordsOfARoute) {
    for (const char* bad : {"", "Pools", "pools/x", "pools.x", "po ols", "pools\n"}) {
        MethodEntry in_group = entry_of(deciding(kRead, "pool"));
        in_group.group = bad;
        MethodEntry by_name = entry_of(deciding(kRead, "pool"));
        by_name.name = bad;

        EXPECT_THAT(refusal({module_of({in_group})}), HasSubstr("group: ")) << bad;
        EXPECT_THAT(refusal({module_of({by_name})}), HasSubstr("name: ")) << bad;
    }
}

TEST(Registry, AResourceTypeIsAWordAndHasOneOwner) {
    Module bad = module_of({});
    bad.resource_types = {"Pool"};
    EXPECT_THAT(refusal({bad}), HasSubstr("resource type Pool: must match"));

    Module second = module_of({});
    second.id = "other";
    EXPECT_THAT(refusal({module_of({}), second}), HasSubstr("resource type pool: is declared"));

    Registry registry;
    registry.add(module_of({}));
    for (const char* type : {"tenant", "fleet", "pool", "node"}) {
        EXPECT_TRUE(registry.has_resource_type(type)) << type;
    }
    EXPECT_FALSE(registry.has_resource_type("compute-pool"));
}

TEST(Registry, WhatIsPlannedIsNotServedToo) {
    Module plans = module_of({});
    plans.planned = {{"pools/get", Kind::Read, row_of(kRead, "pool")}};
    Module serves;
    serves.id = "other";
    serves.methods = {entry_of(deciding(kRead, "pool"))};

    EXPECT_THAT(refusal({plans, serves}), HasSubstr("pools/get: status: is planned and served"));
    EXPECT_THAT(refusal({serves, plans}), HasSubstr("pools/get: status: is planned and served"));

    Registry registry;
    registry.add(plans);
    EXPECT_EQ(registry.find("pools/get"), nullptr);
    EXPECT_EQ(registry.planned().size(), 1U);
}

TEST(Registry, APluginsMethodHasNoRow) {
    Module plugin;
    plugin.id = "acme";
    plugin.is_plugin = true;
    plugin.methods = {
        entry_of(deciding("compute:acme:poke", "tenant"), row_of("compute:acme:poke", "tenant"))};

    EXPECT_THAT(refusal({plugin}), HasSubstr("plugins/acme/pools/get: row: "));
}

TEST(Registry, ARowNamesTypesThatSomebodyDeclares) {
    MethodRow with_alternative = row_of(kRead, "pool");
    with_alternative.alternatives = {{"compute:nodes:read", "gadget"}};

    EXPECT_THAT(
        refusal(deciding(kRead, "widget"), row_of(kRead, "widget")),
        HasSubstr("resource type widget")
    );
    EXPECT_THAT(
        refusal(deciding(kRead, "pool"), with_alternative), HasSubstr("resource type gadget")
    );
}

TEST(Probe, ARowListsItsOwnPairAndItsAlternatives) {
    MethodRow row = row_of("compute:tunnels:open", "instance");
    row.alternatives = {{"compute:nodes:console", "node"}};

    EXPECT_TRUE(row_lists(row, "compute:tunnels:open", "instance"));
    EXPECT_TRUE(row_lists(row, "compute:nodes:console", "node"));
    EXPECT_FALSE(row_lists(row, "compute:nodes:console", "instance"));
    EXPECT_FALSE(row_lists(row, "compute:tunnels:open", "node"));
}

TEST(Probe, AMethodThatDecidesAsItsRowSaysStarts) {
    EXPECT_EQ(refusal(deciding(kRead, "pool"), row_of(kRead, "pool")), "");
}

TEST(Probe, AnotherActionOnTheRowsTypeIsRefused) {
    Method<Nothing> method = deciding(kRead, "pool");
    method.resource = [](const Nothing&) -> std::optional<Resource> {
        return Resource{"pool", "x-1", "compute:pools:delete"};
    };

    EXPECT_THAT(
        refusal(method, row_of(kRead, "pool")), HasSubstr("decides compute:pools:delete on pool")
    );
}

TEST(Probe, AResourceThatThrowsOrSaysNothingIsRefused) {
    Method<Nothing> throws = deciding(kRead, "pool");
    throws.resource = [](const Nothing&) -> std::optional<Resource> {
        throw std::runtime_error("no id");
    };
    Method<Nothing> silent = deciding(kRead, "pool");
    silent.resource = [](const Nothing&) -> std::optional<Resource> { return std::nullopt; };

    EXPECT_THAT(refusal(throws, row_of(kRead, "pool")), HasSubstr("threw no id"));
    EXPECT_THAT(refusal(silent, row_of(kRead, "pool")), HasSubstr("nothing to decide on"));
}

TEST(Probe, AnAdmissionMaySayNothingBeforeItsPrepare) {
    Method<Nothing> method = deciding(kRead, "pool");
    method.resource = [](const Nothing&) -> std::optional<Resource> { return std::nullopt; };
    method.admission.emplace().prepare = [](Context&, Nothing&, store::Transaction&) {
        return Prepared::decide({"pool", "x-1", std::nullopt});
    };

    EXPECT_EQ(refusal(method, row_of(kRead, "pool")), "");
}

TEST(Probe, AMethodWithARowNeedsASchemaToBeTried) {
    Method<Nothing> method = deciding(kRead, "pool");
    method.json_schema.reset();

    EXPECT_THAT(refusal(method, row_of(kRead, "pool")), HasSubstr("carries no JSON Schema"));
    EXPECT_EQ(refusal(method), "");  // without a row nothing is tried
}

}  // namespace
}  // namespace compute::method
