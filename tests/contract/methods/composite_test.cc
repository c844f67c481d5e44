// Rows about composites: M117-M127. What can be composed, and how it ends, is in
// composition_test.cc.
#include "tests/contract/methods/composite_lab.h"

namespace compute::contract {
namespace {

class Composite : public Contract {};
COMPUTE_BOTH_ENGINES(Composite);

TEST_P(Composite, M117_IsDecidedOnceAndEachOfItsCallsOnce) {
    LabPlane plane(GetParam(), {with([](Context& context) {
                       context.check("things/put", put("a"));
                       context.check("things/put", put("b"));
                       context.sql().transaction([&](store::Transaction& tx) {
                           context.invoke(tx, "things/put", put("a"));
                           context.invoke(tx, "things/put", put("b"));
                       });
                       return Json();
                   })});

    run(plane);

    EXPECT_THAT(
        plane.log(),
        ElementsAre(
            "auth",
            "require",
            "handler",
            "require",
            "require",
            "begin",
            "savepoint",
            "handler",
            "audit",
            "savepoint",
            "handler",
            "audit",
            "commit",
            "begin",
            "audit",
            "commit"
        )
    );
    const auto calls = plane.iam.calls();
    EXPECT_EQ(calls.at(1).tenant, "root");
    EXPECT_EQ(calls.at(1).resource, (iam::ResourceRef{"compute-fleet", "global"}));
    EXPECT_EQ(calls.at(2).tenant, "acme");
    EXPECT_EQ(calls.at(2).action, "compute:lab:put");
}

TEST_P(Composite, M118_ItsHandlerHasNoTransaction) {
    int at_entry = -1;
    int inside = -1;
    LabPlane plane(
        GetParam(), {with([&](Context& context) {
            at_entry = store::transaction_depth();
            context.sql().execute("insert into lab_rows (id, note) values ($1, $2)", {"alone", ""});
            try {
                context.sql().transaction([&](store::Transaction& tx) {
                    inside = store::transaction_depth();
                    insert_row(tx, "undone");
                    throw ComputeError(ErrorCode::Conflict, "no");
                });
            } catch (const ComputeError&) {
            }
            return Json();
        })}
    );

    run(plane);

    EXPECT_EQ(at_entry, 0);
    EXPECT_EQ(inside, 1);
    EXPECT_EQ(plane.count_of("select count(*) from lab_rows where id = 'alone'"), 1);
    EXPECT_EQ(plane.rows(), 1);
}

TEST_P(Composite, M119_CheckValidatesPreChecksAndDecidesAsTheCaller) {
    std::vector<ErrorCode> codes;
    LabPlane plane(GetParam(), {with([&](Context& context) {
                       codes.push_back(code_of([&] {
                           context.check("things/put", {{"tenantId", "acme"}, {"x", 1}});
                       }));
                       codes.push_back(code_of([&] {
                           context.check("things/put", {{"tenantId", "other"}});
                       }));
                       context.check("things/put", put("a"));
                       return Json();
                   })});
    plane.iam.set_policy([](const auto&, const auto&) { return true; });

    plane.call("fleet/apply", TestPlane::admin_of("acme"), kAcme);

    EXPECT_THAT(codes, ElementsAre(ErrorCode::InvalidInput, ErrorCode::AccessDenied));
    EXPECT_EQ(plane.iam.count("require"), 2);
    EXPECT_EQ(plane.iam.calls().back().identity, "admin:acme");
}

TEST_P(Composite, M119_ARefusedSubCallRefusesTheComposite) {
    LabPlane plane(GetParam(), {with([](Context& context) {
                       context.check("things/put", put("a"));
                       return Json();
                   })});
    plane.iam.set_policy([](const auto&, const iam::Question& question) {
        return question.action != "compute:lab:put";
    });

    EXPECT_EQ(plane.error_of("fleet/apply", kRoot, Json::object()).code(), ErrorCode::AccessDenied);
    EXPECT_THAT(plane.audit(), IsEmpty());
}

TEST_P(Composite, M120_AGrantIsForThePathAndTheCanonicalInput) {
    LabPlane plane(
        GetParam(), {with([](Context& context) {
            context.check("things/put", parse_json(R"({"tenantId":"acme","id":"a","count":1})"));
            context.sql().transaction([&](store::Transaction& tx) {
                context.invoke(
                    tx, "things/put", parse_json(R"({"count":1.0,"id":"a","tenantId":"acme"})")
                );
            });
            return Json();
        })}
    );

    EXPECT_NO_THROW(run(plane));
    EXPECT_EQ(plane.rows(), 1);
}

TEST_P(Composite, M121_CheckInsideATransactionIsRefused) {
    ErrorCode code{};
    LabPlane plane(GetParam(), {with([&](Context& context) {
                       context.sql().transaction([&](store::Transaction&) {
                           code = code_of([&] { context.check("things/put", put("a")); });
                       });
                       return Json();
                   })});

    run(plane);

    EXPECT_EQ(code, ErrorCode::InvalidState);
    EXPECT_EQ(plane.iam.count("require"), 1);
}

TEST_P(Composite, M122_InvokeUsesUpOneGrant) {
    std::vector<ErrorCode> codes;
    LabPlane plane(GetParam(), {with([&](Context& context) {
                       const auto invoke = [&](const std::string& id) {
                           context.sql().transaction([&](store::Transaction& tx) {
                               context.invoke(tx, "things/put", put(id));
                           });
                       };
                       codes.push_back(code_of([&] { invoke("unchecked"); }));
                       context.check("things/put", put("once"));
                       invoke("once");
                       codes.push_back(code_of([&] { invoke("once"); }));
                       return Json();
                   })});

    run(plane);

    EXPECT_THAT(codes, ElementsAre(ErrorCode::AccessDenied, ErrorCode::AccessDenied));
    EXPECT_EQ(plane.rows(), 1);
}

TEST_P(Composite, M122_TwoChecksAllowTwoInvokes) {
    int runs = 0;
    Method<Plain> count = plain(Kind::Mutation, "compute:lab:count");
    count.handler = [&](Context&, Plain&) { return Json(++runs); };
    LabPlane plane(
        GetParam(),
        {with(
            [](Context& context) {
                context.check("things/count", kAcme);
                context.check("things/count", kAcme);
                context.sql().transaction([&](store::Transaction& tx) {
                    context.invoke(tx, "things/count", kAcme);
                    context.invoke(tx, "things/count", kAcme);
                });
                return Json();
            },
            {entry("things", "count", count)}
        )}
    );

    run(plane);

    EXPECT_EQ(runs, 2);
}

TEST_P(Composite, M123_AnotherInputThanCheckedIsRefused) {
    LabPlane plane(GetParam(), {with([](Context& context) {
                       context.check("things/put", put("a"));
                       context.sql().transaction([&](store::Transaction& tx) {
                           context.invoke(tx, "things/put", put("b"));
                       });
                       return Json();
                   })});

    EXPECT_EQ(plane.error_of("fleet/apply", kRoot, Json::object()).code(), ErrorCode::AccessDenied);
    EXPECT_EQ(plane.rows(), 0);
}

TEST_P(Composite, M124_InvokeRunsInASavepointWithoutAnotherDecision) {
    int decided = -1;
    LabPlane* at = nullptr;
    LabPlane plane(GetParam(), {with([&](Context& context) {
                       context.check("things/put", put("a"));
                       const int before = at->iam.decisions();
                       context.sql().transaction([&](store::Transaction& tx) {
                           context.invoke(tx, "things/put", put("a"));
                       });
                       decided = at->iam.decisions() - before;
                       return Json();
                   })});
    at = &plane;

    run(plane);

    EXPECT_EQ(decided, 0);
    EXPECT_EQ(plane.count("savepoint"), 1);
}

TEST_P(Composite, M125_EverySubCallHasItsOwnAuditRow) {
    LabPlane plane(GetParam(), {with([](Context& context) {
                       for (const char* id : {"a", "b", "c"}) {
                           context.check("things/put", put(id));
                       }
                       context.sql().transaction([&](store::Transaction& tx) {
                           for (const char* id : {"a", "b", "c"}) {
                               context.invoke(tx, "things/put", put(id));
                           }
                       });
                       return Json();
                   })});

    run(plane);

    const auto rows = plane.audit();
    ASSERT_EQ(rows.size(), 4U);
    EXPECT_EQ(rows[3].method, "fleet/apply");
    EXPECT_EQ(rows[3].parent_id, "");
    for (std::size_t i = 0; i < 3; ++i) {
        EXPECT_EQ(rows[i].method, "things/put");
        EXPECT_EQ(rows[i].parent_id, rows[3].id);
        EXPECT_EQ(rows[i].tenant_id, "acme");
        EXPECT_EQ(rows[i].request_id, rows[3].request_id);
    }
}

TEST_P(Composite, M126_AFailedSubCallLeavesNothingBehind) {
    LabPlane plane(GetParam(), {with([](Context& context) {
                       context.check("things/put", put("bad", "throw"));
                       context.check("things/put", put("good"));
                       context.sql().transaction([&](store::Transaction& tx) {
                           EXPECT_EQ(
                               code_of([&] {
                                   context.invoke(tx, "things/put", put("bad", "throw"));
                               }),
                               ErrorCode::Conflict
                           );
                           context.invoke(tx, "things/put", put("good"));
                       });
                       return Json();
                   })});

    run(plane);

    EXPECT_EQ(plane.rows(), 1);
    EXPECT_EQ(plane.count_of("select count(*) from lab_rows where id = 'good'"), 1);
    EXPECT_EQ(plane.audit().size(), 2U);
}

TEST_P(Composite, M127_GrantsLiveOnlyForTheirCall) {
    std::function<Json(store::Transaction&, std::string_view, const Json&)> kept;
    int runs = 0;
    LabPlane plane(GetParam(), {with([&](Context& context) {
                       if (++runs == 1) {
                           context.check("things/put", put("a"));
                           kept = context.invoke;
                           return Json();
                       }
                       context.sql().transaction([&](store::Transaction& tx) {
                           context.invoke(tx, "things/put", put("a"));
                       });
                       return Json();
                   })});
    run(plane);

    EXPECT_EQ(plane.error_of("fleet/apply", kRoot, Json::object()).code(), ErrorCode::AccessDenied);
    plane.database().write([&](store::Transaction& tx) {
        EXPECT_EQ(code_of([&] { kept(tx, "things/put", put("a")); }), ErrorCode::AccessDenied);
    });
    EXPECT_EQ(plane.rows(), 0);
}

}  // namespace
}  // namespace compute::contract
