#include <gtest/gtest.h>

#include "tests/contract/http/lab.h"
#include "tests/support/eventually.h"

namespace compute::daemon {
namespace {

using support::eventually;
using support::RawAnswer;

INSTANTIATE_TEST_SUITE_P(Engines, HttpRows, support::both_engines(), support::engine_name);

const Json kInput{{"tenantId", "acme"}};

std::string code_of(const RawAnswer& answer) {
    return Json::parse(answer.body).at("error").at("code");
}

Json error_of(const RawAnswer& answer) {
    return Json::parse(answer.body).at("error");
}

Json failing(const std::string& code, const Json& details = Json()) {
    Json error{{"code", code}};
    if (!details.is_null()) {
        error["details"] = details;
    }
    return {{"tenantId", "acme"}, {"error", error}};
}

TEST_P(HttpRows, M1_AMethodIsReachedByItsRouteAndNoOther) {
    HttpLab lab(GetParam());

    EXPECT_EQ(lab.call("things/echo", kInput).status, 200);
    for (const char* path :
         {"things/echo/",
          "things//echo",
          "things/ech",
          "things.echo",
          "things%2Fecho",
          "echo",
          "lab/things/echo",
          ""}) {
        EXPECT_EQ(lab.call(path, kInput).status, 404) << path;
    }
    EXPECT_EQ(lab.send(support::post("/things/echo", "{}")).status, 404);
}

TEST_P(HttpRows, M13_APublicMethodRunsWithoutACredential) {
    HttpLab lab(GetParam());

    const RawAnswer answer = lab.call("status/get", Json::object(), "");

    EXPECT_EQ(answer.status, 200);
    EXPECT_TRUE(lab.iam.calls().empty());
    EXPECT_EQ(
        lab.call("status/get", Json::object(), "whatever").body,
        R"({"data":{"credential":"whatever"}})"
    );
}

TEST_P(HttpRows, M16_AMissingCredentialIsFoundBeforeABadInput) {
    HttpLab lab(GetParam());

    EXPECT_EQ(code_of(lab.call("things/echo", kInput, "")), "UNAUTHENTICATED");
    EXPECT_EQ(code_of(lab.call("things/echo", {{"refused", 1}}, "")), "UNAUTHENTICATED");
    EXPECT_TRUE(lab.iam.calls().empty());
}

TEST_P(HttpRows, M49_AnEmptyBodyIsAnEmptyObject) {
    HttpLab lab(GetParam());

    EXPECT_EQ(lab.send(HttpLab::request("status/get", "")).status, 200);
    EXPECT_EQ(code_of(lab.send(HttpLab::request("status/get", " "))), "INVALID_INPUT");
}

TEST_P(HttpRows, M111_AVanishedClientEndsItsWait) {
    HttpLab lab(GetParam());
    support::RawHttp client(lab.address());
    client.send(
        HttpLab::request("things/start", R"({"tenantId":"acme","wait":{"timeoutMs":30000}})")
    );
    ASSERT_TRUE(eventually([&] { return lab.server().stats().waiting == 1; }));

    const auto start = std::chrono::steady_clock::now();
    client.close();

    EXPECT_TRUE(eventually([&] { return lab.server().stats().waiting == 0; }));
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(1));
}

TEST_P(HttpRows, M136_PluginMethodsLiveBelowPlugins) {
    HttpLab lab(GetParam());

    EXPECT_EQ(lab.call("plugins/acme/widgets/poke", kInput).status, 200);
    EXPECT_EQ(lab.call("acme/widgets/poke", kInput).status, 404);
    EXPECT_EQ(lab.call("widgets/poke", kInput).status, 404);
}

TEST_P(HttpRows, M137_SuccessIsDataAlone) {
    HttpLab lab(GetParam());

    const RawAnswer answer = lab.call("plugins/acme/widgets/poke", kInput);

    EXPECT_EQ(answer.body, R"({"data":{"poked":"w-1"}})");
    EXPECT_EQ(answer.field("content-type"), "application/json");
}

TEST_P(HttpRows, M138_PostOnly) {
    HttpLab lab(GetParam());

    for (const char* verb : {"GET", "PUT", "DELETE", "OPTIONS"}) {
        const RawAnswer answer =
            lab.send(std::string(verb) + " /api/compute/things/echo HTTP/1.1\r\nHost: a\r\n\r\n");
        EXPECT_EQ(answer.status, 405) << verb;
        EXPECT_EQ(code_of(answer), "METHOD_NOT_ALLOWED") << verb;
    }
}

TEST_P(HttpRows, M139_JsonTypeAndMarkerAreRequired) {
    HttpLab lab(GetParam());
    const auto with = [&](const std::string& fields) {
        return lab.send(
            "POST /api/compute/things/echo HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer "
            "admin:acme\r\nContent-Length: 19\r\n" +
            fields + "\r\n{\"tenantId\":\"acme\"}"
        );
    };
    const std::string type = "Content-Type: application/json\r\n";
    const std::string marker = "X-Better-Compute: 1\r\n";

    EXPECT_EQ(with(type + marker).status, 200);
    EXPECT_EQ(with("Content-Type: application/json; charset=utf-8\r\n" + marker).status, 200);
    for (const std::string& bad :
         {type,
          marker,
          type + "X-Better-Compute: 0\r\n",
          "Content-Type: text/plain\r\n" + marker}) {
        const RawAnswer answer = with(bad);
        EXPECT_EQ(answer.status, 403) << bad;
        EXPECT_EQ(code_of(answer), "CSRF_REJECTED") << bad;
    }
    EXPECT_EQ(lab.iam.count("auth"), 1);
}

TEST_P(HttpRows, M140_TheBodyIsAnObjectOfAtMost64KiB) {
    HttpLab lab(GetParam());
    const std::string start = R"({"tenantId":"acme","pad":")";
    const std::string exact = start + std::string(65536 - start.size() - 2, 'x') + "\"}";

