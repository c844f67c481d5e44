// Rows about the transaction, the audit row, the resource and the context: M28-M40, M44, M45, M49,
// M56, M66.
#include "tests/contract/methods/lab.h"

namespace compute::contract {
namespace {

const Json kAcme{{"tenantId", "acme"}};

class Handling : public Contract {};
COMPUTE_BOTH_ENGINES(Handling);

Module poke(Method<Plain> method) {
    return lab({entry("things", "poke", std::move(method))});
}

Method<Plain> on(Kind kind, Resource resource) {
    Method<Plain> method = plain(kind);
    method.resource = [resource](const Plain&) -> std::optional<Resource> { return resource; };
    return method;
}

TEST_P(Handling, M28_TheHandlerRunsInOneTransaction) {
    Method<Plain> method = plain(Kind::Mutation);
    method.handler = [](Context& context, Plain&) -> Json {
        insert_row(context.transaction(), "a");
        insert_row(context.transaction(), "b");
        throw ComputeError(ErrorCode::Conflict, "no");
    };
    LabPlane plane(GetParam(), {poke(method)});

    (void)plane.error_of("things/poke", TestPlane::admin_of("acme"), kAcme);

    EXPECT_EQ(plane.rows(), 0);
    EXPECT_EQ(plane.count("begin"), 1);
}

TEST_P(Handling, M29_AReadThatWritesFails) {
    Method<Plain> method = plain(Kind::Read);
    method.handler = [](Context& context, Plain&) {
        insert_row(context.transaction(), "a");
        return Json();
    };
    LabPlane plane(GetParam(), {poke(method)});

    EXPECT_EQ(
        plane.error_of("things/poke", TestPlane::admin_of("acme"), kAcme).code(),
        ErrorCode::InternalError
    );
    EXPECT_EQ(plane.rows(), 0);
}

TEST_P(Handling, M30_AnAllowedMutationLeavesAnAuditRow) {
    LabPlane plane(GetParam(), {poke(plain(Kind::Mutation))});
    method::Call call = plane.call_of("things/poke", TestPlane::admin_of("acme"), kAcme);
    call.source_ip = "192.0.2.7";
    call.request_id = "req-x";

    plane.run(std::move(call));

    const auto rows = plane.audit();
    ASSERT_EQ(rows.size(), 1U);
    EXPECT_THAT(rows[0].id, StartsWith("aud_"));
    EXPECT_EQ(rows[0].tenant_id, "acme");
    EXPECT_EQ(rows[0].identity_id, "admin:acme");
    EXPECT_EQ(rows[0].method, "things/poke");
    EXPECT_EQ(rows[0].action, "compute:lab:poke");
    EXPECT_EQ(rows[0].resource_type, "compute-thing");
    EXPECT_EQ(rows[0].resource_id, "t-1");
    EXPECT_EQ(rows[0].decision_reason, "spy allows");
    EXPECT_TRUE(rows[0].admission.is_null());
    EXPECT_EQ(rows[0].request_id, "req-x");
    EXPECT_EQ(rows[0].source_ip, "192.0.2.7");
}

TEST_P(Handling, M31_ARolledBackMutationLeavesNoAuditRow) {
    Method<Plain> method = plain(Kind::Mutation);
    method.handler = [](Context&, Plain&) -> Json {
        throw ComputeError(ErrorCode::Conflict, "no");
    };
    LabPlane plane(GetParam(), {poke(method)});

    (void)plane.error_of("things/poke", TestPlane::admin_of("acme"), kAcme);

    EXPECT_THAT(plane.audit(), IsEmpty());
}

TEST_P(Handling, M32_ReadsWriteNoAuditRow) {
    LabPlane plane(GetParam(), {poke(plain(Kind::Read))});

    plane.call("things/poke", TestPlane::admin_of("acme"), kAcme);

    EXPECT_THAT(plane.audit(), IsEmpty());
}

TEST_P(Handling, M34_TheEnvelopeAddsThePrefixOfTheType) {
    LabPlane plane(GetParam(), {poke(on(Kind::Mutation, {"pool", "p1", {}}))});

    plane.call("things/poke", TestPlane::admin_of("acme"), kAcme);

    EXPECT_EQ(plane.iam.calls().at(1).resource, (iam::ResourceRef{"compute-pool", "p1"}));
}

TEST_P(Handling, M35_ThePrefixIsConfigurable) {
    config::Config config;
    config.iam.resource_prefix = "x-";
    LabPlane plane(GetParam(), {poke(on(Kind::Mutation, {"pool", "p1", {}}))}, config);

    plane.call("things/poke", TestPlane::admin_of("acme"), kAcme);

    EXPECT_EQ(plane.iam.calls().at(1).resource, (iam::ResourceRef{"x-pool", "p1"}));
}

TEST_P(Handling, M36_DecidedInTheTenantTheInputNames) {
    LabPlane plane(GetParam(), {poke(plain(Kind::Read))});

    plane.call("things/poke", TestPlane::admin_of("a"), {{"tenantId", "a"}});

    EXPECT_EQ(plane.iam.calls().at(1).tenant, "a");
}

TEST_P(Handling, M37_InputNeedsATenantUnlessDecidedOnTheFleet) {
    LabPlane plane(GetParam(), {poke(on(Kind::Mutation, {"pool", "p1", {}}))});

    const auto error = plane.error_of("things/poke", TestPlane::root(), Json::object());

    EXPECT_EQ(error.code(), ErrorCode::InvalidConfig);
    EXPECT_EQ(plane.iam.decisions(), 0);
}

TEST_P(Handling, M38_TheFleetIsDecidedInTheRootTenant) {
    LabPlane plane(GetParam(), {poke(on(Kind::Mutation, Resource::fleet()))});

    plane.call("things/poke", TestPlane::root(), {{"tenantId", "a"}});
    plane.call("things/poke", TestPlane::root(), Json::object());

    EXPECT_EQ(plane.iam.calls().at(1).tenant, "root");
    EXPECT_EQ(plane.iam.calls().at(1).resource, (iam::ResourceRef{"compute-fleet", "global"}));
    EXPECT_EQ(plane.iam.calls().at(2).tenant, "root");
    EXPECT_EQ(plane.audit().at(0).tenant_id, "root");
}

TEST_P(Handling, M38_WithoutATenantOnlyRootPassesThePreCheck) {
    LabPlane plane(GetParam(), {poke(on(Kind::Mutation, Resource::fleet()))});

    EXPECT_EQ(
        plane.error_of("things/poke", TestPlane::admin_of("a"), Json::object()).code(),
        ErrorCode::AccessDenied
    );
    EXPECT_EQ(plane.iam.decisions(), 0);
}

TEST_P(Handling, M39_AMethodWithNeitherRegistersAndFailsWhenCalled) {
    LabPlane plane(GetParam(), {poke(on(Kind::Read, {"pool", "p1", {}}))});

    EXPECT_EQ(
        plane.error_of("things/poke", TestPlane::root(), Json::object()).code(),
        ErrorCode::InvalidConfig
    );
}

TEST_P(Handling, M40_ResourceIsAProjectionOfTheInput) {
    const auto definition = method::define_method(plain(Kind::Read));
    const auto first = definition.resource(definition.validate({{"tenantId", "a"}, {"id", "t-9"}}));
    const auto second =
        definition.resource(definition.validate({{"id", "t-9"}, {"tenantId", "a"}}));

    EXPECT_EQ(first, second);
    static_assert(std::is_same_v<
                  decltype(Method<Plain>::resource),
                  std::function<std::optional<Resource>(const Plain&)>>);
}

TEST_P(Handling, M44_AuthzUpsertIsSeenByTheNextDecisionAndRolledBackWithTheCall) {
    Method<Plain> method = plain(Kind::Mutation, "compute:acme:poke");
    method.handler = [](Context& context, Plain& input) {
        context.authz_upsert(
            context.transaction(),
            {.resource = {"widget", "w-1"},
             .tenant_id = *context.tenant_id,
             .attributes = std::make_shared<const Json>(Json{{"size", input.count.value_or(0)}}),
             .owner_id = "ann",
             .pending = nullptr}
        );
        if (input.text) {
            throw ComputeError(ErrorCode::Conflict, "no");
        }
        return Json();
    };
    LabPlane plane(
        GetParam(), {lab({}), plugin("acme", {entry("widgets", "poke", method)}, {"widget"})}
    );
    const auto poke_with = [&](const Json& more) {
        Json input = kAcme;
        input.update(more);
        return input;
    };

    plane.call("plugins/acme/widgets/poke", TestPlane::admin_of("acme"), poke_with({{"count", 3}}));
    EXPECT_EQ(plane.attributes_of("widget", "w-1"), Json({{"size", 3}}));

    (void)plane.error_of(
        "plugins/acme/widgets/poke",
        TestPlane::admin_of("acme"),
        poke_with({{"count", 4}, {"text", "fail"}})
    );
    EXPECT_EQ(plane.attributes_of("widget", "w-1"), Json({{"size", 3}}));
}

TEST_P(Handling, M45_ASecondUpsertReplacesTheAttributes) {
    LabPlane plane(GetParam());
    const auto upsert = [&](const Json& attributes) {
        plane.database().write([&](store::Transaction& tx) {
            iam::upsert_projection(
                tx,
                {.resource = {"widget", "w-1"},
                 .tenant_id = TenantId("acme"),
                 .attributes = std::make_shared<const Json>(attributes),
                 .owner_id = {},
                 .pending = nullptr},
                plane.clock.now_ms()
            );
        });
    };

    upsert({{"size", 3}, {"old", true}});
    upsert({{"size", 4}});

    EXPECT_EQ(plane.attributes_of("widget", "w-1"), Json({{"size", 4}}));
    EXPECT_EQ(plane.count_of("select count(*) from authz_resources where type = 'widget'"), 1);
}

TEST_P(Handling, M49_AnEmptyBodyIsAnEmptyObject) {
    Method<Plain> method = plain(Kind::Public);
    Json seen;
    method.validate = [&seen](const Json& raw) {
        seen = raw;
        return Plain{};
    };
    LabPlane plane(GetParam(), {poke(method)});

    plane.call("things/poke", "", Json());

    EXPECT_EQ(seen, Json::object());
}

TEST_P(Handling, M56_AMalformedRequestCostsNothing) {
    LabPlane plane(GetParam(), {poke(plain(Kind::Mutation))});

    for (const Json& input :
         {Json{{"tenantId", 5}},
          Json{{"tenantId", ""}},
          Json{{"count", 101}},
          Json::array(),
          Json("text")}) {
        EXPECT_EQ(
            plane.error_of("things/poke", TestPlane::admin_of("acme"), input).code(),
            ErrorCode::InvalidInput
        );
    }

    EXPECT_THAT(plane.iam.calls(), IsEmpty());
    EXPECT_EQ(plane.statements(), 0);
    EXPECT_EQ(plane.transactions_opened(), 0);
}

TEST_P(Handling, M66_TheContextHoldsTheModulesPartAndTheCalls) {
    Method<Plain> method = plain(Kind::Mutation);
    method.handler = [](Context& context, Plain&) {
        context.publish(
            context.transaction(),
            {.type = "thing.poked",
             .tenant_id = *context.tenant_id,
             .subject = "thing/t-1",
             .data = std::make_shared<const Json>(Json::object())}
        );
        return Json{
            {"identity", context.caller->identity_id.str()},
            {"tenant", context.tenant_id->str()},
            {"path", context.path},
            {"request", context.request_id},
            {"ip", context.source_ip.value_or("")},
            {"now", context.now()},
            {"id", context.new_id("thg_").substr(0, 4)},
            {"root", context.root_tenant_id()},
            {"action", context.decision->action},
            {"resource", context.decision->resource.type},
            {"reason", context.decision->reason},
            {"hash", context.request_hash.size()},
            {"aborted", context.abort()},
            {"admission", context.admission.has_value()},
            {"composes", static_cast<bool>(context.check) || static_cast<bool>(context.invoke)}};
    };
    LabPlane plane(GetParam(), {poke(method)});
    method::Call call = plane.call_of("things/poke", TestPlane::admin_of("acme"), kAcme);
    call.source_ip = "192.0.2.7";

    const Json seen = plane.run(std::move(call));

    EXPECT_EQ(
        seen,
        Json(
            {{"identity", "admin:acme"},
             {"tenant", "acme"},
             {"path", "things/poke"},
             {"request", "req-1"},
             {"ip", "192.0.2.7"},
             {"now", plane.clock.now_ms()},
             {"id", "thg_"},
             {"root", "root"},
             {"action", "compute:lab:poke"},
             {"resource", "compute-thing"},
             {"reason", "spy allows"},
             {"hash", 64},
             {"aborted", false},
             {"admission", false},
             {"composes", false}}
        )
    );
    ASSERT_EQ(plane.outbox().size(), 1U);
    EXPECT_EQ(plane.outbox().at(0).type, "thing.poked");
}

TEST_P(Handling, AnUnknownPathIsNotFoundAndAsksNobody) {
    LabPlane plane(GetParam());

    EXPECT_EQ(
        plane.error_of("things/nothing", TestPlane::root(), kAcme).code(), ErrorCode::NotFound
    );
    EXPECT_THAT(plane.log(), IsEmpty());
}

TEST_P(Handling, RunAsDecidesAndAuditsWithThePortGiven) {
    LabPlane plane(GetParam(), {poke(plain(Kind::Mutation))});
    support::SpyIam port;
    const iam::Session session{
        .caller = *support::SpyIam::caller_of("admin:root"), .credential = {}};
    method::Call call = plane.call_of("things/poke", "", kAcme);

    (void)plane.envelope().run_as(session, port, std::move(call));

    EXPECT_EQ(port.count("require"), 1);
    EXPECT_THAT(plane.iam.calls(), IsEmpty());
    EXPECT_EQ(plane.audit().at(0).identity_id, "admin:root");
}

TEST_P(Handling, AnIamThatCannotBeReachedIsNeverAnAllow) {
    LabPlane plane(GetParam(), {poke(plain(Kind::Mutation))});
    plane.call("things/poke", TestPlane::admin_of("acme"), kAcme);
    plane.clear();

    plane.iam.set_outage(ComputeError(ErrorCode::IamUnavailable, "away"));

    EXPECT_EQ(
        plane.error_of("things/poke", TestPlane::admin_of("acme"), kAcme).code(),
        ErrorCode::IamUnavailable
    );
    EXPECT_EQ(plane.count("begin"), 0);
}

}  // namespace
}  // namespace compute::contract
