#include "agent_protocol/frame.h"

#include <gtest/gtest.h>

#include "core/error.h"

namespace compute::agent_protocol {
namespace {

std::string message_of(const std::string& bytes) {
    FrameReader reader;
    reader.feed(bytes);
    try {
        (void)reader.next();
    } catch (const ComputeError& error) {
        return error.message();
    }
    return "";
}

TEST(Frames, ComeBackAsTheyWereSentByteByByte) {
    const std::string bytes = encode_control("{}") +
                              encode_frame({FrameType::Data, 7, std::string("a\0b", 3)}) +
                              encode_credit(7, 65'537) + encode_close(7, {true, "done"});
    FrameReader reader;
    std::vector<Frame> frames;

    for (const char byte : bytes) {
        reader.feed(std::string_view(&byte, 1));
        while (auto frame = reader.next()) {
            frames.push_back(*frame);
        }
    }

    ASSERT_EQ(frames.size(), 4U);
    EXPECT_EQ(frames[0].payload, "{}");
    EXPECT_EQ(frames[1].payload, std::string("a\0b", 3));
    EXPECT_EQ(frames[1].stream, 7U);
    EXPECT_EQ(parse_credit(frames[2].payload), 65'537U);
    EXPECT_TRUE(parse_close(frames[3].payload).is_half);
    EXPECT_EQ(parse_close(frames[3].payload).reason, "done");
    EXPECT_FALSE(reader.is_inside_frame());
}

TEST(Frames, ManyInOnePieceComeOneByOne) {
    FrameReader reader;
    std::string bytes;
    for (int i = 0; i < 1000; ++i) {
        bytes += encode_control(std::to_string(i));
    }
    reader.feed(bytes);

    for (int i = 0; i < 1000; ++i) {
        EXPECT_EQ(reader.next().value().payload, std::to_string(i));
    }
    EXPECT_FALSE(reader.next());
}

TEST(Frames, ThePayloadIsLimitedBothWays) {
    FrameReader reader;
    reader.feed(encode_control(std::string(kMaxPayloadBytes, 'x')));
    EXPECT_EQ(reader.next().value().payload.size(), kMaxPayloadBytes);

    EXPECT_THROW((void)encode_control(std::string(kMaxPayloadBytes + 1, 'x')), ComputeError);
    // The header alone is enough to refuse it.
    EXPECT_EQ(
        message_of(std::string("\0\1\0\1\0\0\0\0\0", 9)), "frame: must have at most 65,536 bytes"
    );
}

TEST(Frames, AnUnknownTypeIsRefused) {
    EXPECT_EQ(message_of(std::string("\0\0\0\0\4\0\0\0\1", 9)), "frame: unknown type 4");
}

TEST(Frames, ControlHasNoStreamAndTheOthersHaveOne) {
    EXPECT_EQ(message_of(std::string("\0\0\0\0\0\0\0\0\1", 9)), "frame: control has no stream");
    EXPECT_EQ(message_of(std::string("\0\0\0\0\1\0\0\0\0", 9)), "frame: must name a stream");
}

TEST(Frames, APartOfAFrameWaits) {
    FrameReader reader;
    const std::string bytes = encode_control("{}");
    reader.feed(bytes.substr(0, bytes.size() - 1));

    EXPECT_FALSE(reader.next());
    EXPECT_TRUE(reader.is_inside_frame());
}

TEST(Frames, CreditAndCloseAreCheckedInTheirSize) {
    EXPECT_THROW((void)parse_credit("abc"), ComputeError);
    EXPECT_THROW((void)parse_credit("abcde"), ComputeError);
    EXPECT_THROW((void)parse_close(""), ComputeError);
    EXPECT_THROW((void)parse_close("\2"), ComputeError);
    EXPECT_EQ(parse_close(std::string(1, '\0') + std::string(256, 'r')).reason.size(), 256U);
    EXPECT_THROW((void)parse_close(std::string(1, '\0') + std::string(257, 'r')), ComputeError);
}

}  // namespace
}  // namespace compute::agent_protocol
