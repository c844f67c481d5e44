// What travels between daemon and agent once a connection has left HTTP: frames of
//
//     u32 length of the payload, u8 type, u32 stream, payload        (big endian, payload <= 64
//     KiB)
//
// Control frames carry one JSON message each (messages.h) and no stream. The other types belong to
// streams that the daemon opens: data, credit (how many more bytes may come) and close.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace compute::agent_protocol {

inline constexpr std::size_t kMaxPayloadBytes = 65'536;
inline constexpr std::size_t kFrameHeaderBytes = 9;
inline constexpr std::size_t kMaxCloseReason = 256;

inline constexpr std::string_view kUpgradeProtocol = "better-compute-agent/1";
inline constexpr std::string_view kConnectPath = "/agent/connect";  // below the API's base path

enum class FrameType : std::uint8_t { Control = 0, Data = 1, Credit = 2, Close = 3 };

struct Frame {
    FrameType type = FrameType::Control;
    std::uint32_t stream = 0;  // 0 exactly for control frames
    std::string payload;
};

// How a stream ends: one direction (half) or both, and why.
struct Close {
    bool is_half = false;
    std::string reason;
};

// Throws INTERNAL_ERROR for a payload over the limit: we never make one.
[[nodiscard]] std::string encode_frame(const Frame& frame);
[[nodiscard]] std::string encode_control(std::string_view json);
[[nodiscard]] std::string encode_close(std::uint32_t stream, const Close& close);
[[nodiscard]] std::string encode_credit(std::uint32_t stream, std::uint32_t bytes);

// INVALID_INPUT for a payload of another size.
[[nodiscard]] Close parse_close(std::string_view payload);
[[nodiscard]] std::uint32_t parse_credit(std::string_view payload);

// Takes bytes as they come and gives whole frames. Never keeps more than one frame's bytes beyond
// what was fed in the last call: a length over the limit is refused at the header. After an error
// the bytes have no meaning any more; close the connection.
class FrameReader {
public:
    void feed(std::string_view bytes) { in_.append(bytes); }
    // The next frame; nullopt until more bytes come. INVALID_INPUT naming the fault: a length over
    // the limit, an unknown type, a control frame with a stream, another frame without one.
    [[nodiscard]] std::optional<Frame> next();
    // Whether a part of a frame is waiting for its rest.
    [[nodiscard]] bool is_inside_frame() const noexcept { return at_ < in_.size(); }

private:
    std::string in_;
    std::size_t at_ = 0;
};

}  // namespace compute::agent_protocol
