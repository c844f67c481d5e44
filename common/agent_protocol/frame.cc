#include "agent_protocol/frame.h"

#include "core/error.h"

namespace compute::agent_protocol {
namespace {

constexpr std::size_t kCreditBytes = 4;
constexpr std::uint8_t kLastType = 3;

std::uint32_t read_u32(std::string_view bytes) {
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < 4; ++i) {
        value = value << 8U | static_cast<unsigned char>(bytes[i]);
    }
    return value;
}

void put_u32(std::string& out, std::uint32_t value) {
    for (const unsigned shift : {24U, 16U, 8U, 0U}) {
        out += static_cast<char>(value >> shift & 0xFFU);
    }
}

}  // namespace

std::string encode_frame(const Frame& frame) {
    if (frame.payload.size() > kMaxPayloadBytes) {
        throw internal_error("a frame of " + std::to_string(frame.payload.size()) + " bytes");
    }
    std::string out;
    out.reserve(kFrameHeaderBytes + frame.payload.size());
    put_u32(out, static_cast<std::uint32_t>(frame.payload.size()));
    out += static_cast<char>(frame.type);
    put_u32(out, frame.stream);
    out += frame.payload;
    return out;
}

std::string encode_control(std::string_view json) {
    return encode_frame({FrameType::Control, 0, std::string(json)});
}

std::string encode_close(std::uint32_t stream, const Close& close) {
    std::string payload(1, close.is_half ? '\1' : '\0');
    payload += close.reason.substr(0, kMaxCloseReason);
    return encode_frame({FrameType::Close, stream, std::move(payload)});
}

std::string encode_credit(std::uint32_t stream, std::uint32_t bytes) {
    std::string payload;
    put_u32(payload, bytes);
    return encode_frame({FrameType::Credit, stream, std::move(payload)});
}

Close parse_close(std::string_view payload) {
    if (payload.empty() || static_cast<unsigned char>(payload[0]) > 1) {
        throw invalid_input("close: must begin with a flag of 0 or 1");
    }
    if (payload.size() > 1 + kMaxCloseReason) {
        throw invalid_input("close: the reason must have at most 256 bytes");
    }
    return {payload[0] == '\1', std::string(payload.substr(1))};
}

std::uint32_t parse_credit(std::string_view payload) {
    if (payload.size() != kCreditBytes) {
        throw invalid_input("credit: must be four bytes");
    }
    return read_u32(payload);
}

std::optional<Frame> FrameReader::next() {
    const std::string_view bytes = std::string_view(in_).substr(at_);
    if (bytes.size() < kFrameHeaderBytes) {
        return std::nullopt;
    }
    const std::size_t length = read_u32(bytes);
    if (length > kMaxPayloadBytes) {
        throw invalid_input("frame: must have at most 65,536 bytes");
    }
    const auto type = static_cast<std::uint8_t>(bytes[4]);
    if (type > kLastType) {
        throw invalid_input("frame: unknown type " + std::to_string(type));
    }
    Frame frame;
    frame.type = static_cast<FrameType>(type);
    frame.stream = read_u32(bytes.substr(5));
    if ((frame.type == FrameType::Control) != (frame.stream == 0)) {
        throw invalid_input(
            frame.stream == 0 ? "frame: must name a stream" : "frame: control has no stream"
        );
    }
    if (bytes.size() < kFrameHeaderBytes + length) {
        return std::nullopt;
    }
    frame.payload = bytes.substr(kFrameHeaderBytes, length);
    at_ += kFrameHeaderBytes + length;
    // Moving the rest down is linear in it, so it is done when the used part is the larger one.
    if (at_ >= in_.size() - at_) {
        in_.erase(0, at_);
        at_ = 0;
    }
    return frame;
}

}  // namespace compute::agent_protocol
