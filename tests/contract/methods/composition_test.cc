// Rows about composites: M83, M128, M130-M135.
#include "tests/contract/methods/composite_lab.h"

namespace compute::contract {
namespace {

class Composition : public Contract {};
COMPUTE_BOTH_ENGINES(Composition);

// A template that mounts volumes: check decides each and notes it in the input, the handler uses
// the notes.
Method<Plain> template_method() {
    Method<Plain> method = plain(Kind::Mutation, "compute:templates:create");
    method.resource = [](const Plain&) -> std::optional<Resource> { return std::nullopt; };
    auto& admission = method.admission.emplace();
    admission.prepare = [](Context& context, Plain&, store::Transaction&) {
        return Prepared::decide(Resource::tenant(context.tenant_id->str()));
    };
    admission.check = [](Context&, Plain& input, const Resource&) {
        input.text = "decided:" + input.text.value_or("");
    };
    method.handler = [](Context& context, Plain& input) {
        insert_row(context.transaction(), "template", input.text.value_or(""));
        return Json{{"seen", input.text.value_or("")}};
    };
    return method;
}

TEST_P(Composition, M83_CheckRunsTheAdmissionsCheckToo) {
    Json seen;
    const Json input{{"tenantId", "acme"}, {"text", "vol-1"}};
    LabPlane plane(
        GetParam(),
        {with(
            [&](Context& context) {
                context.check("templates/create", input);
                context.sql().transaction([&](store::Transaction& tx) {
                    seen = context.invoke(tx, "templates/create", input);
                });
                return Json();
            },
            {entry("templates", "create", template_method())}
        )}
    );

    run(plane);

    EXPECT_EQ(plane.count("check"), 1);
    EXPECT_EQ(plane.count("prepare"), 2);
}

TEST_P(Composition, M128_InvokeUsesTheVeryInputThatCheckRanOn) {
    Json seen;
    const Json input{{"tenantId", "acme"}, {"text", "vol-1"}};
    LabPlane plane(
        GetParam(),
        {with(
            [&](Context& context) {
                context.check("templates/create", input);
                context.sql().transaction([&](store::Transaction& tx) {
                    seen = context.invoke(tx, "templates/create", input);
                });
                return Json();
            },
            {entry("templates", "create", template_method())}
        )}
    );

    run(plane);

    EXPECT_EQ(seen, Json({{"seen", "decided:vol-1"}}));
}

TEST_P(Composition, M130_WhatCannotBeComposedIsUnsupported) {
    std::vector<ErrorCode> codes;
    MethodEntry per_item = entry("things", "list", plain(Kind::Read, "compute:lab:list"));
    per_item.row = method::MethodRow{
        .action = "compute:lab:list",
        .resource_type = "thing",
        .alternatives = {},
        .is_list_per_item = true};
    LabPlane plane(
        GetParam(),
        {with(
             [&](Context& context) {
                 codes.push_back(code_of([&] { context.check("fleet/apply", Json::object()); }));
                 codes.push_back(code_of([&] {
                     context.check("claims/create", claim_input("acme", "k1"));
                 }));
                 codes.push_back(code_of([&] { context.check("things/list", kAcme); }));
                 return Json();
             },
             {per_item}
         ),
         claims()}
    );

    run(plane);

    EXPECT_THAT(
        codes, ElementsAre(ErrorCode::Unsupported, ErrorCode::Unsupported, ErrorCode::Unsupported)
    );
    EXPECT_EQ(plane.claims(), 0);
}

// projects.create's shape: the id comes from the key.
Method<Plain> project_method() {
    Method<Plain> method = plain(Kind::Mutation, "compute:projects:create");
    method.resource = [](const Plain&) -> std::optional<Resource> { return std::nullopt; };
    method.admission.emplace().prepare = [](Context& context, Plain& input, store::Transaction& tx
                                         ) {
        if (!tx.query("select id from lab_rows where id = $1", {*input.key}).empty()) {
            return Prepared::replay(Json{{"id", *input.key}, {"replayed", true}});
        }
        return Prepared::decide(Resource::tenant(context.tenant_id->str()));
    };
    method.handler = [](Context& context, Plain& input) {
        insert_row(context.transaction(), *input.key);
        return Json{{"id", *input.key}, {"replayed", false}};
    };
    return method;
}

TEST_P(Composition, M131_ReplayOnlyAdmissionsWork) {
    std::vector<bool> replayed;
    const Json input{{"tenantId", "acme"}, {"idempotencyKey", "fixed"}};
    LabPlane plane(
        GetParam(),
        {with(
            [&](Context& context) {
                context.check("projects/create", input);
                const Json made = context.sql().transaction([&](store::Transaction& tx) {
                    return context.invoke(tx, "projects/create", input);
                });
                replayed.push_back(made.at("replayed").get<bool>());
                return Json();
            },
            {entry("projects", "create", project_method())}
        )}
    );

    run(plane);
    run(plane);

    EXPECT_THAT(replayed, ElementsAre(false, true));
    EXPECT_EQ(plane.rows(), 1);
    EXPECT_EQ(plane.audit().size(), 3U);
    EXPECT_EQ(plane.iam.count("require"), 3);
}

TEST_P(Composition, M131_AReplayThatIsGoneByInvokeWasNeverDecided) {
    const Json input{{"tenantId", "acme"}, {"idempotencyKey", "fixed"}};
    LabPlane plane(
        GetParam(),
        {with(
            [&](Context& context) {
                context.check("projects/create", input);
                context.sql().transaction([&](store::Transaction& tx) {
                    tx.execute("delete from lab_rows");
                    context.invoke(tx, "projects/create", input);
                });
                return Json();
            },
            {entry("projects", "create", project_method())}
        )}
    );
    plane.test_database().database().write([](store::Transaction& tx) { insert_row(tx, "fixed"); });

    EXPECT_EQ(plane.error_of("fleet/apply", kRoot, Json::object()).code(), ErrorCode::AccessDenied);
    EXPECT_EQ(plane.rows(), 1);
}

TEST_P(Composition, M132_ItsOwnAuditRowComesAfterItsSuccess) {
    LabPlane plane(GetParam(), {with([](Context& context) -> Json {
                       context.check("things/put", put("a"));
                       context.sql().transaction([&](store::Transaction& tx) {
                           context.invoke(tx, "things/put", put("a"));
                       });
                       throw ComputeError(ErrorCode::Conflict, "late");
                   })});

    (void)plane.error_of("fleet/apply", kRoot, Json::object());

    ASSERT_EQ(plane.audit().size(), 1U);
    EXPECT_EQ(plane.audit().at(0).method, "things/put");
}

TEST_P(Composition, M133_AllOrNothing) {
    LabPlane plane(GetParam(), {with([](Context& context) {
                       const std::vector<Json> calls{
                           put("1"), put("2"), put("3", "throw"), put("4"), put("5")};
                       for (const Json& call : calls) {
                           context.check("things/put", call);
                       }
                       context.sql().transaction([&](store::Transaction& tx) {
                           for (const Json& call : calls) {
                               context.invoke(tx, "things/put", call);
                           }
                       });
                       return Json();
                   })});

    EXPECT_EQ(plane.error_of("fleet/apply", kRoot, Json::object()).code(), ErrorCode::Conflict);

    EXPECT_EQ(plane.rows(), 0);
    EXPECT_THAT(plane.audit(), IsEmpty());
}

TEST_P(Composition, M134_DriftBetweenThePhasesAppliesNothing) {
    LabPlane* at = nullptr;
    LabPlane plane(GetParam(), {with([&](Context& context) {
                       const auto plan = [](store::Transaction& tx) {
                           return tx.get_row("select count(*) from lab_rows").get_int(0);
                       };
                       const auto first = context.sql().transaction(plan);
                       context.check("things/put", put("a"));
                       at->test_database().database().write([](store::Transaction& tx) {
                           insert_row(tx, "meanwhile");
                       });
                       context.sql().transaction([&](store::Transaction& tx) {
                           if (plan(tx) != first) {
                               throw ComputeError(ErrorCode::ConfigDrift, "plan again");
                           }
                           context.invoke(tx, "things/put", put("a"));
                       });
                       return Json();
                   })});
    at = &plane;

    EXPECT_EQ(plane.error_of("fleet/apply", kRoot, Json::object()).code(), ErrorCode::ConfigDrift);
    EXPECT_EQ(plane.rows(), 1);
}

TEST_P(Composition, M135_PathsAreRoutesBelowTheBasePath) {
    std::vector<ErrorCode> codes;
    LabPlane plane(
        GetParam(),
        {with([&](Context& context) {
             context.check("things/put", put("a"));
             context.check("plugins/acme/widgets/poke", kAcme);
             codes.push_back(code_of([&] { context.check("things/nothing", kAcme); }));
             codes.push_back(code_of([&] { context.check("/things/put", kAcme); }));
             return Json();
         }),
         plugin("acme", {entry("widgets", "poke", plain(Kind::Mutation, "compute:acme:poke"))})}
    );

    run(plane);

    EXPECT_THAT(codes, ElementsAre(ErrorCode::NotFound, ErrorCode::NotFound));
}

TEST_P(Composition, AGrantOfARolledBackTransactionMayBeUsedAgain) {
    LabPlane plane(GetParam(), {with([](Context& context) {
                       context.check("things/put", put("a"));
                       const auto attempt = [&](bool fails) {
                           context.sql().transaction([&](store::Transaction& tx) {
                               context.invoke(tx, "things/put", put("a"));
                               if (fails) {
                                   throw ComputeError(ErrorCode::Conflict, "no");
                               }
                           });
                       };
                       EXPECT_EQ(code_of([&] { attempt(true); }), ErrorCode::Conflict);
                       attempt(false);
                       EXPECT_EQ(code_of([&] { attempt(false); }), ErrorCode::AccessDenied);
                       return Json();
                   })});

    run(plane);

    EXPECT_EQ(plane.rows(), 1);
}

}  // namespace
}  // namespace compute::contract
