// What differs, field by field, for people to read: [{field, before, after}]. Labels and limits are
// compared key by key (`labels.tier`); null stands for absent.
#pragma once

#include <string>

#include "modules/fleet/document.h"

namespace compute::fleet {

[[nodiscard]] inline const Json& member_or(
    const Json& object, const std::string& name, const Json& fallback
) {
    const auto found = object.find(name);
    return found == object.end() ? fallback : *found;
}

// Of fields without defaults.
[[nodiscard]] Json changes_between(const Json& before, const Json& after, const Json& defaults);
[[nodiscard]] Json changes_of_create(const Item& item, const Json& defaults);
[[nodiscard]] Json changes_of_delete(const Item& item, const Json& defaults);
[[nodiscard]] Json changes_of_limits(const Json& before, const Json& after);

}  // namespace compute::fleet
