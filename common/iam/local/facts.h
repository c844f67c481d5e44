// What a policy may look at: the values behind context keys, and text with `${key}` variables over
// them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/error.h"

namespace compute::iam::local {

// The facts of one decision. Borrowed: the objects outlive it.
struct Facts {
    const Json* principal = nullptr;  // object; "principal.id" is its member "id"
    const Json* resource = nullptr;   // object; attributes, tenantId, ownerId
    const Json* request = nullptr;    // object; time, sourceIp

    // Null when the key has no value; a JSON null is none.
    [[nodiscard]] const Json* find(std::string_view key) const;
};

// `principal.<name>`, `resource.<name>`, `request.time` or `request.sourceIp`.
[[nodiscard]] bool is_context_key(std::string_view key);

// A name that an attribute may have: it can stand behind "principal." or "resource.".
[[nodiscard]] bool is_attribute_name(std::string_view name);

// Text with variables. As a glob its literal parts are compiled and its values stand for
// themselves.
class Template {
public:
    enum class As { Text, Glob };

    // Throws INVALID_INPUT `path: reason` for an open `${` and for a key that is none.
    static Template parse(std::string_view text, As as, const std::string& path);

    // nullopt when a variable has no value or one that is no string. `buffer` holds the result when
    // there are variables.
    [[nodiscard]] std::optional<std::string_view> render(const Facts& facts, std::string& buffer)
        const;
    [[nodiscard]] bool has_variables() const noexcept { return has_variables_; }

private:
    struct Part {
        bool is_variable = false;
        std::string text;
    };
    std::vector<Part> parts_;
    bool has_variables_ = false;
};

}  // namespace compute::iam::local
