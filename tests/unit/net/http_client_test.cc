#include "net/http_client.h"

#include <string>

#include <gtest/gtest.h>

#include "tests/support/raw_receiver.h"

namespace compute::net {
namespace {

using std::chrono::milliseconds;
using support::answering;
using support::answering_raw;
using support::RawConnection;
using support::RawReceiver;

HttpRequest request_to(const std::string& url) {
    HttpRequest out;
    out.url = url;
    out.body = "{}";
    return out;
}

HttpFailure failure_of(const HttpResult& result) {
    const auto* failure = std::get_if<HttpFailure>(&result);
    EXPECT_NE(failure, nullptr);
    return failure == nullptr ? HttpFailure{} : *failure;
}

TEST(HttpClient, PostsJsonAndReadsTheAnswer) {
    RawReceiver receiver(
        answering_raw("HTTP/1.1 400 No\r\nX-Request-Id: r1\r\nContent-Length: 7\r\n\r\n{\"a\":1}")
    );
    HttpClient client;
    HttpRequest request = request_to(receiver.url("/api/iam/authorize"));
    request.headers = {{"X-Better-IAM", "1"}};
    request.bearer = crypto::Secret("token");

    const HttpResult result = client.post(request);

    const auto& response = std::get<HttpResponse>(result);
    EXPECT_EQ(response.status, 400);
    EXPECT_EQ(response.body, "{\"a\":1}");
    EXPECT_EQ(response.header("x-request-id"), "r1");
    EXPECT_EQ(response.header("missing"), "");
    const auto sent = receiver.requests().at(0);
    EXPECT_EQ(sent.method, "POST");
    EXPECT_EQ(sent.target, "/api/iam/authorize");
    EXPECT_EQ(sent.header("content-type"), "application/json");
    EXPECT_EQ(sent.header("x-better-iam"), "1");
    EXPECT_EQ(sent.header("authorization"), "Bearer token");
    EXPECT_EQ(sent.header("cookie"), "");
    EXPECT_EQ(sent.header("origin"), "");
    EXPECT_EQ(sent.body, "{}");
}

TEST(HttpClient, KeepsItsConnection) {
    RawReceiver receiver(answering(204));
    HttpClient client;

    for (int i = 0; i < 5; ++i) {
        EXPECT_EQ(std::get<HttpResponse>(client.post(request_to(receiver.url()))).status, 204);
    }

    EXPECT_EQ(receiver.connections(), 1);
}

TEST(HttpClient, TellsWhetherTheRequestWasSent) {
    int port = 0;
    { port = RawReceiver(answering(204)).port(); }
    RawReceiver hanging([](RawConnection& connection) {
        connection.read_request();
        connection.hang();
    });
    HttpClientOptions options;
    options.total_timeout = milliseconds(300);
    HttpClient client(options);

    const HttpFailure refused =
        failure_of(client.post(request_to("http://127.0.0.1:" + std::to_string(port) + "/")));
    const HttpFailure silent = failure_of(client.post(request_to(hanging.url())));

    EXPECT_FALSE(refused.is_sent);
    EXPECT_EQ(refused.message, "connection refused");
    EXPECT_TRUE(silent.is_sent);
    EXPECT_EQ(silent.message, "no answer within 300 ms");
}

TEST(HttpClient, BoundsTheAnswer) {
    RawReceiver endless([](RawConnection& connection) {
        connection.read_request();
        connection.send("HTTP/1.1 200 OK\r\n\r\n");
        connection.flood(std::string(4096, 'x'));
    });
    RawReceiver headers([](RawConnection& connection) {
        connection.read_request();
        connection.send("HTTP/1.1 200 OK\r\n");
        connection.flood("A: " + std::string(4000, 'x') + "\r\n");
    });
    HttpClientOptions options;
    options.max_response_bytes = 10'000;
    HttpClient client(options);

    for (const RawReceiver* receiver : {&endless, &headers}) {
        const HttpFailure failure = failure_of(client.post(request_to(receiver->url())));
        EXPECT_EQ(failure.message, "the answer is too large");
        EXPECT_TRUE(failure.is_sent);
    }
}

TEST(HttpClient, DoesNotFollowRedirects) {
    RawReceiver other(answering(200));
    RawReceiver receiver(answering_raw(
        "HTTP/1.1 307 Away\r\nLocation: " + other.url() + "\r\nContent-Length: 0\r\n\r\n"
    ));
    HttpClient client;

    EXPECT_EQ(std::get<HttpResponse>(client.post(request_to(receiver.url()))).status, 307);
    EXPECT_EQ(other.connections(), 0);
}

TEST(HttpClient, RefusesOtherSchemes) {
    HttpClient client;

    EXPECT_FALSE(failure_of(client.post(request_to("file:///etc/passwd"))).is_sent);
}

TEST(HttpClient, SpeaksTlsWithTheGivenAuthority) {
    const support::TestAuthority authority;
    const auto identity = authority.issue_for({"127.0.0.1"});
    RawReceiver receiver([=](RawConnection& connection) {
        if (connection.start_tls(identity)) {
            answering(204)(connection);
        }
    });
    const std::string url = "https://127.0.0.1:" + std::to_string(receiver.port()) + "/";
    HttpClientOptions options;
    options.ca_file = authority.ca_file();
    HttpClient trusting(options);
    HttpClient doubting;

    EXPECT_EQ(std::get<HttpResponse>(trusting.post(request_to(url))).status, 204);
    EXPECT_EQ(
        failure_of(doubting.post(request_to(url))).message,
        "TLS: unable to get local issuer certificate"
    );
}

}  // namespace
}  // namespace compute::net
