// Bytes that are hashed or signed: a list of texts in a fixed order, each behind its length, so
// that no two lists give the same bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace compute::audit {

class FieldBytes {
public:
    // `purpose` comes first: bytes made for one thing never pass for another's.
    explicit FieldBytes(std::string_view purpose) { add(purpose); }

    // Four bytes of length, most significant first, then the text.
    FieldBytes& add(std::string_view text);
    // A number is its decimal text.
    FieldBytes& add(std::int64_t number) { return add(std::string_view(std::to_string(number))); }
    // What is absent is the length 0xFFFFFFFF with nothing behind it.
    FieldBytes& add(const std::optional<std::string>& text);

    [[nodiscard]] const std::string& bytes() const noexcept { return bytes_; }

private:
    std::string bytes_;
};

}  // namespace compute::audit
