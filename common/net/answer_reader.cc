#include "net/answer_reader.h"

#include <cctype>
#include <charconv>
#include <cstring>

#include <curl/curl.h>

namespace compute::net {
namespace {

std::string_view trim(std::string_view text) noexcept {
    constexpr std::string_view kSpace = " \t\r\n";
    const std::size_t from = text.find_first_not_of(kSpace);
    return from == std::string_view::npos
               ? std::string_view{}
               : text.substr(from, text.find_last_not_of(kSpace) - from + 1);
}

// The field's value when `line` is the field `name` (lower case).
std::optional<std::string_view> find_value(std::string_view line, std::string_view name) noexcept {
    if (line.size() <= name.size() || line[name.size()] != ':' ||
        strncasecmp(line.data(), name.data(), name.size()) != 0) {
        return std::nullopt;
    }
    return trim(line.substr(name.size() + 1));
}

std::optional<std::int64_t> find_number(std::string_view text) noexcept {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool is_number =
        !text.empty() && error == std::errc{} && end == text.data() + text.size() && value >= 0;
    return is_number ? std::optional(value) : std::nullopt;
}

}  // namespace

bool AnswerReader::on_header_line(std::string_view line) {
    if (is_complete_) {
        return on_body(line.size());  // trailers
    }
    header_bytes_ += line.size();
    if (header_bytes_ > kMaxAnswerHeaderBytes) {
        refusal_ = kTooMuchHeader;
        return false;
    }
    if (!is_in_block_) {
        const std::size_t space = line.find(' ');
        const std::string_view code =
            space == std::string_view::npos ? std::string_view{} : line.substr(space + 1, 3);
        status_ = static_cast<int>(find_number(code).value_or(0));
        is_in_block_ = true;
        fields_ = 0;
        retry_after_.reset();
        is_body_too_long_ = false;
        return true;
    }
    if (trim(line).empty()) {
        return on_block_end();
    }
    if (++fields_ > kMaxAnswerFields) {
        refusal_ = "the answer has more than 100 header fields";
        return false;
    }
    on_field(line);
    return true;
}

bool AnswerReader::on_block_end() {
    is_in_block_ = false;
    if (status_ >= 100 && status_ <= 199 && status_ != 101) {
        if (++interim_ > kMaxInterimAnswers) {
            refusal_ = "the answer has more than 10 interim answers";
            return false;
        }
        return true;
    }
    is_complete_ = true;
    // After 101 the connection speaks something else.
    return status_ != 101 && !is_body_too_long_;
}

void AnswerReader::on_field(std::string_view line) {
    if (const auto value = find_value(line, "retry-after");
        value && (status_ == 429 || status_ == 503)) {
        retry_after_ = find_retry_after(*value);
    } else if (const auto length = find_value(line, "content-length")) {
        is_body_too_long_ =
            find_number(*length).value_or(0) > static_cast<std::int64_t>(kMaxDrainedBytes);
    }
}

bool AnswerReader::on_body(std::size_t bytes) noexcept {
    body_bytes_ += bytes;
    return body_bytes_ <= kMaxDrainedBytes;
}

std::optional<RetryAfter> find_retry_after(std::string_view value) {
    if (const auto seconds = find_number(value)) {
        return RetryAfter{seconds, std::nullopt};
    }
    // A date begins with the day's name; curl_getdate alone would also take a bare year or clock
    // time.
    const bool looks_like_date = !value.empty() && value.size() <= 40 &&
                                 std::isalpha(static_cast<unsigned char>(value[0])) != 0 &&
                                 value.find(':') != std::string_view::npos;
    if (!looks_like_date) {
        return std::nullopt;
    }
    const time_t at = curl_getdate(std::string(value).c_str(), nullptr);
    if (at < 0) {
        return std::nullopt;
    }
    return RetryAfter{std::nullopt, static_cast<EpochMs>(at) * 1000};
}

}  // namespace compute::net
