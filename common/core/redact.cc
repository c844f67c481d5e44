#include "core/redact.h"

#include <array>

namespace compute {
namespace {

constexpr std::array<std::string_view, 2> kPrefixes{"bct_", "whsec_"};

bool is_token_character(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_';
}

}  // namespace

std::string redact_secrets(std::string_view text) {
    std::string out;
    std::size_t at = 0;
    while (at < text.size()) {
        std::size_t found = std::string_view::npos;
        std::size_t length = 0;
        for (const std::string_view prefix : kPrefixes) {
            const std::size_t here = text.find(prefix, at);
            if (here < found) {
                found = here;
                length = prefix.size();
            }
        }
        if (found == std::string_view::npos) {
            break;
        }
        std::size_t end = found + length;
        while (end < text.size() && is_token_character(text[end])) {
            ++end;
        }
        out += text.substr(at, found + length - at);
        out += "***";
        at = end;
    }
    out += text.substr(at);
    return out;
}

}  // namespace compute
