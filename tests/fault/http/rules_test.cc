#include <string>

#include "tests/fault/http/fixture.h"

namespace compute::daemon::http {
namespace {

class TransportRules : public HttpFault {};
INSTANTIATE_TEST_SUITE_P(
    Wires, TransportRules, ::testing::Values(Wire::Plain, Wire::Tls), wire_name
);

std::string code_of(const std::optional<RawAnswer>& answer) {
    constexpr std::string_view kBefore = "{\"error\":{\"code\":\"";
    if (!answer || !answer->body.starts_with(kBefore)) {
        return "no error body";
    }
    return answer->body.substr(
        kBefore.size(), answer->body.find('"', kBefore.size()) - kBefore.size()
    );
}

TEST_P(TransportRules, ARightCallIsAnswered) {
    start();

    const auto answer = ask(post("/call", "{\"a\":1}"));

    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->status, 200);
    EXPECT_EQ(answer->body, "{\"data\":7}");
    EXPECT_EQ(answer->field("content-type"), "application/json");
}

TEST_P(TransportRules, TheTargetMustEqualTheRouteByteForByte) {
    start();

    for (const char* target :
         {"/call?",
          "/call?x=1",
          "/call/",
          "//call",
          "/%63all",
          "/CALL",
          "/call%2F",
          "/./call",
          "/x/../call",
          "/call#a",
          "http://test/call",
          "*",
          "/",
          "/call;v=1"}) {
        const auto answer = ask(post(target));
        ASSERT_TRUE(answer) << target;
        EXPECT_EQ(answer->status, 404) << target;
        EXPECT_EQ(code_of(answer), "NOT_FOUND") << target;
    }
    EXPECT_EQ(handler_.handled(), 0);
}

TEST_P(TransportRules, OtherVerbsOnAKnownPathAreNotAllowed) {
    start();

    for (const char* verb :
         {"GET", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "post", "MKCOL"}) {
        const auto answer = ask(std::string(verb) + " /call HTTP/1.1\r\nHost: test\r\n\r\n");
        ASSERT_TRUE(answer) << verb;
        EXPECT_EQ(answer->status, 405) << verb;
        EXPECT_EQ(answer->field("allow"), "POST") << verb;
        EXPECT_EQ(code_of(answer), "METHOD_NOT_ALLOWED") << verb;
    }
    EXPECT_EQ(ask(post("/plain"))->field("allow"), "GET");
    EXPECT_EQ(handler_.handled(), 0);
}

TEST_P(TransportRules, HeadIsRefusedWithoutABody) {
    start();
    RawHttp client = connect();

    client.send("HEAD /call HTTP/1.1\r\nHost: test\r\n\r\n");
    const auto answer = client.read_answer(true);
    const auto next = client.ask(post("/call"));

    ASSERT_TRUE(answer && next);
    EXPECT_EQ(answer->status, 405);
    EXPECT_EQ(next->status, 200);
}

TEST_P(TransportRules, TheContentTypeIsJsonAloneOrWithParameters) {
    start();
    const auto with_type = [&](const std::string& line) {
        return ask(
            "POST /call HTTP/1.1\r\nHost: test\r\n" + line +
            "X-Better-Compute: 1\r\nContent-Length: 2\r\n\r\n{}"
        );
    };

    for (const char* good :
         {"application/json",
          "Application/JSON",
          "application/json; charset=utf-8",
          "application/json ;x=y"}) {
        EXPECT_EQ(with_type("Content-Type: " + std::string(good) + "\r\n")->status, 200) << good;
    }
    for (const char* bad :
         {"",
          "Content-Type: text/plain\r\n",
          "Content-Type: application/jsonx\r\n",
          "Content-Type: application/json, text/plain\r\n",
          "Content-Type: application/json\r\nContent-Type: application/json\r\n",
          "Content-Type: multipart/form-data\r\n"}) {
        const auto answer = with_type(bad);
        EXPECT_EQ(answer->status, 403) << bad;
        EXPECT_EQ(code_of(answer), "CSRF_REJECTED") << bad;
    }
}

TEST_P(TransportRules, TheMarkerFieldIsExactlyOne) {
    start();
    const auto with_marker = [&](const std::string& line) {
        return ask(
            "POST /call HTTP/1.1\r\nHost: test\r\nContent-Type: application/json\r\n" + line +
            "Content-Length: 2\r\n\r\n{}"
        );
    };

    EXPECT_EQ(with_marker("x-better-compute: 1\r\n")->status, 200);
    for (const char* bad :
         {"",
          "X-Better-Compute: 0\r\n",
          "X-Better-Compute: 11\r\n",
          "X-Better-Compute:\r\n",
          "X-Better-Compute: 1\r\nX-Better-Compute: 1\r\n"}) {
        EXPECT_EQ(code_of(with_marker(bad)), "CSRF_REJECTED") << bad;
    }
}

TEST_P(TransportRules, ARouteIsJudgedBeforeTheMarkerAndTheMarkerBeforeTheSize) {
    start();

    EXPECT_EQ(
        ask("POST /nothing HTTP/1.1\r\nHost: test\r\nContent-Length: 999999\r\n\r\n")->status, 404
    );
    EXPECT_EQ(
        ask("GET /call HTTP/1.1\r\nHost: test\r\nContent-Length: 999999\r\n\r\n")->status, 405
    );
    EXPECT_EQ(
        ask("POST /call HTTP/1.1\r\nHost: test\r\nContent-Length: 999999\r\n\r\n")->status, 403
    );
}

TEST_P(TransportRules, ABodyOfTheLimitPassesAndOneByteMoreDoesNot) {
    start();

    const auto at_limit = ask(post("/call", std::string(65536, ' ')));
    const auto over = ask(post("/call", std::string(65537, ' ')));

    EXPECT_EQ(at_limit->body, "{\"data\":65536}");
    EXPECT_EQ(over->status, 413);
    EXPECT_EQ(code_of(over), "PAYLOAD_TOO_LARGE");
    EXPECT_EQ(handler_.handled(), 1);
}

TEST_P(TransportRules, ABodyOverTheLimitIsRefusedAtTheHeadUnread) {
    start();

    EXPECT_EQ(
        refused_with("POST /call HTTP/1.1\r\nHost: test\r\nContent-Type: "
                     "application/json\r\nX-Better-Compute: 1\r\n"
                     "Content-Length: 65537\r\n\r\n"),
        413
    );
    EXPECT_EQ(
        refused_with("POST /call HTTP/1.1\r\nHost: test\r\nContent-Type: "
                     "application/json\r\nX-Better-Compute: 1\r\n"
                     "Content-Length: 99999999999999999999999999\r\n\r\n"),
        413
    );
}

TEST_P(TransportRules, AHeadOfTheLimitPassesAndOneByteMoreDoesNot) {
    start();
    const auto padded = [](std::size_t size) {
        const std::string start = "GET /plain HTTP/1.1\r\nHost: test\r\nX-Pad: ";
        return start + std::string(size - start.size() - 4, 'a') + "\r\n\r\n";
    };

    EXPECT_EQ(ask(padded(16384))->status, 200);
    EXPECT_EQ(refused_with(padded(16385)), 431);
    EXPECT_EQ(refused_with("GET /" + std::string(20000, 'a')), 431);
}

TEST_P(TransportRules, AHundredFieldsPassAndOneMoreDoesNot) {
    start();
    const auto with_fields = [](int count) {
        std::string head = "GET /plain HTTP/1.1\r\nHost: test\r\n";
        for (int i = 1; i < count; ++i) {
            head += "X-" + std::to_string(i) + ": a\r\n";
        }
        return head + "\r\n";
    };

    EXPECT_EQ(ask(with_fields(100))->status, 200);
    EXPECT_EQ(refused_with(with_fields(101)), 431);
}

TEST_P(TransportRules, ALegalRequestIdIsEchoed) {
    start();

    for (const std::string& id :
         {std::string("a"), std::string("Az09._:-"), std::string(128, 'x')}) {
        EXPECT_EQ(
            ask(post("/call", "{}", "X-Request-Id: " + id + "\r\n"))->field("x-request-id"), id
        );
        EXPECT_EQ(handler_.last().request_id, id);
    }
}

TEST_P(TransportRules, AnIllegalRequestIdIsReplaced) {
    start();

    for (const std::string& bad :
         {std::string(129, 'x'),
          std::string("a b"),
          std::string("a/b"),
          std::string("\xc3\xa9"),
          std::string()}) {
        const std::string made =
            ask(post("/call", "{}", "X-Request-Id: " + bad + "\r\n"))->field("x-request-id");
        EXPECT_TRUE(made.starts_with("req_")) << bad;
    }
    const auto twice = ask(post("/call", "{}", "X-Request-Id: a\r\nX-Request-Id: a\r\n"));
    EXPECT_TRUE(twice->field("x-request-id").starts_with("req_"));
}

TEST_P(TransportRules, EveryAnswerHasARequestId) {
    start();
    const std::string id = "X-Request-Id: mine\r\n";

    for (const std::string& request :
         {post("/nothing", "{}", id),
          "GET /call HTTP/1.1\r\nHost: test\r\n" + id + "\r\n",
          "POST /call HTTP/1.1\r\nHost: test\r\n" + id + "\r\n",
          post("/call", std::string(65537, ' '), id),
          post("/fail", "{}", id),
          "GET /plain HTTP/1.1\r\nHost: test\r\n" + id + "\r\n",
          "GET /plain HTTP/1.1\r\nHost: test\r\n" + id + "Bad Name: x\r\n\r\n",
          post("/call", "{}", id + "Content-Length: 2\r\n")}) {
        EXPECT_EQ(ask(request)->field("x-request-id"), "mine") << request.substr(0, 100);
    }
    EXPECT_TRUE(ask("nonsense\r\n\r\n")->field("x-request-id").starts_with("req_"));
}

TEST_P(TransportRules, WhatAHandlerThrowsStaysInside) {
    start();

    const auto answer = ask(post("/fail"));

    EXPECT_EQ(answer->status, 500);
    EXPECT_EQ(
        answer->body, R"({"error":{"code":"INTERNAL_ERROR","message":"Internal server error"}})"
    );
    EXPECT_TRUE(log_.mentions("hunter2"));
}

TEST_P(TransportRules, TheCredentialIsTheBearersToken) {
    start();
    const auto credential = [&](const std::string& line) -> std::string {
        static_cast<void>(ask(post("/call", "{}", line)));
        const auto found = handler_.last().credential;
        return found ? std::string(found->reveal()) : "none";
    };

    EXPECT_EQ(credential("Authorization: Bearer abc\r\n"), "abc");
    EXPECT_EQ(credential("authorization: bearer   abc\r\n"), "abc");
    EXPECT_EQ(credential(""), "none");
    EXPECT_EQ(credential("Authorization: Bearer\r\n"), "none");
    EXPECT_EQ(credential("Authorization: Bearer   \r\n"), "none");
    EXPECT_EQ(credential("Authorization: Basic abc\r\n"), "none");
    EXPECT_EQ(
        ask(post("/call", "{}", "Authorization: Bearer a\r\nAuthorization: Bearer b\r\n"))->status,
        400
    );
}

TEST_P(TransportRules, ForwardedHopsAreBelievedOnlyBehindAProxy) {
    start();
    static_cast<void>(ask(post("/call", "{}", "X-Forwarded-For: 8.8.8.8\r\n")));

    EXPECT_EQ(handler_.last().source_ip, "127.0.0.1");
    EXPECT_TRUE(handler_.last().is_loopback);
}

TEST_P(TransportRules, BehindAProxyTheLastHopIsTheSource) {
    start(short_limits(), true);
    const auto source = [&](const std::string& lines) {
        static_cast<void>(ask(post("/call", "{}", lines)));
        return handler_.last().source_ip;
    };

    EXPECT_EQ(source("X-Forwarded-For: 1.1.1.1, 8.8.8.8\r\n"), "8.8.8.8");
    EXPECT_FALSE(handler_.last().is_loopback);
    EXPECT_EQ(
        source("X-Forwarded-For: 1.1.1.1\r\nX-Forwarded-For: 2001:db8::1\r\n"), "2001:db8::1"
    );
    EXPECT_EQ(source("X-Forwarded-For: 8.8.8.8, nonsense\r\n"), "127.0.0.1");
    EXPECT_EQ(source(""), "127.0.0.1");
}

TEST_P(TransportRules, UpgradesAreTakenBeforeTheHandler) {
    start();
    RawHttp client = connect();

    client.send(
        "GET /upgrade HTTP/1.1\r\nHost: test\r\nConnection: keep-alive, Upgrade\r\nUpgrade: "
        "agent/1\r\n\r\nhello"
    );
    const auto answer = client.read_answer();

    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->status, 101);
    EXPECT_EQ(answer->field("upgrade"), "agent/1");
    EXPECT_EQ(client.read_some(), "echo:hello");
    EXPECT_EQ(handler_.handled(), 0);
}

TEST_P(TransportRules, ARefusedUpgradeIsAnOrdinaryAnswer) {
    start();

    EXPECT_EQ(
        refused_with(
            "GET /refuse HTTP/1.1\r\nHost: test\r\nConnection: Upgrade\r\nUpgrade: agent/1\r\n\r\n"
        ),
        403
    );
    EXPECT_EQ(ask("GET /upgrade HTTP/1.1\r\nHost: test\r\n\r\n")->status, 404);
}

}  // namespace
}  // namespace compute::daemon::http
