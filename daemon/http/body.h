// Reading the body of a request, plain or chunked, up to kMaxBodyBytes.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace compute::daemon::http {

// Takes a body from the bytes of a connection. Chunks are read as strictly as the head: CR LF only,
// hexadecimal sizes only.
class BodyReader {
public:
    enum class State { NeedMore, Done, TooLarge, Fault };

    // A body of exactly `length` bytes (0: none).
    void start_plain(std::size_t length);
    void start_chunked();

    // Consumes from the front of `bytes` what belongs to the body and says how much in `taken`.
    State read(std::string_view bytes, std::size_t& taken);

    [[nodiscard]] const std::string& fault() const noexcept { return fault_; }
    [[nodiscard]] std::string take_body() { return std::move(body_); }

private:
    enum class Phase { Plain, Size, Data, DataEnd, Trailer };
    State fail(const char* message);
    State read_plain(std::string_view bytes, std::size_t& taken);
    State read_line(std::string_view bytes, std::size_t& taken, std::string_view& line) const;
    State take_size(std::string_view line);

    Phase phase_ = Phase::Plain;
    std::size_t left_ = 0;  // of the plain body or the chunk
    std::size_t trailer_bytes_ = 0;
    std::size_t overhead_bytes_ = 0;  // of chunk lines
    std::string body_;
    std::string fault_;
};

}  // namespace compute::daemon::http
