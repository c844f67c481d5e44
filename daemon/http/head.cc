#include "daemon/http/head.h"

#include <algorithm>
#include <utility>

#include "daemon/http/handler.h"

namespace compute::daemon::http {
namespace {

constexpr std::size_t kMaxMethodBytes = 32;

bool is_token_char(char c) {
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9')) {
        return true;
    }
    constexpr std::string_view kOthers = "!#$%&'*+-.^_`|~";
    return kOthers.find(c) != std::string_view::npos;
}

bool is_token(std::string_view text) {
    return !text.empty() && std::all_of(text.begin(), text.end(), is_token_char);
}

char lower(char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

bool equals_ignoring_case(std::string_view a, std::string_view b) {
    return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), [](char x, char y) {
               return lower(x) == lower(y);
           });
}

std::string_view trim(std::string_view text) {
    const auto first = text.find_first_not_of(" \t");
    if (first == std::string_view::npos) {
        return {};
    }
    return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

// Visible ASCII, space, tab and bytes above 0x7f: what a field value may hold.
bool is_value_char(char c) {
    const auto byte = static_cast<unsigned char>(c);
    return c == '\t' || (byte >= 0x20 && byte != 0x7f);
}

}  // namespace

const std::string* Head::find_only(std::string_view name) const {
    const std::string* found = nullptr;
    for (const Field& field : fields) {
        if (field.name == name) {
            if (found != nullptr) {
                return nullptr;
            }
            found = &field.value;
        }
    }
    return found;
}

bool Head::has_token(std::string_view name, std::string_view token) const {
    for (const Field& field : fields) {
        if (field.name != name) {
            continue;
        }
        std::string_view rest = field.value;
        while (!rest.empty()) {
            const auto comma = rest.find(',');
            if (equals_ignoring_case(trim(rest.substr(0, comma)), token)) {
                return true;
            }
            rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
        }
    }
    return false;
}

void HeadReader::reset() {
    *this = HeadReader(limits_);
}

HeadReader::State HeadReader::fail(int status, std::string message) {
    fault_ = {status, std::move(message)};
    return State::Fault;
}

HeadReader::State HeadReader::read(std::string_view bytes) {
    while (scanned_ < bytes.size()) {
        const auto newline = bytes.find('\n', scanned_);
        const std::size_t line_end = newline == std::string_view::npos ? bytes.size() : newline;
        if (std::min(line_end + 1, bytes.size()) > limits_.max_bytes) {
            return fail(431, "head: larger than " + std::to_string(limits_.max_bytes) + " bytes");
        }
        if (newline == std::string_view::npos) {
            scanned_ = bytes.size();
            return State::NeedMore;
        }
        if (newline == line_start_ || bytes[newline - 1] != '\r') {
            return fail(400, "head: a line must end with CR LF");
        }
        const std::string_view line = bytes.substr(line_start_, newline - 1 - line_start_);
        scanned_ = newline + 1;
        line_start_ = scanned_;
        // Some clients send an empty line after the body of the request before (RFC 9112, 2.2): one
        // is skipped.
        if (line.empty() && !has_request_line_ && start_ == 0) {
            start_ = scanned_;
            continue;
        }
        if (line.empty() && has_request_line_) {
            size_ = scanned_;
            return finish() ? State::Done : State::Fault;
        }
        if (!take_line(line)) {
            return State::Fault;
        }
    }
    return State::NeedMore;
}

bool HeadReader::take_line(std::string_view line) {
    if (!std::all_of(line.begin(), line.end(), is_value_char)) {
        fail(400, "head: contains a control character");
        return false;
    }
    return has_request_line_ ? take_field(line) : take_request_line(line);
}

bool HeadReader::take_request_line(std::string_view line) {
    const auto first = line.find(' ');
    const auto second = first == std::string_view::npos ? first : line.find(' ', first + 1);
    if (second == std::string_view::npos) {
        fail(400, "request line: must be a method, a target and a version");
        return false;
    }
    const std::string_view method = line.substr(0, first);
    const std::string_view target = line.substr(first + 1, second - first - 1);
    const std::string_view version = line.substr(second + 1);
    if (!is_token(method) || method.size() > kMaxMethodBytes) {
        fail(400, "request line: the method is malformed");
        return false;
    }
    if (target.empty() || target.find('\t') != std::string_view::npos) {
        fail(400, "request line: the target is malformed");
        return false;
    }
    if (version != "HTTP/1.1" && version != "HTTP/1.0") {
        fail(400, "request line: the version must be HTTP/1.1");
        return false;
    }
    head_.method = method;
    head_.target = target;
    head_.minor_version = version.back() - '0';
    has_request_line_ = true;
    return true;
}

bool HeadReader::take_field(std::string_view line) {
    if (line.front() == ' ' || line.front() == '\t') {
        fail(400, "head: a folded field");
        return false;
    }
    if (head_.fields.size() == limits_.max_fields) {
        fail(431, "head: more than " + std::to_string(limits_.max_fields) + " fields");
        return false;
    }
    const auto colon = line.find(':');
    if (colon == std::string_view::npos || !is_token(line.substr(0, colon))) {
        fail(400, "head: a field name is malformed");
        return false;
    }
    Field field{std::string(line.substr(0, colon)), std::string(trim(line.substr(colon + 1)))};
    std::transform(field.name.begin(), field.name.end(), field.name.begin(), lower);
    head_.fields.push_back(std::move(field));
    return true;
}

bool HeadReader::finish() {
    const auto count = [&](std::string_view name) {
        return std::count_if(head_.fields.begin(), head_.fields.end(), [&](const Field& field) {
            return field.name == name;
        });
    };
    if (count("host") > 1 || (head_.minor_version == 1 && count("host") == 0)) {
        fail(400, "host: must be given once");
        return false;
    }
    if (count("authorization") > 1) {
        fail(400, "authorization: given more than once");
        return false;
    }
    return check_framing();
}

bool HeadReader::check_framing() {
    bool has_transfer_encoding = false;
    const std::string* length = nullptr;
    for (const Field& field : head_.fields) {
        if (field.name == "transfer-encoding") {
            if (has_transfer_encoding) {
                fail(400, "transfer-encoding: given more than once");
                return false;
            }
            has_transfer_encoding = true;
            head_.is_chunked = equals_ignoring_case(field.value, "chunked");
        } else if (field.name == "content-length") {
            if (length != nullptr) {
                fail(400, "content-length: given more than once");
                return false;
            }
            length = &field.value;
        }
    }
    if (length != nullptr && has_transfer_encoding) {
        fail(400, "content-length: beside transfer-encoding");
        return false;
    }
    if (has_transfer_encoding && (!head_.is_chunked || head_.minor_version == 0)) {
        fail(head_.minor_version == 0 ? 400 : 501, "transfer-encoding: only chunked is supported");
        return false;
    }
    if (length == nullptr) {
        return true;
    }
    const bool is_number =
        !length->empty() &&
        std::all_of(length->begin(), length->end(), [](char c) { return c >= '0' && c <= '9'; });
    if (!is_number) {
        fail(400, "content-length: must be a number");
        return false;
    }
    std::size_t value = 0;
    for (const char digit : *length) {
        value = std::min(value * 10 + static_cast<std::size_t>(digit - '0'), kMaxBodyBytes + 1);
    }
    head_.content_length = value;
    return true;
}

}  // namespace compute::daemon::http
