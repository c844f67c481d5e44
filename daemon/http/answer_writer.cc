#include "daemon/http/answer_writer.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace compute::daemon::http {
namespace {

struct Reason {
    int status;
    std::string_view phrase;
};

// Clients go by the number; RFC 9110 lets the phrase be empty, which it is for all others.
constexpr Reason kReasons[] = {
    {200, "OK"},
    {400, "Bad Request"},
    {401, "Unauthorized"},
    {402, "Payment Required"},
    {403, "Forbidden"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {409, "Conflict"},
    {413, "Content Too Large"},
    {429, "Too Many Requests"},
    {431, "Request Header Fields Too Large"},
    {500, "Internal Server Error"},
    {501, "Not Implemented"},
    {503, "Service Unavailable"},
};

constexpr std::size_t kTypicalHeadBytes = 256;

std::string_view reason_of(int status) {
    const auto* const found =
        std::find_if(std::begin(kReasons), std::end(kReasons), [status](const Reason& reason) {
            return reason.status == status;
        });
    return found == std::end(kReasons) ? std::string_view() : found->phrase;
}

bool is_one_line(std::string_view text) {
    return text.find_first_of(std::string_view("\r\n\0", 3)) == std::string_view::npos;
}

void append_number(std::string& out, std::size_t number) {
    std::array<char, 24> digits{};
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
    out.append(digits.data(), end);
}

void append_header(std::string& out, std::string_view name, std::string_view value) {
    if (is_one_line(name) && is_one_line(value)) {
        out.append(name).append(": ").append(value).append("\r\n");
    }
}

}  // namespace

std::string answer_bytes(const AnswerFrame& frame, const Answer& answer) {
    std::string out;
    out.reserve(kTypicalHeadBytes + answer.body.size());
    out.append("HTTP/1.1 ");
    append_number(out, static_cast<std::size_t>(answer.status));
    out.append(" ").append(reason_of(answer.status)).append("\r\n");
    append_header(out, "Content-Type", answer.content_type);
    out.append("Content-Length: ");
    append_number(out, answer.body.size());
    out.append("\r\n");
    append_header(out, "X-Request-Id", frame.request_id);
    append_header(out, "Cache-Control", "no-store");
    for (const auto& [name, value] : answer.headers) {
        append_header(out, name, value);
    }
    if (frame.must_close) {
        append_header(out, "Connection", "close");
    }
    out.append("\r\n");
    if (!frame.is_head) {
        out.append(answer.body);
    }
    return out;
}

}  // namespace compute::daemon::http
