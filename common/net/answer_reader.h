// Reads an answer's header lines as they come, within caps, and says when the answer counts. Knows
// nothing of sockets.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "net/sender.h"

namespace compute::net {

inline constexpr std::size_t kMaxAnswerHeaderBytes =
    64 * 1024;  // of all header blocks of one answer, interim ones included
inline constexpr std::string_view kTooMuchHeader = "the answer has more than 64 KiB of header";
inline constexpr int kMaxAnswerFields = 100;
inline constexpr int kMaxInterimAnswers = 10;
inline constexpr std::size_t kMaxDrainedBytes = 16 * 1024;

// Not thread-safe.
class AnswerReader {
public:
    void reset() noexcept { *this = AnswerReader(); }

    // Takes one line with its end. False: read no further, the connection is not worth keeping (a
    // cap was exceeded, or the answer counts but its body is too long to drain).
    [[nodiscard]] bool on_header_line(std::string_view line);
    // Takes a piece of the body, or the lines behind a chunked one. False: enough.
    [[nodiscard]] bool on_body(std::size_t bytes) noexcept;

    // The status once the whole header block of the final answer is in.
    [[nodiscard]] std::optional<int> status() const noexcept {
        return is_complete_ ? std::optional(status_) : std::nullopt;
    }
    [[nodiscard]] const std::optional<RetryAfter>& retry_after() const noexcept {
        return retry_after_;
    }
    // Which cap was exceeded, for the tenant; empty when none was.
    [[nodiscard]] std::string_view refusal() const noexcept { return refusal_; }
    [[nodiscard]] bool has_begun() const noexcept { return header_bytes_ > 0; }

private:
    bool on_block_end();
    void on_field(std::string_view line);

    int status_ = 0;
    bool is_in_block_ = false;
    bool is_complete_ = false;
    int fields_ = 0;
    int interim_ = 0;
    std::size_t header_bytes_ = 0;
    std::size_t body_bytes_ = 0;
    bool is_body_too_long_ = false;
    std::optional<RetryAfter> retry_after_;
    std::string_view refusal_;
};

// The value of a Retry-After field: seconds or an HTTP date; nullopt for anything else.
[[nodiscard]] std::optional<RetryAfter> find_retry_after(std::string_view value);

}  // namespace compute::net