    EXPECT_EQ(lab.send(HttpLab::request("things/get", exact)).status, 200);
    const RawAnswer over = lab.send(HttpLab::request("things/get", exact + " "));
    EXPECT_EQ(over.status, 413);
    EXPECT_EQ(code_of(over), "PAYLOAD_TOO_LARGE");
    for (const char* bad :
         {"[]",
          "1",
          "\"a\"",
          "null",
          "true",
          "{",
          "{}{}",
          "{\"a\":1,\"a\":1}",
          "{\"a\":NaN}",
          "\xEF\xBB\xBF{}",
          "{\"a\":\"\\ud800\"}"}) {
        const RawAnswer answer = lab.send(HttpLab::request("things/get", bad));
        EXPECT_EQ(answer.status, 400) << bad;
        EXPECT_EQ(code_of(answer), "INVALID_INPUT") << bad;
    }
}

TEST_P(HttpRows, M141_EveryCodeHasItsStatus) {
    HttpLab lab(GetParam());

    for (const ErrorInfo& info : error_table()) {
        const RawAnswer answer = lab.call("things/fail", failing(std::string(info.name)));
        EXPECT_EQ(answer.status, info.http_status) << info.name;
        EXPECT_EQ(code_of(answer), info.name);
    }
}

TEST_P(HttpRows, M142_TheInProcessApiRunsTheSameEnvelope) {
    HttpLab lab(GetParam());
    const auto steps = [&] {
        std::vector<std::string> out;
        for (const support::IamCall& call : lab.iam.calls()) {
            out.push_back(
                call.what + " " + call.identity + " " + call.action + " " + call.resource.type +
                "/" + call.resource.id
            );
        }
        lab.iam.clear();
        return out;
    };
    ASSERT_EQ(lab.call("things/echo", kInput, "admin:acme#one").status, 200);
    const auto over_http = steps();

    method::Call call;
    call.path = "things/echo";
    call.input = kInput;
    call.credential = crypto::Secret("admin:acme#one@2");
    call.request_id = "in-process";
    const Json output = lab.compute().call(std::move(call));

    EXPECT_EQ(output, kInput);
    EXPECT_EQ(steps(), over_http);
    EXPECT_EQ(lab.compute().database().query("select count(*) from audit_events")[0].get_int(0), 2);
}

