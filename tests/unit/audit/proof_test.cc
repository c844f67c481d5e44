#include "audit/proof.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "core/json.h"

#include "tests/unit/audit/rig.h"

namespace compute::audit {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class Proving : public AuditTest {
protected:
    Proving() {
        ids_ = rig.append_rows("acme", 7);
        rig.append_rows("globex", 2);
        seal_now(rig.tools());
    }

    template <class Function>
    ErrorCode code_of(const Function& function) {
        try {
            function();
        } catch (const ComputeError& error) {
            return error.code();
        }
        ADD_FAILURE() << "did not fail";
        return ErrorCode::InternalError;
    }

    std::vector<std::string> ids_;
};
INSTANTIATE_TEST_SUITE_P(Engines, Proving, support::both_engines(), support::engine_name);

TEST_P(Proving, EveryRowHasAProofThatHolds) {
    for (const std::string& id : ids_) {
        // As it comes back from a file.
        const Json proof = parse_json(dump_json(prove(rig.db(), id)));

        const ProofVerdict verdict = judge_proof(proof, {});
        EXPECT_THAT(verdict.faults, IsEmpty());
        EXPECT_EQ(verdict.row, id);
        EXPECT_EQ(verdict.tenant_id, "acme");
        EXPECT_EQ(verdict.checkpoint, 1);
    }
}

TEST_P(Proving, WhateverIsChangedInAProofBreaksIt) {
    const Json proof = prove(rig.db(), ids_[3]);
    const std::pair<const char*, Json> changes[] = {
        {"/row/method", "pools/delete"},
        {"/row/time", 1},
        {"/row/tenantId", "globex"},
        {"/row/sourceIp", "10.0.0.1"},
        {"/row/position", "1.1"},
        {"/index", 2},
        {"/path/0", std::string(64, 'a')},
        {"/checkpoint/root", std::string(64, 'a')},
        {"/checkpoint/rows", 8},
        {"/checkpoint/sealedAt", 1},
        {"/checkpoint/tenantId", "globex"},
        {"/checkpoint/previous", "00"},
        {"/checkpoint/signature", "AAAA"}};
    for (const auto& [pointer, value] : changes) {
        Json changed = proof;
        changed[Json::json_pointer(pointer)] = value;

        EXPECT_THAT(judge_proof(changed, {}).faults, Not(IsEmpty())) << pointer;
    }
    Json without = proof;
    without["row"].erase("decisionReason");
    EXPECT_THAT(judge_proof(without, {}).faults, Not(IsEmpty()));
}

TEST_P(Proving, ANamedKeyMustBeTheOneThatSigned) {
    const Json proof = prove(rig.db(), ids_[0]);
    const std::string key = proof.at("publicKey");
    const std::string other = make_key(rig.box, rig.clock, rig.rng).key.public_key;

    EXPECT_TRUE(judge_proof(proof, key).is_ok());
    EXPECT_THAT(judge_proof(proof, other).faults, ElementsAre(HasSubstr("not signed by the key")));
    EXPECT_EQ(
        code_of([&] { static_cast<void>(judge_proof(proof, "AAAA")); }), ErrorCode::InvalidInput
    );
}

TEST_P(Proving, WhatIsNoProofIsRefused) {
    const Json proof = prove(rig.db(), ids_[0]);
    for (const char* const member :
         {"version", "row", "checkpoint", "index", "path", "publicKey"}) {
        Json without = proof;
        without.erase(member);
        EXPECT_EQ(
            code_of([&] { static_cast<void>(judge_proof(without, {})); }), ErrorCode::InvalidInput
        ) << member;
        Json wrong = proof;
        wrong[member] = nullptr;
        EXPECT_EQ(
            code_of([&] { static_cast<void>(judge_proof(wrong, {})); }), ErrorCode::InvalidInput
        ) << member;
    }
    Json more = proof;
    more["extra"] = 1;
    EXPECT_EQ(code_of([&] { static_cast<void>(judge_proof(more, {})); }), ErrorCode::InvalidInput);
    for (const auto& [name, value] : proof.at("checkpoint").items()) {
        Json without = proof;
        without["checkpoint"].erase(name);
        EXPECT_EQ(
            code_of([&] { static_cast<void>(judge_proof(without, {})); }), ErrorCode::InvalidInput
        ) << name;
    }
}

TEST_P(Proving, ARowThatIsNotSealedOrNotThereHasNone) {
    const std::string fresh = rig.append_row("acme");

    EXPECT_EQ(code_of([&] { static_cast<void>(prove(rig.db(), fresh)); }), ErrorCode::InvalidState);
    EXPECT_EQ(
        code_of([&] { static_cast<void>(prove(rig.db(), "aud_none")); }), ErrorCode::NotFound
    );
}

TEST_P(Proving, ARowThatWasChangedHasNone) {
    rig.execute("update audit_events set method = 'x' where id = $1", {ids_[0]});

    EXPECT_EQ(
        code_of([&] { static_cast<void>(prove(rig.db(), ids_[0])); }), ErrorCode::InvalidState
    );
}

TEST_P(Proving, AProofOutlivesItsRow) {
    const Json proof = prove(rig.db(), ids_[0]);
    prune_rows(rig.tools(), rig.clock.now_ms() + 1);

    EXPECT_EQ(code_of([&] { static_cast<void>(prove(rig.db(), ids_[0])); }), ErrorCode::NotFound);
    EXPECT_TRUE(judge_proof(proof, {}).is_ok());
}

}  // namespace
}  // namespace compute::audit
