#include "audit/fields.h"

namespace compute::audit {
namespace {

constexpr std::uint32_t kAbsent = 0xFFFFFFFF;

void put_length(std::string& out, std::uint32_t length) {
    for (int shift = 24; shift >= 0; shift -= 8) {
        out += static_cast<char>((length >> shift) & 0xFFU);
    }
}

}  // namespace

FieldBytes& FieldBytes::add(std::string_view text) {
    put_length(bytes_, static_cast<std::uint32_t>(text.size()));
    bytes_ += text;
    return *this;
}

FieldBytes& FieldBytes::add(const std::optional<std::string>& text) {
    if (text) {
        return add(std::string_view(*text));
    }
    put_length(bytes_, kAbsent);
    return *this;
}

}  // namespace compute::audit
