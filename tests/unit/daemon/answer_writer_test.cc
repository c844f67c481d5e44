#include "daemon/http/answer_writer.h"

#include <gtest/gtest.h>

namespace compute::daemon::http {
namespace {

TEST(AnswerWriter, WritesHeadAndBodyInOnePiece) {
    Answer answer;
    answer.status = 409;
    answer.body = R"({"error":{}})";
    answer.headers = {{"Retry-After", "3"}};

    EXPECT_EQ(
        answer_bytes({.request_id = "req-1"}, answer),
        "HTTP/1.1 409 Conflict\r\nContent-Type: application/json\r\nContent-Length: 12\r\n"
        "X-Request-Id: req-1\r\nCache-Control: no-store\r\nRetry-After: 3\r\n\r\n{\"error\":{}}"
    );
}

TEST(AnswerWriter, GivesAHeadRequestTheLengthAndNoBody) {
    Answer answer;
    answer.body = "12345";

    const std::string bytes = answer_bytes({.is_head = true, .request_id = "r"}, answer);

    EXPECT_NE(bytes.find("Content-Length: 5\r\n"), std::string::npos);
    EXPECT_TRUE(bytes.ends_with("\r\n\r\n"));
}

TEST(AnswerWriter, AnnouncesThatTheConnectionCloses) {
    const std::string kept = answer_bytes({.request_id = "r"}, Answer{});
    const std::string closed = answer_bytes({.must_close = true, .request_id = "r"}, Answer{});

    EXPECT_EQ(kept.find("Connection:"), std::string::npos);
    EXPECT_NE(closed.find("\r\nConnection: close\r\n"), std::string::npos);
}

TEST(AnswerWriter, LetsNoValueBreakOutOfItsLine) {
    Answer answer;
    answer.headers = {{"A", "1\r\nB: 2"}, {"C\n", "3"}, {"D", "4"}};

    const std::string bytes = answer_bytes({.request_id = "r\r\nE: 5"}, answer);

    EXPECT_EQ(
        bytes,
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 0\r\n"
        "Cache-Control: no-store\r\nD: 4\r\n\r\n"
    );
}

TEST(AnswerWriter, AStatusWithoutANameKeepsItsNumber) {
    Answer answer;
    answer.status = 299;

    EXPECT_TRUE(answer_bytes({.request_id = "r"}, answer).starts_with("HTTP/1.1 299 \r\n"));
}

}  // namespace
}  // namespace compute::daemon::http
