#include "schema/text.h"

namespace compute::schema {
namespace {

struct Lead {
    std::size_t length;           // of the whole sequence; 0: no lead byte
    unsigned char second_lowest;  // the second byte's bounds keep out overlong forms and surrogates
    unsigned char second_highest;
};

Lead lead_of(unsigned char byte) noexcept {
    if (byte >= 0xC2 && byte <= 0xDF) {
        return {2, 0x80, 0xBF};
    }
    if (byte == 0xE0) {
        return {3, 0xA0, 0xBF};
    }
    if (byte == 0xED) {
        return {3, 0x80, 0x9F};
    }
    if (byte >= 0xE1 && byte <= 0xEF) {
        return {3, 0x80, 0xBF};
    }
    if (byte == 0xF0) {
        return {4, 0x90, 0xBF};
    }
    if (byte >= 0xF1 && byte <= 0xF3) {
        return {4, 0x80, 0xBF};
    }
    if (byte == 0xF4) {
        return {4, 0x80, 0x8F};
    }
    return {0, 0, 0};
}

}  // namespace

std::optional<std::size_t> find_code_points(std::string_view text) noexcept {
    std::size_t count = 0;
    std::size_t at = 0;
    while (at < text.size()) {
        const auto byte = static_cast<unsigned char>(text[at]);
        ++count;
        if (byte == 0) {
            return std::nullopt;
        }
        if (byte < 0x80) {
            ++at;
            continue;
        }
        const Lead lead = lead_of(byte);
        if (lead.length == 0 || at + lead.length > text.size()) {
            return std::nullopt;
        }
        const auto second = static_cast<unsigned char>(text[at + 1]);
        if (second < lead.second_lowest || second > lead.second_highest) {
            return std::nullopt;
        }
        for (std::size_t i = 2; i < lead.length; ++i) {
            if ((static_cast<unsigned char>(text[at + i]) & 0xC0U) != 0x80U) {
                return std::nullopt;
            }
        }
        at += lead.length;
    }
    return count;
}

}  // namespace compute::schema
