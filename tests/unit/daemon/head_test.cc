#include "daemon/http/head.h"

#include <gtest/gtest.h>

#include "daemon/http/body.h"

namespace compute::daemon::http {
namespace {

constexpr std::string_view kGood =
    "POST /a HTTP/1.1\r\nHost: x\r\nX-One: 1 \r\nContent-Length: 12\r\n\r\nrest";

TEST(HeadReader, ReadsLineAndFields) {
    HeadReader reader(HeadLimits{});

    ASSERT_EQ(reader.read(kGood), HeadReader::State::Done);

    EXPECT_EQ(reader.size(), kGood.size() - 4);
    EXPECT_EQ(reader.head().method, "POST");
    EXPECT_EQ(reader.head().target, "/a");
    EXPECT_EQ(*reader.head().find_only("x-one"), "1");
    EXPECT_EQ(reader.head().content_length, 12U);
}

TEST(HeadReader, ReadsTheSameHoweverTheBytesArrive) {
    for (std::size_t cut = 0; cut < kGood.size(); ++cut) {
        HeadReader reader(HeadLimits{});
        HeadReader::State state = reader.read(kGood.substr(0, cut));
        if (state == HeadReader::State::NeedMore) {
            state = reader.read(kGood);
        }
        ASSERT_EQ(state, HeadReader::State::Done) << cut;
        EXPECT_EQ(reader.head().fields.size(), 3U) << cut;
    }
}

TEST(HeadReader, FaultsAreFoundBeforeTheHeadIsWhole) {
    HeadReader reader(HeadLimits{});

    EXPECT_EQ(reader.read("GET / HTTP/1.1\n"), HeadReader::State::Fault);
    EXPECT_EQ(reader.fault().status, 400);
}

TEST(HeadReader, TokensOfListsAreFoundInAnyCase) {
    HeadReader reader(HeadLimits{});
    ASSERT_EQ(
        reader.read("GET / HTTP/1.1\r\nHost: x\r\nConnection: keep-alive , UPGRADE\r\nConnection: "
                    "a,,b\r\n\r\n"),
        HeadReader::State::Done
    );

    EXPECT_TRUE(reader.head().has_token("connection", "upgrade"));
    EXPECT_TRUE(reader.head().has_token("connection", "b"));
    EXPECT_FALSE(reader.head().has_token("connection", "close"));
    EXPECT_EQ(reader.head().find_only("connection"), nullptr);
}

TEST(HeadReader, ResetForgetsEverything) {
    HeadReader reader(HeadLimits{});
    ASSERT_EQ(reader.read(kGood), HeadReader::State::Done);

    reader.reset();

    EXPECT_FALSE(reader.has_started());
    EXPECT_EQ(reader.read(kGood), HeadReader::State::Done);
}

TEST(BodyReader, ReadsChunksHoweverTheyArrive) {
    constexpr std::string_view kChunks = "3\r\nabc\r\n2;x=\"y\"\r\nde\r\n0\r\nT: v\r\n\r\nnext";
    for (std::size_t step = 1; step <= kChunks.size(); ++step) {
        BodyReader reader;
        reader.start_chunked();
        std::string in;
        auto state = BodyReader::State::NeedMore;
        std::size_t at = 0;
        while (state == BodyReader::State::NeedMore && at < kChunks.size()) {
            in += kChunks.substr(at, step);
            at += step;
            std::size_t taken = 0;
            state = reader.read(in, taken);
            in.erase(0, taken);
        }
        ASSERT_EQ(state, BodyReader::State::Done) << step;
        EXPECT_EQ(reader.take_body(), "abcde") << step;
    }
}

TEST(BodyReader, ABodyOfManyTinyChunksIsRefusedBeforeItCostsMuch) {
    BodyReader reader;
    reader.start_chunked();
    std::string in;
    for (int i = 0; i < 20000; ++i) {
        in += "1;" + std::string(100, 'x') + "\r\na\r\n";
    }
    std::size_t taken = 0;

    EXPECT_EQ(reader.read(in, taken), BodyReader::State::Fault);
}

}  // namespace
}  // namespace compute::daemon::http
