// Typed ids. Past the wire an id is a type of its own, so that two of them cannot be swapped.
#pragma once

#include <compare>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

namespace compute {

template <class Tag>
class StrongId {
public:
    StrongId() = default;
    explicit StrongId(std::string value) : value_(std::move(value)) {}

    [[nodiscard]] const std::string& str() const noexcept { return value_; }
    [[nodiscard]] bool empty() const noexcept { return value_.empty(); }
    friend auto operator<=>(const StrongId&, const StrongId&) = default;

private:
    std::string value_;
};

using TenantId = StrongId<struct TenantTag>;
using IdentityId = StrongId<struct IdentityTag>;
using SessionId = StrongId<struct SessionTag>;

class Clock;
class Rng;

// A new id: `prefix` + 26 characters of lower case Crockford base 32 (48 bits of epoch milliseconds, then 80 random
// bits: a ULID), so ids of one prefix sort roughly by time. `prefix` carries its own underscore: "evt_".
// Source: https://github.com/ulid/spec. Thread-safe when `rng` is.
[[nodiscard]] std::string new_id(std::string_view prefix, const Clock& clock, Rng& rng);

// `bytes` in lower case Crockford base 32 (alphabet 0-9 a-z without i l o u), most significant bit first, the last
// character padded with zero bits: ceil(8 n / 5) characters.
[[nodiscard]] std::string crockford32(std::string_view bytes);

}  // namespace compute

template <class Tag>
struct std::hash<compute::StrongId<Tag>> {
    std::size_t operator()(const compute::StrongId<Tag>& id) const noexcept {
        return std::hash<std::string>{}(id.str());
    }
};
