// Rows about admissions that only replay: M99-M101, on methods of the shape of projects.create and
// pools.create.
#include "tests/contract/methods/lab.h"

namespace compute::contract {
namespace {

const std::string kAnn = TestPlane::admin_of("acme");

class Replay : public Contract {};
COMPUTE_BOTH_ENGINES(Replay);

bool is_there(store::Transaction& tx, const std::string& id) {
    return !tx.query("select id from lab_rows where id = $1", {id}).empty();
}

// The id comes from the key when there is one; otherwise every call makes a new one.
Method<Plain> create_method(bool needs_key) {
    Method<Plain> method = plain(Kind::Mutation, "compute:lab:create");
    method.resource = [](const Plain& input) -> std::optional<Resource> {
        return Resource::tenant(input.tenant_id.value_or(""));
    };
    const auto id_of = [](Context& context, const Plain& input) {
        return input.key ? method::draft_id(
                               "prj_", *context.tenant_id, context.caller->identity_id, *input.key
                           )
                         : context.new_id("prj_");
    };
    method.admission.emplace();
    method.admission->prepares = method::Prepares::Lookup;
    method.admission->prepare = [=](Context& context, Plain& input, store::Transaction& tx) {
        if (needs_key && !input.key) {
            throw invalid_input("idempotencyKey: Required");
        }
        if (input.key && is_there(tx, id_of(context, input))) {
            return Prepared::replay(Json{{"id", id_of(context, input)}});
        }
        return Prepared::decide(Resource::tenant(context.tenant_id->str()));
    };
    method.handler = [=](Context& context, Plain& input) {
        const std::string id = id_of(context, input);
        insert_row(context.transaction(), id);
        return Json{{"id", id}};
    };
    return method;
}

TEST_P(Replay, M99_ASecondCreateUnderTheSameKeyReplays) {
    LabPlane plane(GetParam(), {lab({entry("projects", "create", create_method(true))})});
    const Json input{{"tenantId", "acme"}, {"idempotencyKey", "k1"}};
    const Json first = plane.call("projects/create", kAnn, input);
    plane.clear();

    EXPECT_EQ(plane.call("projects/create", kAnn, input), first);

    EXPECT_EQ(plane.rows(), 1);
    EXPECT_EQ(plane.iam.decisions(), 0);
    EXPECT_EQ(plane.audit().size(), 1U);
}

TEST_P(Replay, M100_TheFirstCreateIsDecidedOnTheTenant) {
    LabPlane plane(GetParam(), {lab({entry("projects", "create", create_method(true))})});

    plane.call("projects/create", kAnn, {{"tenantId", "acme"}, {"idempotencyKey", "k1"}});

    ASSERT_EQ(plane.iam.count("require"), 1);
    EXPECT_EQ(plane.iam.calls().back().resource, (iam::ResourceRef{"compute-tenant", "acme"}));
}

TEST_P(Replay, M101_WithoutAKeyEachCallIsDecided) {
    LabPlane plane(GetParam(), {lab({entry("pools", "create", create_method(false))})});

    plane.call("pools/create", kAnn, {{"tenantId", "acme"}});
    plane.call("pools/create", kAnn, {{"tenantId", "acme"}});
    EXPECT_EQ(plane.iam.count("require"), 2);
    EXPECT_EQ(plane.rows(), 2);

    plane.call("pools/create", kAnn, {{"tenantId", "acme"}, {"idempotencyKey", "k1"}});
    plane.call("pools/create", kAnn, {{"tenantId", "acme"}, {"idempotencyKey", "k1"}});
    EXPECT_EQ(plane.iam.count("require"), 3);
    EXPECT_EQ(plane.rows(), 3);
}

TEST_P(Replay, APrepareThatOnlyLooksRunsInAReadTransaction) {
    LabPlane plane(GetParam(), {lab({entry("projects", "create", create_method(true))})});

    plane.call("projects/create", kAnn, {{"tenantId", "acme"}, {"idempotencyKey", "k1"}});

    EXPECT_THAT(
        plane.log(),
        ElementsAre(
            "auth",
            "begin read",
            "prepare",
            "end read",
            "sync",
            "require",
            "begin",
            "handler",
            "audit",
            "commit"
        )
    );
}

TEST_P(Replay, APrepareThatOnlyLooksCannotWrite) {
    Method<Plain> method = create_method(true);
    method.admission->prepare = [](Context& context, Plain&, store::Transaction& tx) {
        insert_row(tx, "a");
        return Prepared::decide(Resource::tenant(context.tenant_id->str()));
    };
    LabPlane plane(GetParam(), {lab({entry("projects", "create", std::move(method))})});

    const auto error =
        plane.error_of("projects/create", kAnn, {{"tenantId", "acme"}, {"idempotencyKey", "k1"}});

    EXPECT_EQ(error.code(), ErrorCode::InternalError);
    EXPECT_EQ(plane.rows(), 0);
    EXPECT_EQ(plane.iam.decisions(), 0);
}

}  // namespace
}  // namespace compute::contract
