#include "net/answer_reader.h"

#include <string>

#include <gtest/gtest.h>

namespace compute::net {
namespace {

// Feeds the lines until the reader has enough; true when it took them all.
bool feed(AnswerReader& reader, const std::vector<std::string>& lines) {
    for (const std::string& line : lines) {
        if (!reader.on_header_line(line + "\r\n")) {
            return false;
        }
    }
    return true;
}

TEST(AnswerReader, CountsOnceTheWholeHeaderIsIn) {
    AnswerReader reader;

    EXPECT_TRUE(feed(reader, {"HTTP/1.1 204 No Content", "Server: x"}));
    EXPECT_FALSE(reader.status());

    EXPECT_TRUE(feed(reader, {""}));
    EXPECT_EQ(reader.status(), 204);
}

TEST(AnswerReader, SkipsInterimAnswersUpToTheCap) {
    AnswerReader reader;
    for (int i = 0; i < kMaxInterimAnswers; ++i) {
        ASSERT_TRUE(feed(reader, {"HTTP/1.1 103 Early Hints", "Link: </x>", ""}));
        EXPECT_FALSE(reader.status());
    }

    EXPECT_TRUE(feed(reader, {"HTTP/1.1 200 OK", ""}));
    EXPECT_EQ(reader.status(), 200);
}

TEST(AnswerReader, RefusesOneInterimAnswerMore) {
    AnswerReader reader;
    for (int i = 0; i < kMaxInterimAnswers; ++i) {
        ASSERT_TRUE(feed(reader, {"HTTP/1.1 100 Continue", ""}));
    }

    EXPECT_FALSE(feed(reader, {"HTTP/1.1 100 Continue", ""}));
    EXPECT_EQ(reader.refusal(), "the answer has more than 10 interim answers");
    EXPECT_FALSE(reader.status());
}

TEST(AnswerReader, TakesExactlyAHundredFields) {
    AnswerReader reader;
    std::vector<std::string> lines = {"HTTP/1.1 200 OK"};
    lines.insert(lines.end(), 100, "A: b");

    ASSERT_TRUE(feed(reader, lines));
    AnswerReader other = reader;
    EXPECT_TRUE(feed(reader, {""}));
    EXPECT_EQ(reader.status(), 200);
    EXPECT_FALSE(feed(other, {"A: b"}));
    EXPECT_EQ(other.refusal(), "the answer has more than 100 header fields");
}

TEST(AnswerReader, BoundsHeaderBytesOverInterimAnswers) {
    AnswerReader reader;
    ASSERT_TRUE(feed(
        reader,
        {"HTTP/1.1 103 Early Hints", "Link: " + std::string(40'000, 'x'), "", "HTTP/1.1 200 OK"}
    ));

    EXPECT_FALSE(feed(reader, {"A: " + std::string(26'000, 'x')}));
    EXPECT_EQ(reader.refusal(), "the answer has more than 64 KiB of header");
}

TEST(AnswerReader, StopsAtABodyTooLongToDrain) {
    AnswerReader reader;
    ASSERT_TRUE(feed(reader, {"HTTP/1.1 200 OK", "Content-Length: 16385"}));

    EXPECT_FALSE(feed(reader, {""}));
    EXPECT_EQ(reader.status(), 200);
    EXPECT_TRUE(reader.refusal().empty());
}

TEST(AnswerReader, DrainsSixteenKibibytes) {
    AnswerReader reader;
    ASSERT_TRUE(feed(reader, {"HTTP/1.1 200 OK", "Content-Length: 16384", ""}));

    EXPECT_TRUE(reader.on_body(kMaxDrainedBytes));
    EXPECT_FALSE(reader.on_body(1));
    EXPECT_EQ(reader.status(), 200);
}

TEST(AnswerReader, CountsTrailersAsBody) {
    AnswerReader reader;
    ASSERT_TRUE(feed(reader, {"HTTP/1.1 200 OK", "Transfer-Encoding: chunked", ""}));

    EXPECT_FALSE(feed(reader, {std::string(20'000, 't')}));
    EXPECT_EQ(reader.status(), 200);
}

TEST(AnswerReader, SwitchingProtocolsEndsTheConnection) {
    AnswerReader reader;

    EXPECT_FALSE(feed(reader, {"HTTP/1.1 101 Switching Protocols", "Upgrade: x", ""}));
    EXPECT_EQ(reader.status(), 101);
}

TEST(AnswerReader, KeepsRetryAfterOf429And503Only) {
    for (const auto& [status, is_kept] :
         {std::pair("429", true),
          std::pair("503", true),
          std::pair("500", false),
          std::pair("200", false)}) {
        AnswerReader reader;
        ASSERT_TRUE(
            feed(reader, {"HTTP/1.1 " + std::string(status) + " X", "retry-AFTER:  120 ", ""})
        );
        EXPECT_EQ(reader.retry_after().has_value(), is_kept) << status;
    }
}

TEST(AnswerReader, ForgetsRetryAfterOfAnInterimAnswer) {
    AnswerReader reader;
    ASSERT_TRUE(feed(reader, {"HTTP/1.1 103 Early", "Retry-After: 5", "", "HTTP/1.1 503 Busy", ""})
    );

    EXPECT_FALSE(reader.retry_after());
}

TEST(RetryAfter, IsSecondsOrADate) {
    EXPECT_EQ(find_retry_after("120")->seconds, 120);
    EXPECT_EQ(find_retry_after("0")->seconds, 0);
    for (const char* date :
         {"Sun, 06 Nov 1994 08:49:37 GMT",
          "Sunday, 06-Nov-94 08:49:37 GMT",
          "Sun Nov  6 08:49:37 1994"}) {
        ASSERT_TRUE(find_retry_after(date)) << date;
        EXPECT_EQ(find_retry_after(date)->at, 784111777000) << date;
    }
    for (const char* bad :
         {"", "-1", "1.5", "soon", "99999999999999999999", "08:49:37", "12 apples"}) {
        EXPECT_FALSE(find_retry_after(bad)) << bad;
    }
}

}  // namespace
}  // namespace compute::net
