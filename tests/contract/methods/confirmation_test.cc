// Rows about delegated sessions (M93-M98) and about attributes staged by an extend (M87, M90).
#include "tests/contract/methods/lab.h"

namespace compute::contract {
namespace {

const std::string kPath = "claims/create";
const std::string kAgent = TestPlane::agent_of("acme");

class Delegated : public Contract {};
COMPUTE_BOTH_ENGINES(Delegated);

constexpr EpochMs kExpiry = 1'790'244'999'000;

// An IAM that holds what is asked, until the test approves it.
struct Holding {
    std::string reason;
    std::string hash;
    bool is_approved = false;
};

void hold(LabPlane& plane, Holding& holding) {
    plane.iam.set_policy([&holding](const auto&, const auto&) { return holding.is_approved; });
    plane.iam.set_confirmations(
        [&holding](const auto&, const auto&, std::string_view reason, std::string_view hash) {
            holding.reason = std::string(reason);
            holding.hash = std::string(hash);
            return iam::Confirmation{.id = "cnf-1", .expires_at = kExpiry};
        }
    );
}

TEST_P(Delegated, M93_ARefusedAgentAsksForAConfirmationWithTheDescription) {
    Holding holding;
    LabPlane plane(GetParam(), {claims()});
    hold(plane, holding);

    (void)plane.error_of(kPath, kAgent, claim_input("acme", "k1", 3));

    EXPECT_EQ(plane.iam.count("confirm"), 1);
    EXPECT_EQ(holding.reason, "3 GPUs");
    EXPECT_EQ(holding.hash.size(), 64U);
}

TEST_P(Delegated, M93_APlainMutationIsDescribedByPathAndResource) {
    Holding holding;
    LabPlane plane(GetParam(), {lab({entry("things", "poke", plain(Kind::Mutation))})});
    hold(plane, holding);

    const auto error = plane.error_of("things/poke", kAgent, {{"tenantId", "acme"}});

    EXPECT_EQ(error.code(), ErrorCode::ConfirmationRequired);
    EXPECT_EQ(holding.reason, "things/poke on thing/t-1");
}

TEST_P(Delegated, M94_HeldMeansConfirmationRequiredWithDetails) {
    Holding holding;
    LabPlane plane(GetParam(), {claims()});
    hold(plane, holding);

    const auto error = plane.error_of(kPath, kAgent, claim_input("acme", "k1"));

    EXPECT_EQ(error.code(), ErrorCode::ConfirmationRequired);
    ASSERT_NE(error.details(), nullptr);
    EXPECT_EQ(
        *error.details(),
        Json(
            {{"confirmationId", "cnf-1"},
             {"expiresAt", kExpiry},
             {"action", "compute:claims:create"},
             {"resource", {{"type", "compute-claim"}, {"id", claim_id("acme", "k1", kAgent)}}}}
        )
    );
}

TEST_P(Delegated, M94_ExpiresAtIsLeftOutWhenThereIsNone) {
    LabPlane plane(GetParam(), {claims()});
    plane.iam.set_policy([](const auto&, const auto&) { return false; });
    plane.iam.set_confirmations([](const auto&, const auto&, auto, auto) {
        return iam::Confirmation{.id = "cnf-1", .expires_at = {}};
    });

    EXPECT_FALSE(
        plane.error_of(kPath, kAgent, claim_input("acme", "k1")).details()->contains("expiresAt")
    );
}

TEST_P(Delegated, M95_NotHeldStaysAccessDenied) {
    LabPlane plane(GetParam(), {claims()});
    plane.iam.set_policy([](const auto&, const auto&) { return false; });

    EXPECT_EQ(
        plane.error_of(kPath, kAgent, claim_input("acme", "k1")).code(), ErrorCode::AccessDenied
    );

    EXPECT_EQ(plane.iam.count("confirm"), 1);
    EXPECT_EQ(plane.claim_state(claim_id("acme", "k1", kAgent)), "denied");
}

TEST_P(Delegated, M96_TheDraftWaitsForTheConfirmation) {
    Holding holding;
    LabPlane plane(GetParam(), {claims()});
    hold(plane, holding);

    (void)plane.error_of(kPath, kAgent, claim_input("acme", "k1"));

    EXPECT_EQ(plane.claim_state(claim_id("acme", "k1", kAgent)), "awaiting-confirmation");
}

TEST_P(Delegated, M97_AfterTheApprovalARetryProceeds) {
    Holding holding;
    LabPlane plane(GetParam(), {claims()});
    hold(plane, holding);
    (void)plane.error_of(kPath, kAgent, claim_input("acme", "k1"));

    holding.is_approved = true;
    const Json claim = plane.call(kPath, kAgent, claim_input("acme", "k1"));

    EXPECT_EQ(claim.at("id"), claim_id("acme", "k1", kAgent));
    EXPECT_EQ(claim.at("state"), "active");
    EXPECT_EQ(plane.claims(), 1);
}

TEST_P(Delegated, M97_AChangedRequestUnderAWaitingDraftIsRefused) {
    Holding holding;
    LabPlane plane(GetParam(), {claims()});
    hold(plane, holding);
    (void)plane.error_of(kPath, kAgent, claim_input("acme", "k1", 1));

    holding.is_approved = true;

    EXPECT_EQ(
        plane.error_of(kPath, kAgent, claim_input("acme", "k1", 900)).code(), ErrorCode::Conflict
    );
    EXPECT_EQ(plane.made(), 0);
}

TEST_P(Delegated, M98_OthersNeverAskForAConfirmation) {
    LabPlane plane(GetParam(), {claims(), lab({entry("things", "poke", plain(Kind::Mutation))})});
    plane.iam.set_policy([](const auto&, const auto&) { return false; });

    (void)plane.error_of(kPath, TestPlane::admin_of("acme"), claim_input("acme", "k1"));
    (void)plane.error_of("things/poke", TestPlane::admin_of("acme"), {{"tenantId", "acme"}});

    EXPECT_EQ(plane.iam.count("confirm"), 0);
}

TEST_P(Delegated, ReadsOfAnAgentNeverAskForAConfirmation) {
    LabPlane plane(GetParam(), {lab({entry("things", "get", plain(Kind::Read))})});
    plane.iam.set_policy([](const auto&, const auto&) { return false; });

    EXPECT_EQ(
        plane.error_of("things/get", kAgent, {{"tenantId", "acme"}}).code(), ErrorCode::AccessDenied
    );

    EXPECT_EQ(plane.iam.count("confirm"), 0);
}

TEST_P(Delegated, AnIamThatCannotSayWhetherItIsHeldLeavesTheDraftUndecided) {
    LabPlane plane(GetParam(), {claims()});
    plane.iam.set_policy([](const auto&, const auto&) { return false; });
    plane.iam.set_confirmations(
        [](const auto&, const auto&, auto, auto) -> std::optional<iam::Confirmation> {
            throw ComputeError(ErrorCode::IamUnavailable, "away");
        }
    );

    EXPECT_EQ(
        plane.error_of(kPath, kAgent, claim_input("acme", "k1")).code(), ErrorCode::IamUnavailable
    );

    EXPECT_EQ(plane.claim_state(claim_id("acme", "k1", kAgent)), "draft");
}

// Stages `count` as the pending size of {thing, t-1}; the handler makes it the real one. One
// function undoes the staging, after a refusal and after a failure.
Method<Plain> extend_method(const std::shared_ptr<bool>& fails) {
    const auto write =
        [](Context& context, store::Transaction& tx, Json attributes, std::optional<Json> pending) {
            context.authz_upsert(
                tx,
                {.resource = {"thing", "t-1"},
                 .tenant_id = *context.tenant_id,
                 .attributes = std::make_shared<const Json>(std::move(attributes)),
                 .owner_id = {},
                 .pending = pending ? std::make_shared<const Json>(*pending) : nullptr}
            );
        };
    const auto current = [](store::Transaction& tx) {
        const auto row = iam::find_projection(tx, {"thing", "t-1"});
        return row && row->attributes ? *row->attributes : Json{{"size", 1}};
    };
    Method<Plain> method = plain(Kind::Mutation);
    method.handler = [=](Context& context, Plain& input) {
        if (*fails) {
            throw ComputeError(ErrorCode::InvalidState, "it changed meanwhile");
        }
        write(context, context.transaction(), {{"size", *input.count}}, std::nullopt);
        return Json{{"size", *input.count}};
    };
    const auto clear = [=](Context& context, Plain&, store::Transaction& tx, const auto&) {
        write(context, tx, current(tx), std::nullopt);
    };
    auto& admission = method.admission.emplace();
    admission.prepare = [=](Context& context, Plain& input, store::Transaction& tx) {
        write(context, tx, current(tx), Json{{"size", *input.count}});
        return Prepared::decide({"thing", "t-1", std::nullopt});
    };
    admission.denied = clear;
    admission.abandoned = clear;
    return method;
}

TEST_P(Delegated, M87_AbandonedUndoesWhatPrepareStaged) {
    const auto fails = std::make_shared<bool>(true);
    LabPlane plane(GetParam(), {lab({entry("things", "extend", extend_method(fails))})});
    Json seen;
    plane.iam.set_policy([&](const auto&, const auto&) {
        seen = plane.attributes_of("thing", "t-1");
        return true;
    });

    (void)plane.error_of(
        "things/extend", TestPlane::admin_of("acme"), {{"tenantId", "acme"}, {"count", 9}}
    );
    EXPECT_EQ(seen, Json({{"size", 9}}));
    EXPECT_EQ(plane.attributes_of("thing", "t-1"), Json({{"size", 1}}));

    *fails = false;
    plane.call("things/extend", TestPlane::admin_of("acme"), {{"tenantId", "acme"}, {"count", 5}});
    EXPECT_EQ(plane.attributes_of("thing", "t-1"), Json({{"size", 5}}));
}

TEST_P(Delegated, M87_DeniedUndoesItToo) {
    LabPlane plane(
        GetParam(), {lab({entry("things", "extend", extend_method(std::make_shared<bool>(false)))})}
    );
    plane.iam.set_policy([](const auto&, const auto&) { return false; });

    (void)plane.error_of(
        "things/extend", TestPlane::admin_of("acme"), {{"tenantId", "acme"}, {"count", 9}}
    );

    EXPECT_EQ(plane.attributes_of("thing", "t-1"), Json({{"size", 1}}));
}

}  // namespace
}  // namespace compute::contract
