// Rows about definitions, the registry and the method table: M5-M11, M41-M43, M47, M48, M102, M103,
// M115, M116, M135.
#include "tests/contract/methods/lab.h"

namespace compute::contract {
namespace {

// What registering `modules` and the probe of the start refuse; a plane needs no database for that.
ComputeError refused(const std::vector<Module>& modules) {
    method::Registry registry;
    try {
        for (const Module& module : modules) {
            registry.add(module);
        }
        registry.initialize();
    } catch (const ComputeError& error) {
        return error;
    }
    ADD_FAILURE() << "the registry took it";
    return internal_error("");
}

ComputeError refused(Method<Plain> method) {
    return refused({lab({entry("things", "poke", std::move(method))})});
}

void expect_taken(Method<Plain> method) {
    method::Registry registry;
    EXPECT_NO_THROW(registry.add(lab({entry("things", "poke", std::move(method))})));
    EXPECT_NE(registry.find("things/poke"), nullptr);
}

MethodEntry with_row(MethodEntry made, method::MethodRow row) {
    made.row = std::move(row);
    return made;
}

method::MethodRow row_of(std::string action, std::string type) {
    return {
        .action = std::move(action),
        .resource_type = std::move(type),
        .alternatives = {},
        .is_list_per_item = false};
}

TEST(Definition, M5_ADefinitionWithTheFiveRequiredFieldsRegisters) {
    expect_taken(plain(Kind::Read));
}

TEST(Definition, M5_ADefinitionWithAllEightFieldsRegisters) {
    method::Registry registry;
    Method<Claim> all = claim_method();
    all.transaction = method::TransactionMode::Auto;

    Module module = claims();
    module.methods = {entry("claims", "create", all)};

    EXPECT_NO_THROW(registry.add(module));
}

TEST(Definition, M6_DefineFreezesTheDefinition) {
    Method<Plain> typed = plain(Kind::Read);
    method::Registry registry;
    Module module = lab({entry("things", "poke", typed)});
    registry.add(module);

    typed.action = "compute:lab:other";
    module.methods[0].definition.action = "compute:lab:other";

    EXPECT_EQ(registry.find("things/poke")->definition.action, "compute:lab:poke");
}

TEST(Definition, M7_ResourceValidateAndHandlerMustBeFunctions) {
    for (const std::string field : {"resource", "validate", "handler"}) {
        Method<Plain> method = plain(Kind::Read);
        if (field == "resource") {
            method.resource = nullptr;
        } else if (field == "validate") {
            method.validate = nullptr;
        } else {
            method.handler = nullptr;
        }

        const auto error = refused(method);

        EXPECT_EQ(error.code(), ErrorCode::InvalidConfig);
        EXPECT_THAT(error.message(), HasSubstr("things/poke"));
        EXPECT_THAT(error.message(), HasSubstr(field));
    }
}

TEST(Definition, M8_KindIsReadMutationOrPublic) {
    expect_taken(plain(Kind::Read));
    expect_taken(plain(Kind::Mutation));
    expect_taken(plain(Kind::Public));

    const auto error = refused(plain(static_cast<Kind>(7)));

    EXPECT_EQ(error.code(), ErrorCode::InvalidConfig);
    EXPECT_THAT(error.message(), HasSubstr("kind"));
}

TEST(Definition, M9_APublicMethodsActionIsNull) {
    Method<Plain> with_action = plain(Kind::Public);
    with_action.action = "compute:lab:poke";
    Method<Plain> without = plain(Kind::Read);
    without.action.reset();

    EXPECT_EQ(refused(with_action).code(), ErrorCode::InvalidConfig);
    EXPECT_EQ(refused(without).code(), ErrorCode::InvalidConfig);
}

TEST(Definition, M10_AnActionHasThreeSegmentsOfAtMost64Characters) {
    const std::string longest(64, 'a');
    expect_taken(plain(Kind::Read, "compute:" + longest + ":" + longest));

    for (const std::string& action :
         {"compute:" + longest + "a:read",
          "compute:pools:" + longest + "a",
          std::string("compute:Pools:read"),
          std::string("compute:1pools:read"),
          std::string("compute"),
          std::string("compute:pools"),
          std::string("compute:pools:read:all"),
          std::string("compute:pools:read\n"),
          std::string("other:pools:read"),
          std::string("compute::read"),
          std::string()}) {
        EXPECT_EQ(refused(plain(Kind::Read, action)).code(), ErrorCode::InvalidConfig) << action;
    }
}

TEST(Definition, M11_APluginsActionNamesThePlugin) {
    const auto error = refused(
        {plugin("acme", {entry("widgets", "poke", plain(Kind::Read, "compute:pools:read"))})}
    );
    EXPECT_EQ(error.code(), ErrorCode::InvalidConfig);
    EXPECT_THAT(error.message(), HasSubstr("compute:acme:"));

    method::Registry registry;
    EXPECT_NO_THROW(registry.add(
        plugin("acme", {entry("widgets", "poke", plain(Kind::Read, "compute:acme:poke"))})
    ));
    EXPECT_NE(registry.find("plugins/acme/widgets/poke"), nullptr);
}

TEST(Definition, M41_InitializeComparesResourceWithTheRow) {
    Method<Plain> method = plain(Kind::Read, "compute:pools:read");
    method.resource = [](const Plain&) -> std::optional<Resource> {
        return Resource{"node", "n-1", std::nullopt};
    };

    const auto error = refused(
        {lab({with_row(entry("pools", "get", method), row_of("compute:pools:read", "pool"))})}
    );

    EXPECT_EQ(error.code(), ErrorCode::InvalidConfig);
    EXPECT_THAT(error.message(), HasSubstr("pools/get"));
}

TEST(Definition, M41_AnActionOtherThanTheRowsIsRefused) {
    const auto error = refused({lab({with_row(
        entry("pools", "get", plain(Kind::Read, "compute:pools:read")),
        row_of("compute:pools:list", "thing")
    )})});

    EXPECT_EQ(error.code(), ErrorCode::InvalidConfig);
}

TEST(Definition, M41_AMethodThatTakesNoPlaceholderMustGiveAProbe) {
    Method<Plain> picky = plain(Kind::Read, "compute:pools:read");
    picky.validate = [](const Json& raw) {
        if (raw.value("id", "") != "only-this") {
            throw invalid_input("id: only-this");
        }
        return Plain{
            .tenant_id = "acme", .id = "only-this", .count = {}, .text = {}, .key = {}, .wait = {}};
    };
    method::MethodRow row = row_of("compute:pools:read", "thing");
    EXPECT_EQ(
        refused({lab({with_row(entry("pools", "get", picky), row)})}).code(),
        ErrorCode::InvalidConfig
    );

    row.probe = std::make_shared<const Json>(Json{{"id", "only-this"}});
    method::Registry registry;
    registry.add(lab({with_row(entry("pools", "get", picky), row)}));
    EXPECT_NO_THROW(registry.initialize());
}

TEST(Definition, M42_MethodsWithoutARowAreNotProbed) {
    Method<Plain> method = plain(Kind::Read, "compute:acme:poke");
    method.resource = [](const Plain& input) -> std::optional<Resource> {
        if (!input.id) {
            throw std::runtime_error("a placeholder");
        }
        return Resource{"thing", *input.id, std::nullopt};
    };
    method::Registry registry;
    registry.add(plugin("acme", {entry("widgets", "poke", method)}, {"thing"}));

    EXPECT_NO_THROW(registry.initialize());
}

TEST(Definition, M102_OnlyMutationsTakeAnAdmission) {
    Method<Plain> method = plain(Kind::Read);
    method.admission.emplace().prepare = [](Context&, Plain&, store::Transaction&) {
        return Prepared::decide(Resource::tenant("acme"));
    };

    const auto error = refused(method);

    EXPECT_EQ(error.code(), ErrorCode::InvalidConfig);
    EXPECT_THAT(error.message(), HasSubstr("admission"));
}

TEST(Definition, M103_AnAdmissionCannotBeManual) {
    Method<Plain> method = plain(Kind::Mutation);
    method.admission.emplace().prepare = [](Context&, Plain&, store::Transaction&) {
        return Prepared::decide(Resource::tenant("acme"));
    };
    method.transaction = method::TransactionMode::Manual;

    EXPECT_EQ(refused(method).code(), ErrorCode::InvalidConfig);
}

TEST(Definition, AnAdmissionWithoutPrepareIsRefused) {
    Method<Plain> method = plain(Kind::Mutation);
    method.admission.emplace();

    EXPECT_THAT(refused(method).message(), HasSubstr("admission.prepare"));
}

TEST(Definition, AnAdmissionThatOnlyLooksHasNoDraftToDeny) {
    Method<Plain> method = plain(Kind::Mutation);
    auto& admission = method.admission.emplace();
    admission.prepares = method::Prepares::Lookup;
    admission.prepare = [](Context&, Plain&, store::Transaction&) {
        return Prepared::decide(Resource::tenant("acme"));
    };
    admission.denied = [](Context&, Plain&, store::Transaction&, const ComputeError&) {};

    EXPECT_THAT(refused(method).message(), HasSubstr("admission.denied"));
}

TEST(Definition, M115_APollNeedsAMutationAndBothFunctions) {
    const auto done = [](const Json&) { return true; };
    const auto refresh = [](Context&, Plain&, const Json& output) { return output; };
    Method<Plain> on_read = plain(Kind::Read);
    on_read.poll = method::Poll<Plain>{.done = done, .refresh = refresh};
    Method<Plain> without_done = plain(Kind::Mutation);
    without_done.poll = method::Poll<Plain>{.done = {}, .refresh = refresh};
    Method<Plain> without_refresh = plain(Kind::Mutation);
    without_refresh.poll = method::Poll<Plain>{.done = done, .refresh = {}};

    EXPECT_THAT(refused(on_read).message(), HasSubstr("poll"));
    EXPECT_THAT(refused(without_done).message(), HasSubstr("poll.done"));
    EXPECT_THAT(refused(without_refresh).message(), HasSubstr("poll.refresh"));
}

TEST(Definition, M116_OnlyMutationsAreManual) {
    Method<Plain> method = plain(Kind::Read);
    method.transaction = method::TransactionMode::Manual;

    EXPECT_EQ(refused(method).code(), ErrorCode::InvalidConfig);
}

TEST(Definition, TwoMethodsOfOnePathAreRefused) {
    EXPECT_EQ(
        refused({lab(
                    {entry("things", "poke", plain(Kind::Read)),
                     entry("things", "poke", plain(Kind::Read))}
                )})
            .code(),
        ErrorCode::InvalidConfig
    );
}

TEST(Definition, AResourceTypeBelongsToOneModule) {
    EXPECT_EQ(refused({lab({}), plugin("acme", {}, {"pool"})}).code(), ErrorCode::InvalidConfig);
    EXPECT_EQ(refused({plugin("acme", {}, {"tenant"})}).code(), ErrorCode::InvalidConfig);
}

class Actions : public Contract {};
COMPUTE_BOTH_ENGINES(Actions);

Method<Plain> decides(std::string action, std::string type, std::optional<std::string> other) {
    Method<Plain> method = plain(Kind::Mutation, std::move(action));
    method.resource = [type, other](const Plain& input) -> std::optional<Resource> {
        return input.text ? Resource{"node", *input.text, other}
                          : Resource{type, "t-1", std::nullopt};
    };
    return method;
}

TEST_P(Actions, M46_AnotherActionIsDecidedForSomeInputs) {
    auto row = row_of("compute:tunnels:open", "thing");
    row.alternatives = {{"compute:nodes:console", "node"}};
    LabPlane plane(
        GetParam(),
        {lab({with_row(
            entry(
                "tunnels", "open", decides("compute:tunnels:open", "thing", "compute:nodes:console")
            ),
            row
        )})}
    );

    plane.call("tunnels/open", TestPlane::admin_of("acme"), {{"tenantId", "acme"}});
    plane.call(
        "tunnels/open", TestPlane::admin_of("acme"), {{"tenantId", "acme"}, {"text", "n-7"}}
    );

    ASSERT_EQ(plane.iam.count("require"), 2);
    EXPECT_EQ(plane.iam.calls().at(1).action, "compute:tunnels:open");
    EXPECT_EQ(plane.iam.calls().at(2).action, "compute:nodes:console");
    EXPECT_EQ(plane.iam.calls().at(2).resource, (iam::ResourceRef{"compute-node", "n-7"}));
    EXPECT_EQ(plane.audit().at(1).action, "compute:nodes:console");
}

TEST_P(Actions, M47_AnOverrideMustBeListedInTheRow) {
    auto row = row_of("compute:tunnels:open", "thing");
    row.alternatives = {{"compute:nodes:console", "pool"}};
    Method<Plain> method = decides("compute:tunnels:open", "thing", "compute:nodes:console");
    // The probe sees the listed pair only: the unlisted one depends on a value.
    method.resource = [](const Plain& input) -> std::
                                                 optional<Resource> {
                                                     return input.text == "n-7" ? Resource{"node", "n-7", "compute:nodes:console"} : Resource{"thing", "t-1", std::nullopt};
                                                 };
    LabPlane plane(GetParam(), {lab({with_row(entry("tunnels", "open", method), row)})});

    const auto error = plane.error_of(
        "tunnels/open", TestPlane::admin_of("acme"), {{"tenantId", "acme"}, {"text", "n-7"}}
    );

    EXPECT_EQ(error.code(), ErrorCode::InvalidConfig);
    EXPECT_EQ(plane.iam.decisions(), 0);
}

TEST_P(Actions, M48_AMethodWithoutARowCannotOverrideItsAction) {
    Method<Plain> own = decides("compute:acme:poke", "thing", "compute:acme:poke");
    Method<Plain> other = decides("compute:acme:poke", "thing", "compute:acme:other");
    LabPlane plane(
        GetParam(),
        {lab({}), plugin("acme", {entry("widgets", "own", own), entry("widgets", "other", other)})}
    );
    const Json input{{"tenantId", "acme"}, {"text", "n-7"}};

    EXPECT_EQ(
        plane.error_of("plugins/acme/widgets/other", TestPlane::admin_of("acme"), input).code(),
        ErrorCode::InvalidConfig
    );
    EXPECT_NO_THROW(plane.call("plugins/acme/widgets/own", TestPlane::admin_of("acme"), input));
}

TEST_P(Actions, M43_APluginDecidesOnTheTypesItDeclares) {
    Method<Plain> declared = plain(Kind::Mutation, "compute:acme:poke");
    declared.resource = [](const Plain&) -> std::optional<Resource> {
        return Resource{"widget", "w-1", std::nullopt};
    };
    Method<Plain> undeclared = declared;
    undeclared.resource = [](const Plain&) -> std::optional<Resource> {
        return Resource{"gadget", "g-1", std::nullopt};
    };
    LabPlane plane(
        GetParam(),
        {plugin(
            "acme",
            {entry("widgets", "poke", declared), entry("widgets", "bad", undeclared)},
            {"widget"}
        )}
    );

    plane.call("plugins/acme/widgets/poke", TestPlane::admin_of("acme"), {{"tenantId", "acme"}});
    EXPECT_EQ(plane.iam.calls().at(1).resource, (iam::ResourceRef{"compute-widget", "w-1"}));

    const auto error = plane.error_of(
        "plugins/acme/widgets/bad", TestPlane::admin_of("acme"), {{"tenantId", "acme"}}
    );
    EXPECT_EQ(error.code(), ErrorCode::InvalidConfig);
    EXPECT_THAT(error.message(), HasSubstr("gadget"));
}

}  // namespace
}  // namespace compute::contract
