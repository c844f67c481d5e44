#include "daemon/http/body.h"

#include <algorithm>

#include "daemon/http/handler.h"

namespace compute::daemon::http {
namespace {

constexpr std::size_t kMaxChunkLineBytes = 256;
constexpr std::size_t kMaxTrailerBytes = 4096;
// A body of one-byte chunks is legal; one that is mostly chunk lines is an attack.
constexpr std::size_t kMaxOverheadBytes = 8 * kMaxBodyBytes;

int hex_digit(char c) {
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    if (c >= 'a' && c <= 'f') {
        return c - 'a' + 10;
    }
    if (c >= 'A' && c <= 'F') {
        return c - 'A' + 10;
    }
    return -1;
}

bool has_control_character(std::string_view line) {
    return std::any_of(line.begin(), line.end(), [](char c) {
        return (static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7f;
    });
}

}  // namespace

void BodyReader::start_plain(std::size_t length) {
    *this = BodyReader();
    left_ = length;
}

void BodyReader::start_chunked() {
    *this = BodyReader();
    phase_ = Phase::Size;
}

BodyReader::State BodyReader::fail(const char* message) {
    fault_ = message;
    return State::Fault;
}

BodyReader::State BodyReader::read_plain(std::string_view bytes, std::size_t& taken) {
    const std::size_t part = std::min(left_, bytes.size() - taken);
    body_.append(bytes.substr(taken, part));
    taken += part;
    left_ -= part;
    return left_ == 0 ? State::Done : State::NeedMore;
}

// NeedMore while the line is not complete; Done with the line, without its end.
BodyReader::State BodyReader::read_line(
    std::string_view bytes, std::size_t& taken, std::string_view& line
) const {
    const std::string_view rest = bytes.substr(taken);
    const auto newline = rest.find('\n');
    if (newline == std::string_view::npos) {
        return rest.size() > kMaxChunkLineBytes ? State::Fault : State::NeedMore;
    }
    if (newline == 0 || rest[newline - 1] != '\r' || newline > kMaxChunkLineBytes) {
        return State::Fault;
    }
    line = rest.substr(0, newline - 1);
    taken += newline + 1;
    return has_control_character(line) ? State::Fault : State::Done;
}

// The size of a chunk, then perhaps `;extension`, which is ignored.
BodyReader::State BodyReader::take_size(std::string_view line) {
    std::size_t size = 0;
    std::size_t digits = 0;
    while (digits < line.size() && hex_digit(line[digits]) >= 0) {
        size = std::min(
            size * 16 + static_cast<std::size_t>(hex_digit(line[digits])), kMaxBodyBytes + 1
        );
        ++digits;
    }
    if (digits == 0 || (digits < line.size() && line[digits] != ';')) {
        return fail("body: a chunk size is malformed");
    }
    if (body_.size() + size > kMaxBodyBytes) {
        return State::TooLarge;
    }
    left_ = size;
    phase_ = size == 0 ? Phase::Trailer : Phase::Data;
    return State::NeedMore;
}

BodyReader::State BodyReader::read(std::string_view bytes, std::size_t& taken) {
    taken = 0;
    if (phase_ == Phase::Plain) {
        return read_plain(bytes, taken);
    }
    while (true) {
        if (phase_ == Phase::Data) {
            if (read_plain(bytes, taken) == State::NeedMore) {
                return State::NeedMore;
            }
            phase_ = Phase::DataEnd;
        }
        std::string_view line;
        const std::size_t before = taken;
        const State state = read_line(bytes, taken, line);
        if (state == State::Fault) {
            return fail("body: a chunk line is malformed");
        }
        if (state == State::NeedMore) {
            return state;
        }
        overhead_bytes_ += taken - before;
        if (overhead_bytes_ > kMaxOverheadBytes) {
            return fail("body: too many chunks");
        }
        if (phase_ == Phase::DataEnd) {
            if (!line.empty()) {
                return fail("body: a chunk is longer than its size");
            }
            phase_ = Phase::Size;
        } else if (phase_ == Phase::Size) {
            if (const State sized = take_size(line); sized != State::NeedMore) {
                return sized;
            }
        } else {
            if (line.empty()) {
                return State::Done;
            }
            trailer_bytes_ += taken - before;
            if (trailer_bytes_ > kMaxTrailerBytes) {
                return fail("body: the trailer is too large");
            }
        }
    }
}

}  // namespace compute::daemon::http