TEST_P(HttpRows, M143_CodeMessageAndDetailsReachTheCaller) {
    HttpLab lab(GetParam());

    const Json error =
        error_of(lab.call("things/fail", failing("CONFLICT", {{"widgetId", "w-1"}})));

    EXPECT_EQ(
        error,
        (Json{{"code", "CONFLICT"}, {"message", "as asked"}, {"details", {{"widgetId", "w-1"}}}})
    );
}

TEST_P(HttpRows, M144_ANumericRetryAfterMovesToTheTopAndIntoTheHeader) {
    HttpLab lab(GetParam());

    const RawAnswer answer =
        lab.call("things/fail", failing("RATE_LIMITED", {{"retryAfterMs", 20000}}));
    EXPECT_EQ(error_of(answer).at("retryAfterMs"), 20000);
    EXPECT_FALSE(error_of(answer).contains("details"));
    EXPECT_EQ(answer.field("retry-after"), "20");
    EXPECT_EQ(
        lab.call(
               "things/fail", failing("RATE_LIMITED", {{"retryAfterMs", 1}})
        ).field("retry-after"),
        "1"
    );
    const RawAnswer text =
        lab.call("things/fail", failing("RATE_LIMITED", {{"retryAfterMs", "soon"}}));
    EXPECT_EQ(error_of(text).at("details").at("retryAfterMs"), "soon");
    EXPECT_EQ(text.field("retry-after"), "");
}

TEST_P(HttpRows, M145_WhatIsNoComputeErrorIsAnInternalErrorWithoutDetails) {
    HttpLab lab(GetParam());

    const RawAnswer answer = lab.call("things/crash", kInput);

    EXPECT_EQ(answer.status, 500);
    EXPECT_EQ(
        answer.body, R"({"error":{"code":"INTERNAL_ERROR","message":"Internal server error"}})"
    );
    EXPECT_TRUE(lab.log.mentions("hunter2"));
}

TEST_P(HttpRows, ACredentialOverItsRateIsToldWhenToComeBack) {
    config::Config config;
    config.limits.requests_per_second = 2;
    HttpLab lab(GetParam(), config);
    std::vector<RawAnswer> answers;

    for (int i = 0; i < 20; ++i) {
        answers.push_back(lab.call("things/get", kInput));
    }

    const auto limited = std::find_if(answers.begin(), answers.end(), [](const RawAnswer& a) {
        return a.status == 429;
    });
    ASSERT_NE(limited, answers.end());
    EXPECT_EQ(code_of(*limited), "RATE_LIMITED");
    EXPECT_GE(error_of(*limited).at("retryAfterMs").get<int>(), 1);
    EXPECT_EQ(limited->field("retry-after"), "1");
    EXPECT_EQ(lab.call("things/get", kInput, "admin:acme#other").status, 200);
}

TEST_P(HttpRows, HealthReadinessAndMetricsAnswerOutsideTheApi) {
    HttpLab lab(GetParam());
    const auto get = [&](const std::string& target, std::size_t listener) {
        support::RawHttp client(lab.server().address(listener));
        return *client.ask("GET " + target + " HTTP/1.1\r\nHost: a\r\n\r\n");
    };
    static_cast<void>(lab.call("things/get", kInput));

    EXPECT_EQ(get("/healthz", 0).status, 200);
    EXPECT_EQ(Json::parse(get("/readyz", 0).body).at("ready"), true);
    const RawAnswer metrics = get("/metrics", 0);
    EXPECT_EQ(metrics.status, 200);
    EXPECT_NE(
        metrics.body.find("better_compute_calls_total{method=\"things/get\",code=\"OK\"} 1"),
        std::string::npos
    ) << metrics.body;
    EXPECT_EQ(get("/metrics", 1).status, 200);
    support::RawHttp admin(lab.server().address(1));
    EXPECT_EQ(admin.ask(HttpLab::request("things/get", "{}"))->status, 404);
}

TEST_P(HttpRows, MetricsAreHiddenFromOthersThanLoopbackPeers) {
    config::Config config;
    config.behind_proxy = true;
    HttpLab lab(GetParam(), config);

    const RawAnswer far =
        lab.send("GET /metrics HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 8.8.8.8\r\n\r\n");
    const RawAnswer near = lab.send("GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n");

    EXPECT_EQ(far.status, 404);
    EXPECT_EQ(near.status, 200);
}

}  // namespace
}  // namespace compute::daemon
