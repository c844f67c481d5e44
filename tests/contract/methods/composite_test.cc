// Rows about composites: M83, M117-M128, M130-M134, on a test composite of the shape of
// fleet.apply.
#include "core/json.h"

#include "tests/contract/methods/lab.h"

namespace compute::contract {
namespace {

const std::string kRoot = TestPlane::root();
const Json kAcme{{"tenantId", "acme"}};

class Composite : public Contract {};
COMPUTE_BOTH_ENGINES(Composite);

using Body = std::function<Json(Context&)>;

// A composite whose handler is the test's.
Method<Plain> composite(Body body) {
    Method<Plain> method = plain(Kind::Mutation, "compute:fleet:admin");
    method.resource = [](const Plain&) -> std::optional<Resource> { return Resource::fleet(); };
    method.transaction = method::TransactionMode::Manual;
    method.handler = [body = std::move(body)](Context& context, Plain&) { return body(context); };
    return method;
}

// things/put inserts {id, text}; it throws when the text says so.
Method<Plain> put_method() {
    Method<Plain> method = plain(Kind::Mutation, "compute:lab:put");
    method.handler = [](Context& context, Plain& input) {
        insert_row(context.transaction(), input.id.value_or("?"), input.text.value_or(""));
        if (input.text == "throw") {
            throw ComputeError(ErrorCode::Conflict, "no");
        }
        return Json{{"id", input.id.value_or("?")}};
    };
    return method;
}

Module with(Body body, std::vector<MethodEntry> more = {}) {
    std::vector<MethodEntry> methods{
        entry("fleet", "apply", composite(std::move(body))), entry("things", "put", put_method())};
    methods.insert(methods.end(), more.begin(), more.end());
    return lab(std::move(methods));
}

Json put(const std::string& id, const std::string& text = "") {
    return Json{{"tenantId", "acme"}, {"id", id}, {"text", text}};
}

ErrorCode code_of(const std::function<void()>& function) {
    try {
        function();
    } catch (const ComputeError& error) {
        return error.code();
    }
    ADD_FAILURE() << "nothing was thrown";
    return ErrorCode::InternalError;
}

Json run(LabPlane& plane) {
    return plane.call("fleet/apply", kRoot, Json::object());
}

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

TEST_P(Composite, M83_CheckRunsTheAdmissionsCheckToo) {
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

TEST_P(Composite, M128_InvokeUsesTheVeryInputThatCheckRanOn) {
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

TEST_P(Composite, M130_WhatCannotBeComposedIsUnsupported) {
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

TEST_P(Composite, M131_ReplayOnlyAdmissionsWork) {
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

TEST_P(Composite, M131_AReplayThatIsGoneByInvokeWasNeverDecided) {
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

TEST_P(Composite, M132_ItsOwnAuditRowComesAfterItsSuccess) {
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

TEST_P(Composite, M133_AllOrNothing) {
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

TEST_P(Composite, M134_DriftBetweenThePhasesAppliesNothing) {
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

TEST_P(Composite, M135_PathsAreRoutesBelowTheBasePath) {
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

TEST_P(Composite, AGrantOfARolledBackTransactionMayBeUsedAgain) {
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
