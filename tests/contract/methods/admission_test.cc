// Rows about admissions: M67-M92. Delegated sessions and replay-only admissions are in
// confirmation_test.cc and replay_test.cc.
#include "tests/contract/methods/lab.h"

namespace compute::contract {
namespace {

const std::string kPath = "claims/create";
const std::string kAnn = TestPlane::admin_of("acme");

class Admission : public Contract {};
COMPUTE_BOTH_ENGINES(Admission);

// A policy over the attributes of the draft: at most 8 GPUs for at most an hour.
void cap(LabPlane& plane, int* asked = nullptr) {
    plane.iam.set_policy([&plane, asked](const iam::Session&, const iam::Question& question) {
        if (asked != nullptr) {
            ++*asked;
        }
        const Json attributes = plane.attributes_of("claim", question.resource.id);
        return attributes.is_object() && attributes.at("gpuCount") <= 8 &&
               attributes.at("durationSeconds") <= 3600;
    });
}

TEST_P(Admission, M67_TheRequestIsWrittenAsADraftFirst) {
    std::string seen;
    LabPlane plane(GetParam(), {claims()});
    plane.iam.set_policy([&](const auto&, const iam::Question& question) {
        seen = plane.claim_state(question.resource.id) + " " +
               plane.attributes_of("claim", question.resource.id).dump();
        EXPECT_EQ(plane.made(), 0);
        return true;
    });

    plane.call(kPath, kAnn, claim_input("acme", "k1", 4));

    EXPECT_EQ(seen, R"(draft {"durationSeconds":60,"gpuCount":4})");
    EXPECT_THAT(
        plane.log(),
        ElementsAre(
            "auth",
            "begin",
            "prepare",
            "commit",
            "sync",
            "require",
            "begin",
            "handler",
            "audit",
            "commit"
        )
    );
}

TEST_P(Admission, M68_OnlyAnAllowedDraftBecomesReal) {
    LabPlane plane(GetParam(), {claims()});
    cap(plane);

    EXPECT_EQ(
        plane.error_of(kPath, kAnn, claim_input("acme", "k16", 16)).code(), ErrorCode::AccessDenied
    );
    const Json claim = plane.call(kPath, kAnn, claim_input("acme", "k8", 8));

    EXPECT_EQ(plane.claim_state(claim_id("acme", "k16")), "denied");
    EXPECT_EQ(claim.at("state"), "active");
    EXPECT_EQ(plane.made(), 1);
}

TEST_P(Admission, M69_SeveralAttributesAreCappedInOneDecision) {
    int asked = 0;
    LabPlane plane(GetParam(), {claims()});
    cap(plane, &asked);
    Json long_one = claim_input("acme", "k1", 8);
    long_one["durationSeconds"] = 3601;

    EXPECT_EQ(plane.error_of(kPath, kAnn, long_one).code(), ErrorCode::AccessDenied);

    EXPECT_EQ(asked, 1);
    EXPECT_EQ(plane.iam.count("require"), 1);
}

TEST_P(Admission, M70_PrepareAsksNobodyAndLeavesNothingWhenItThrows) {
    LabPlane plane(GetParam(), {claims({.in_prepare = [](Context&, Claim&) {
                       throw ComputeError(ErrorCode::QuotaExceeded, "full");
                   }})});

    EXPECT_EQ(
        plane.error_of(kPath, kAnn, claim_input("acme", "k1")).code(), ErrorCode::QuotaExceeded
    );

    EXPECT_EQ(plane.claims(), 0);
    EXPECT_THAT(plane.log(), ElementsAre("auth", "begin", "prepare", "rollback"));
}

TEST_P(Admission, M70_PrepareCannotAskTheIam) {
    LabPlane plane(GetParam(), {claims({.in_prepare = [](Context& context, Claim& claim) {
                       (void)context.iam().billing_check(
                           *context.session, TenantId(claim.tenant_id), 1.0
                       );
                   }})});

    EXPECT_EQ(
        plane.error_of(kPath, kAnn, claim_input("acme", "k1")).code(), ErrorCode::InternalError
    );
    EXPECT_EQ(plane.iam.count("billing"), 0);
}

TEST_P(Admission, M71_AKeyIsScopedToTenantAndIdentity) {
    LabPlane plane(GetParam(), {claims()});

    plane.call(kPath, "admin:acme", claim_input("acme", "k1"));
    plane.call(kPath, "admin:acme#bob", claim_input("acme", "k1"));
    plane.call(kPath, "admin:root", claim_input("acme", "k1"));
    plane.call(kPath, "admin:root", claim_input("other", "k1"));

    EXPECT_EQ(plane.claims(), 4);
}

TEST_P(Admission, M72_ARetryFindsItsDraft) {
    LabPlane plane(GetParam(), {claims()});
    cap(plane);

    (void)plane.error_of(kPath, kAnn, claim_input("acme", "k1", 16));
    (void)plane.error_of(kPath, kAnn, claim_input("acme", "k1", 16));

    EXPECT_EQ(plane.claims(), 1);
    const auto calls = plane.iam.calls();
    EXPECT_EQ(calls.at(2).resource.id, claim_id("acme", "k1"));
    EXPECT_EQ(calls.at(4).resource.id, claim_id("acme", "k1"));
}

TEST_P(Admission, M73_AFinishedRequestIsReplayed) {
    LabPlane plane(GetParam(), {claims()});
    const Json first = plane.call(kPath, kAnn, claim_input("acme", "k1"));
    plane.clear();

    const Json second = plane.call(kPath, kAnn, claim_input("acme", "k1"));

    EXPECT_EQ(first, second);
    EXPECT_EQ(plane.iam.decisions(), 0);
    EXPECT_EQ(plane.audit().size(), 1U);
    EXPECT_EQ(plane.made(), 1);
}

TEST_P(Admission, M74_ADifferentRequestUnderTheSameKeyIsAConflict) {
    LabPlane plane(GetParam(), {claims()});
    plane.call(kPath, kAnn, claim_input("acme", "k1", 1));

    const auto error = plane.error_of(kPath, kAnn, claim_input("acme", "k1", 2));

    EXPECT_EQ(error.code(), ErrorCode::Conflict);
    EXPECT_EQ(error.details()->at("reason"), "idempotency-key-reused");
}

TEST(DraftId, M75_IsDeterministicAndSensitiveToEveryPart) {
    const auto id = [](const char* prefix, const char* tenant, const char* identity, const char* key
                    ) {
        return method::draft_id(prefix, TenantId(tenant), IdentityId(identity), key);
    };
    const std::string base = id("rsv_", "acme", "ann", "k1");

    EXPECT_EQ(base, id("rsv_", "acme", "ann", "k1"));
    EXPECT_NE(base, id("rsv_", "acme2", "ann", "k1"));
    EXPECT_NE(base, id("rsv_", "acme", "bob", "k1"));
    EXPECT_NE(base, id("rsv_", "acme", "ann", "k2"));
    EXPECT_NE(id("rsv_", "ab", "c", "k"), id("rsv_", "a", "bc", "k"));
    EXPECT_EQ(base.substr(4), id("ins_", "acme", "ann", "k1").substr(4));
    EXPECT_NO_THROW((void)schema::id_of("rsv_").check(base, "id"));
}

TEST_P(Admission, M76_TheDecisionIsOneRequireOnTheDraft) {
    LabPlane plane(GetParam(), {claims()});

    plane.call(kPath, kAnn, claim_input("acme", "k1"));

    EXPECT_EQ(plane.iam.decisions(), 1);
    EXPECT_EQ(
        plane.iam.calls().at(2).resource,
        (iam::ResourceRef{"compute-claim", claim_id("acme", "k1")})
    );
}

TEST_P(Admission, M77_ResourceMayBeUndefinedForAdmissionsOnly) {
    Method<Plain> without = plain(Kind::Mutation);
    without.resource = [](const Plain&) -> std::optional<Resource> { return std::nullopt; };
    LabPlane plane(GetParam(), {claims(), lab({entry("things", "poke", without)})});

    EXPECT_NO_THROW(plane.call(kPath, kAnn, claim_input("acme", "k1")));
    EXPECT_EQ(
        plane.error_of("things/poke", kAnn, {{"tenantId", "acme"}}).code(), ErrorCode::InvalidConfig
    );
}

TEST_P(Admission, M78_CheckRunsBetweenTheAllowAndTheHandlerOutsideOfTransactions) {
    int depth = -1;
    LabPlane plane(
        GetParam(),
        {claims(
            {.check =
                 [&](Context& context, Claim&, const Resource& resource) {
                     depth = store::transaction_depth();
                     EXPECT_EQ(context.tx, nullptr);
                     EXPECT_EQ(resource.type, "claim");
                 }}
        )}
    );

    plane.call(kPath, kAnn, claim_input("acme", "k1"));

    EXPECT_EQ(depth, 0);
    EXPECT_THAT(
        plane.log(),
        ElementsAre(
            "auth",
            "begin",
            "prepare",
            "commit",
            "sync",
            "require",
            "check",
            "begin",
            "handler",
            "audit",
            "commit"
        )
    );
}

void check_budget(Context& context, Claim& claim, const Resource&) {
    const auto verdict =
        context.iam().billing_check(*context.session, TenantId(claim.tenant_id), 1.0);
    if (!verdict.is_allowed) {
        throw ComputeError(
            ErrorCode::BudgetExceeded, "blocked by " + verdict.blocked_by.value_or("?")
        );
    }
}

TEST_P(Admission, M79_CheckMayAskTheIam) {
    LabPlane plane(GetParam(), {claims({.check = check_budget})});
    plane.iam.set_billing([](const TenantId&, double) {
        return iam::BillingVerdict{.is_allowed = false, .blocked_by = "monthly"};
    });

    const auto error = plane.error_of(kPath, kAnn, claim_input("acme", "k1"));

    EXPECT_EQ(error.code(), ErrorCode::BudgetExceeded);
    EXPECT_EQ(error.message(), "blocked by monthly");
}

TEST_P(Admission, M80_InCheckEachStatementStandsAlone) {
    LabPlane plane(GetParam(), {claims({.check = [](Context& context, Claim&, const Resource&) {
                       context.sql().execute(
                           "insert into lab_rows (id, note) values ($1, $2)", {"from-check", ""}
                       );
                       throw ComputeError(ErrorCode::BudgetExceeded, "no");
                   }})});

    (void)plane.error_of(kPath, kAnn, claim_input("acme", "k1"));

    EXPECT_EQ(plane.rows(), 1);
}

TEST_P(Admission, M81_AThrowInCheckLeavesTheDraftUndecided) {
    LabPlane plane(GetParam(), {claims({.check = [](Context&, Claim&, const Resource&) {
                       throw ComputeError(ErrorCode::BudgetExceeded, "no");
                   }})});

    EXPECT_EQ(
        plane.error_of(kPath, kAnn, claim_input("acme", "k1")).code(), ErrorCode::BudgetExceeded
    );

    EXPECT_EQ(plane.count("denied"), 0);
    EXPECT_EQ(plane.count("abandoned"), 0);
    EXPECT_EQ(plane.claim_state(claim_id("acme", "k1")), "draft");
}

TEST_P(Admission, M82_ARetryAfterACheckIsDecidedAgain) {
    LabPlane plane(GetParam(), {claims({.check = check_budget})});
    plane.iam.set_billing([](const TenantId&, double) {
        return iam::BillingVerdict{.is_allowed = false, .blocked_by = "monthly"};
    });
    (void)plane.error_of(kPath, kAnn, claim_input("acme", "k1"));
    plane.iam.set_billing({});

    plane.call(kPath, kAnn, claim_input("acme", "k1"));

    EXPECT_EQ(plane.iam.count("require"), 2);
    EXPECT_EQ(plane.made(), 1);
}

TEST_P(Admission, M84_TheHandlerRunsInASecondTransactionWithTheAdmission) {
    std::string draft;
    const store::Transaction* first = nullptr;
    bool is_other = false;
    LabPlane plane(
        GetParam(),
        {claims(
            {.in_prepare =
                 [&](Context& context, Claim&) {
                     first = context.tx;
                     context.tx->memo("lab.mark") = 1;
                 },
             .in_handler =
                 [&](Context& context, Claim&) {
                     draft =
                         context.admission->resource.id + " " + context.admission->draft_id.value();
                     is_other = !context.tx->memo("lab.mark").has_value();
                 }}
        )}
    );

    plane.call(kPath, kAnn, claim_input("acme", "k1"));

    EXPECT_EQ(draft, claim_id("acme", "k1") + " " + claim_id("acme", "k1"));
    EXPECT_TRUE(is_other);
    EXPECT_EQ(plane.count("begin"), 2);
}

TEST_P(Admission, M85_TheAuditRowIsWrittenInTheSecondTransaction) {
    LabPlane plane(GetParam(), {claims({.in_handler = [](Context&, Claim& claim) {
                       if (claim.key == "bad") {
                           throw ComputeError(ErrorCode::Conflict, "no");
                       }
                   }})});

    (void)plane.error_of(kPath, kAnn, claim_input("acme", "bad"));
    EXPECT_EQ(plane.claims(), 1);
    EXPECT_THAT(plane.audit(), IsEmpty());

    plane.call(kPath, kAnn, claim_input("acme", "good", 3));
    ASSERT_EQ(plane.audit().size(), 1U);
    EXPECT_EQ(
        plane.audit().at(0).admission,
        Json(
            {{"resource", {{"type", "claim"}, {"id", claim_id("acme", "good")}}},
             {"draftId", claim_id("acme", "good")},
             {"context", {{"gpuCount", 3}, {"durationSeconds", 60}}}}
        )
    );
}

TEST_P(Admission, M86_AbandonedRunsWhenAnAllowedHandlerThrew) {
    std::string error;
    LabPlane plane(
        GetParam(),
        {claims(
            {.in_handler = [](Context&,
                              Claim&) { throw ComputeError(ErrorCode::Conflict, "meanwhile"); },
             .in_abandoned = [&](Context& context, const std::exception& thrown
                             ) { error = context.path + " " + thrown.what(); }}
        )}
    );

    EXPECT_EQ(plane.error_of(kPath, kAnn, claim_input("acme", "k1")).message(), "meanwhile");

    EXPECT_EQ(error, "claims/create meanwhile");
    EXPECT_EQ(plane.count("begin"), 3);
    EXPECT_EQ(plane.claim_state(claim_id("acme", "k1")), "abandoned");
}

TEST_P(Admission, M88_ARetryAfterAnAbandonedRequestCanSucceed) {
    int runs = 0;
    LabPlane plane(GetParam(), {claims({.in_handler = [&](Context&, Claim&) {
                       if (++runs == 1) {
                           throw ComputeError(ErrorCode::Conflict, "meanwhile");
                       }
                   }})});
    (void)plane.error_of(kPath, kAnn, claim_input("acme", "k1"));

    EXPECT_EQ(plane.call(kPath, kAnn, claim_input("acme", "k1")).at("state"), "active");
    EXPECT_EQ(plane.iam.count("require"), 2);
}

TEST_P(Admission, M89_AFailureOfAbandonedIsLoggedAndTheHandlersErrorStays) {
    LabPlane plane(
        GetParam(),
        {claims(
            {.in_handler = [](Context&,
                              Claim&) { throw ComputeError(ErrorCode::Conflict, "meanwhile"); },
             .in_abandoned =
                 [](Context&, const std::exception&) {
                     throw std::runtime_error("clean-up failed");
                 }}
        )}
    );

    EXPECT_EQ(plane.error_of(kPath, kAnn, claim_input("acme", "k1")).message(), "meanwhile");
    EXPECT_EQ(plane.messages.count("admission.hook-failed"), 1);
    EXPECT_TRUE(plane.messages.mentions("clean-up failed"));
}

TEST_P(Admission, M91_DeniedRunsInATransactionOfItsOwn) {
    LabPlane plane(GetParam(), {claims()});

    EXPECT_EQ(
        plane.error_of(kPath, TestPlane::viewer_of("acme"), claim_input("acme", "k1")).code(),
        ErrorCode::AccessDenied
    );

    EXPECT_EQ(plane.claim_state(claim_id("acme", "k1", "viewer:acme")), "denied");
    EXPECT_THAT(
        plane.log(),
        ElementsAre(
            "auth", "begin", "prepare", "commit", "sync", "require", "begin", "denied", "commit"
        )
    );
}

TEST_P(Admission, M92_AFailureOfDeniedIsLoggedAndTheRefusalStays) {
    LabPlane plane(GetParam(), {claims({.in_denied = [](Context&) {
                       throw std::runtime_error("marking failed");
                   }})});

    EXPECT_EQ(
        plane.error_of(kPath, TestPlane::viewer_of("acme"), claim_input("acme", "k1")).code(),
        ErrorCode::AccessDenied
    );
    EXPECT_EQ(plane.messages.count("admission.hook-failed"), 1);
}

}  // namespace
}  // namespace compute::contract
