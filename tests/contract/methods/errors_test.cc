// Rows about errors: M33, M141-M147, as far as the envelope decides them; the HTTP side is in
// tests/contract/http.
#include "method/envelope.h"

#include "tests/contract/methods/lab.h"

namespace compute::contract {
namespace {

const std::string kAnn = TestPlane::admin_of("acme");
const Json kAcme{{"tenantId", "acme"}};

class Errors : public Contract {};
COMPUTE_BOTH_ENGINES(Errors);

// What a caller gets when the handler throws `thrown`.
template <class Thrown>
Json answer_to(LabPlane& plane, Thrown) {
    return error_body(plane.error_of("things/poke", kAnn, kAcme)).at("error");
}

template <class Thrown>
std::vector<Module> throwing(Thrown thrown) {
    Method<Plain> method = plain(Kind::Mutation);
    method.handler = [thrown](Context& context, Plain&) -> Json {
        insert_row(context.transaction(), "a");
        throw thrown;
    };
    return {lab({entry("things", "poke", method)})};
}

TEST_P(Errors, M33_AThrownErrorRollsBackAndIsTheAnswer) {
    const ComputeError thrown(ErrorCode::Conflict, "Widget changed meanwhile");
    LabPlane plane(GetParam(), throwing(thrown));

    EXPECT_EQ(
        answer_to(plane, thrown),
        Json({{"code", "CONFLICT"}, {"message", "Widget changed meanwhile"}})
    );

    EXPECT_EQ(plane.rows(), 0);
    EXPECT_EQ(error_info(ErrorCode::Conflict).http_status, 409);
}

TEST_P(Errors, M143_CodeMessageAndDetailsReachTheCaller) {
    const ComputeError thrown(
        ErrorCode::Conflict, "Widget changed meanwhile", Json{{"widgetId", "w-1"}}
    );
    LabPlane plane(GetParam(), throwing(thrown));

    EXPECT_EQ(answer_to(plane, thrown).at("details").at("widgetId"), "w-1");
}

TEST_P(Errors, M144_ANumericRetryAfterMovesToTheTop) {
    const ComputeError thrown(ErrorCode::RateLimited, "Slow down", Json{{"retryAfterMs", 20'000}});
    LabPlane plane(GetParam(), throwing(thrown));

    const Json error = answer_to(plane, thrown);

    EXPECT_EQ(error.at("retryAfterMs"), 20'000);
    EXPECT_FALSE(error.contains("details"));
}

TEST_P(Errors, M144_AnythingElseThatIsCalledSoStaysInTheDetails) {
    const ComputeError thrown(ErrorCode::RateLimited, "Slow down", Json{{"retryAfterMs", "soon"}});
    LabPlane plane(GetParam(), throwing(thrown));

    const Json error = answer_to(plane, thrown);

    EXPECT_FALSE(error.contains("retryAfterMs"));
    EXPECT_EQ(error.at("details").at("retryAfterMs"), "soon");
}

TEST_P(Errors, M145_WhatIsNoComputeErrorIsAnInternalErrorAndStaysInTheLog) {
    const std::runtime_error thrown("connect postgres://compute:hunter2@db failed");
    LabPlane plane(GetParam(), throwing(thrown));

    EXPECT_EQ(
        answer_to(plane, thrown),
        Json({{"code", "INTERNAL_ERROR"}, {"message", "Internal server error"}})
    );

    EXPECT_TRUE(plane.messages.mentions("hunter2"));
    EXPECT_TRUE(plane.messages.mentions("req-1"));
    EXPECT_EQ(plane.rows(), 0);
}

TEST_P(Errors, M145_SoIsWhatIsNoExceptionAtAll) {
    LabPlane plane(GetParam(), throwing(42));

    EXPECT_EQ(
        answer_to(plane, 42),
        Json({{"code", "INTERNAL_ERROR"}, {"message", "Internal server error"}})
    );
}

TEST_P(Errors, M146_AnExplicitInternalErrorLosesMessageAndDetails) {
    const ComputeError thrown(
        ErrorCode::InternalError, "the shard at 10.0.0.7 is gone", Json{{"shard", 7}}
    );
    LabPlane plane(GetParam(), throwing(thrown));

    const auto error = plane.error_of("things/poke", kAnn, kAcme);

    EXPECT_EQ(error.message(), "Internal server error");
    EXPECT_EQ(error.details(), nullptr);
    EXPECT_TRUE(plane.messages.mentions("10.0.0.7"));
}

TEST(ErrorShape, M147_ErrorsAreRecognizedByShape) {
    const ComputeError error(ErrorCode::Conflict, "no", Json{{"widgetId", "w-1"}});
    const Json body = error_body(error);

    EXPECT_TRUE(is_compute_error(body));
    EXPECT_TRUE(is_compute_error(body, ErrorCode::Conflict));
    EXPECT_TRUE(is_compute_error(body.at("error"), ErrorCode::Conflict));
    EXPECT_FALSE(is_compute_error(body, ErrorCode::NotFound));
    EXPECT_FALSE(is_compute_error(Json{{"error", {{"code", "NO_SUCH"}, {"message", "x"}}}}));
    EXPECT_TRUE(is_compute_error(error, ErrorCode::Conflict));
    EXPECT_FALSE(is_compute_error(std::runtime_error("x")));
}

TEST_P(Errors, M142_TheInProcessCallTakesTheSameSteps) {
    LabPlane plane(GetParam(), {lab({entry("things", "poke", plain(Kind::Mutation))})});

    (void)plane.envelope().run(plane.call_of("things/poke", kAnn, kAcme));

    EXPECT_THAT(plane.log(), ElementsAre("auth", "require", "begin", "handler", "audit", "commit"));
}

TEST_P(Errors, AViolatedConstraintThatNobodyCaughtIsAConcurrentChange) {
    Method<Plain> method = plain(Kind::Mutation);
    method.handler = [](Context& context, Plain&) {
        insert_row(context.transaction(), "a");
        return Json();
    };
    LabPlane plane(GetParam(), {lab({entry("things", "poke", method)})});
    plane.call("things/poke", kAnn, kAcme);

    const auto error = plane.error_of("things/poke", kAnn, kAcme);

    EXPECT_EQ(error.code(), ErrorCode::Conflict);
    EXPECT_EQ(error.details()->at("reason"), "concurrent-change");
    EXPECT_EQ(plane.audit().size(), 1U);
}

TEST_P(Errors, OutcomesAreCountedByMethodAndCode) {
    LabPlane plane(GetParam(), {lab({entry("things", "poke", plain(Kind::Mutation))})});
    plane.call("things/poke", kAnn, kAcme);
    (void)plane.error_of("things/poke", TestPlane::viewer_of("acme"), kAcme);
    (void)plane.error_of("things/nothing", kAnn, kAcme);

    std::map<std::string, std::uint64_t> counts;
    for (const auto& outcome : plane.envelope().outcomes().counts()) {
        counts[outcome.path + " " + outcome.code] = outcome.count;
    }

    EXPECT_EQ(
        counts,
        (std::map<std::string, std::uint64_t>{
            {"things/poke OK", 1}, {"things/poke ACCESS_DENIED", 1}, {" NOT_FOUND", 1}})
    );
}

TEST_P(Errors, ACredentialIsInNoLogLine) {
    LabPlane plane(GetParam(), {lab({entry("things", "poke", plain(Kind::Mutation))})});
    (void)plane.error_of("things/poke", "bct_secret_token", kAcme);

    EXPECT_FALSE(plane.messages.mentions("bct_secret_token"));
    EXPECT_EQ(plane.messages.count("call.refused"), 1);
}

}  // namespace
}  // namespace compute::contract
