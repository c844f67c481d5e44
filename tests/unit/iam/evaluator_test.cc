#include "iam/local/evaluator.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "core/json.h"

namespace compute::iam::local {
namespace {

using ::testing::HasSubstr;

Source source(const std::string& name, const std::string& statements) {
    return {
        name,
        Policy::compile(
            parse_json(R"({"version":1,"statements":)" + statements + "}"), "document"
        )};
}

// Asks as alice of acme about a pool that she owns.
class Asking {
public:
    explicit Asking(
        std::string action = "compute:pools:read", std::string resource = "compute-pool/p1"
    )
        : action_(std::move(action)), resource_(std::move(resource)) {}

    [[nodiscard]] Decision of(const Documents& documents) const {
        return evaluate(
            documents, Request{action_, resource_, Facts{&principal_, &facts_, &request_}}
        );
    }

private:
    std::string action_;
    std::string resource_;
    Json principal_{{"id", "alice"}, {"tenantId", "acme"}, {"pool", "p1"}, {"any", "*"}};
    Json facts_{{"ownerId", "alice"}, {"tenantId", "acme"}};
    Json request_{{"time", "2026-09-24T10:15:02.114Z"}};
};

const char* const kAllowPools =
    R"([{"effect":"allow","actions":["compute:pools:*"],"resources":["compute-pool/*"]}])";
const char* const kDenyRead =
    R"([{"sid":"No","effect":"deny","actions":["*:read"],"resources":["*"]}])";

TEST(Evaluator, WithoutAStatementNothingIsAllowed) {
    EXPECT_EQ(Asking().of({}).reason, "no statement allows it");
    EXPECT_FALSE(Asking().of({}).is_allowed);
}

TEST(Evaluator, GrantsAreAUnion) {
    const Documents documents{{source("a", kDenyRead), source("b", kAllowPools)}, {}, {}};

    EXPECT_TRUE(Asking("compute:pools:list").of(documents).is_allowed);
    EXPECT_FALSE(Asking("compute:volumes:list", "compute-volume/v").of(documents).is_allowed);
}

TEST(Evaluator, ADenyWinsWhereverItStands) {
    const Source allow = source("allow", kAllowPools);
    const Source deny = source("deny", kDenyRead);

    EXPECT_EQ(Asking().of({{allow, deny}, {}, {}}).reason, "denied by deny, statement 1 (No)");
    EXPECT_FALSE(Asking().of({{allow}, {allow, deny}, {}}).is_allowed);
    EXPECT_FALSE(Asking().of({{allow}, {}, {deny}}).is_allowed);
    EXPECT_TRUE(Asking().of({{allow}, {}, {}}).is_allowed);
}

TEST(Evaluator, EveryBoundaryMustAllow) {
    const Source pools = source("pools", kAllowPools);
    const Source reads =
        source("reads", R"([{"effect":"allow","actions":["*:read"],"resources":["*"]}])");
    const Documents documents{{pools}, {pools, reads}, {}};

    EXPECT_TRUE(Asking().of(documents).is_allowed);
    EXPECT_EQ(Asking("compute:pools:delete").of(documents).reason, "outside reads");
}

TEST(Evaluator, ABoundaryGrantsNothing) {
    EXPECT_FALSE(Asking().of({{}, {source("pools", kAllowPools)}, {}}).is_allowed);
}

TEST(Evaluator, AnAllowAmongTheOnlyDeniesCountsForNothing) {
    EXPECT_FALSE(Asking().of({{}, {}, {source("agent", kAllowPools)}}).is_allowed);
}

TEST(Evaluator, AVariableStandsForItsValueAndNeverForAPattern) {
    const auto with = [](const std::string& resource) {
        return Documents{
            {source(
                "p", R"([{"effect":"allow","actions":["*"],"resources":[")" + resource + R"("]}])"
            )},
            {},
            {}};
    };

    EXPECT_TRUE(Asking().of(with("compute-pool/${principal.pool}")).is_allowed);
    EXPECT_FALSE(Asking().of(with("compute-pool/${principal.any}")).is_allowed);
    EXPECT_FALSE(Asking().of(with("compute-pool/${principal.nothing}")).is_allowed);
    EXPECT_TRUE(Asking().of(with("compute-*/${principal.pool}")).is_allowed);
}

TEST(Policy, WhatTheFormatDoesNotAllowIsRefusedByPath) {
    struct Refusal {
        const char* document;
        const char* message;
    };
    constexpr Refusal kRefusals[] = {
        {R"([])", "document: must be an object"},
        {R"({"statements":[]})", "document.version: Required"},
        {R"({"version":2,"statements":[]})", "document.version: must be 1"},
        {R"({"version":1})", "document.statements: Required"},
        {R"({"version":1,"statements":[],"id":"x"})", "document: Unknown field id"},
        {R"({"version":1,"statements":[{"effect":"permit","actions":["*"],"resources":["*"]}]})",
         "document.statements[0].effect: must be allow or deny"},
        {R"({"version":1,"statements":[{"effect":"allow","resources":["*"]}]})",
         "statements[0].actions: Required"},
        {R"({"version":1,"statements":[{"effect":"allow","actions":[],"resources":["*"]}]})",
         "statements[0].actions: must be a list"},
        {R"({"version":1,"statements":[{"effect":"allow","actions":["*"],"resources":[""]}]})",
         "statements[0].resources[0]"},
        {R"({"version":1,"statements":[{"effect":"allow","actions":["compute:${principal.id}:x"],"resources":["*"]}]})",
         "statements[0].actions[0]: an action has no variables"},
        {R"({"version":1,"statements":[{"effect":"allow","actions":["*"],"resources":["${principal.id}/x"]}]})",
         "statements[0].resources[0]: a variable may stand only behind the type"},
        {R"({"version":1,"statements":[{"effect":"allow","actions":["*"],"resources":["compute-${principal.id}"]}]})",
         "a variable may stand only behind the type"},
        {R"({"version":1,"statements":[{"effect":"allow","actions":["*"],"resources":["compute-pool/${env.x}"]}]})",
         "statements[0].resources[0]: unknown key env.x"},
        {R"({"version":1,"statements":[{"effect":"allow","actions":["*"],"resources":["*"],"principal":"x"}]})",
         "statements[0]: Unknown field principal"},
    };
    for (const Refusal& refusal : kRefusals) {
        try {
            (void)Policy::compile(parse_json(refusal.document), "document");
            ADD_FAILURE() << refusal.document << " was taken";
        } catch (const ComputeError& error) {
            EXPECT_EQ(error.code(), ErrorCode::InvalidInput);
            EXPECT_THAT(error.message(), HasSubstr(refusal.message)) << refusal.document;
        }
    }
}

TEST(Policy, Takes128StatementsAndNoMore) {
    Json document{{"version", 1}, {"statements", Json::array()}};
    const Json statement = parse_json(R"({"effect":"allow","actions":["a"],"resources":["b"]})");
    for (int i = 0; i < 128; ++i) {
        document["statements"].push_back(statement);
    }

    EXPECT_EQ(Policy::compile(document, "document")->statements().size(), 128U);
    document["statements"].push_back(statement);
    EXPECT_THROW((void)Policy::compile(document, "document"), ComputeError);
}

// Random documents over a small vocabulary, so that they often meet.
rc::Gen<Source> any_source() {
    return rc::gen::exec([] {
        Json statements = Json::array();
        const int count = *rc::gen::inRange(0, 4);
        for (int i = 0; i < count; ++i) {
            const auto action = *rc::gen::element<std::string>(
                "*", "compute:pools:*", "*:read", "compute:pools:read", "x"
            );
            const auto resource = *rc::gen::element<std::string>(
                "*", "compute-pool/*", "compute-pool/p1", "compute-pool/p?", "y/z"
            );
            const auto effect = *rc::gen::element<std::string>("allow", "allow", "allow", "deny");
            Json statement{
                {"effect", effect},
                {"actions", Json::array({action})},
                {"resources", Json::array({resource})}};
            if (*rc::gen::arbitrary<bool>()) {
                statement["conditions"] = Json{
                    {"StringEquals",
                     Json{{"resource.ownerId", *rc::gen::element<std::string>("alice", "bob")}}}};
            }
            statements.push_back(std::move(statement));
        }
        return Source{
            "any", Policy::compile(Json{{"version", 1}, {"statements", statements}}, "document")};
    });
}
rc::Gen<Documents> any_documents() {
    return rc::gen::exec([] {
        const auto some = rc::gen::resize(4, rc::gen::container<std::vector<Source>>(any_source()));
        return Documents{*some, *some, *some};
    });
}

TEST(EvaluatorProperty, ADenyThatAppliesAlwaysWins) {
    EXPECT_TRUE(rc::check("deny wins", [] {
        Documents documents = *any_documents();
        const Source deny = source("deny", kDenyRead);
        const int place = *rc::gen::inRange(0, 3);
        (place == 0   ? documents.grants
         : place == 1 ? documents.boundaries
                      : documents.only_denies)
            .push_back(deny);
        RC_ASSERT(!Asking().of(documents).is_allowed);
    }));
}

TEST(EvaluatorProperty, ABoundaryOnlyShrinks) {
    EXPECT_TRUE(rc::check("boundaries shrink", [] {
        const Documents before = *any_documents();
        Documents after = before;
        after.boundaries.push_back(*any_source());
        RC_ASSERT(Asking().of(before).is_allowed || !Asking().of(after).is_allowed);
    }));
}

TEST(EvaluatorProperty, TheOrderOfDocumentsChangesNothing) {
    EXPECT_TRUE(rc::check("order does not matter", [] {
        const Documents documents = *any_documents();
        Documents reversed = documents;
        std::reverse(reversed.grants.begin(), reversed.grants.end());
        std::reverse(reversed.boundaries.begin(), reversed.boundaries.end());
        RC_ASSERT(Asking().of(documents).is_allowed == Asking().of(reversed).is_allowed);
    }));
}

TEST(EvaluatorProperty, AnAllowIsAlwaysTracedToAStatementOfAGrant) {
    EXPECT_TRUE(rc::check("trace agrees", [] {
        const Documents documents = *any_documents();
        const Json principal = Json::object();
        const Json facts{{"ownerId", "alice"}};
        const Json request_json = Json::object();
        const Request request{
            "compute:pools:read", "compute-pool/p1", Facts{&principal, &facts, &request_json}};
        bool is_granted = false;
        bool is_denied = false;
        for (const Step& step : trace(documents, request)) {
            is_granted = is_granted ||
                         (step.applies && step.role == "grant" && step.effect == Effect::Allow);
            is_denied = is_denied || (step.applies && step.effect == Effect::Deny);
        }
        RC_ASSERT(!evaluate(documents, request).is_allowed || (is_granted && !is_denied));
    }));
}

}  // namespace
}  // namespace compute::iam::local
