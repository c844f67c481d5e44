#include "modules/events/patterns.h"

#include <algorithm>

#include "config/suggest.h"

namespace compute::events {
namespace {

// Whether `name` is `ancestor` or lies below it at a dot.
bool is_at_or_below(std::string_view name, std::string_view ancestor) {
    return name.starts_with(ancestor) &&
           (name.size() == ancestor.size() || name[ancestor.size()] == '.');
}

bool is_known_family(std::string_view name, const outbox::EventCatalog& catalog) {
    return std::any_of(
        catalog.families().begin(),
        catalog.families().end(),
        [&](const outbox::EventFamily& family) {
            if (is_at_or_below(family.name, name)) {
                return true;
            }
            // Below a family: `node.gpu.*` when a listed type lies there, any name when the family
            // lists none.
            if (!is_at_or_below(name, family.name)) {
                return false;
            }
            return family.types.empty() ||
                   std::any_of(
                       family.types.begin(),
                       family.types.end(),
                       [&](const std::string& type) {
                           return type.size() > name.size() && is_at_or_below(type, name);
                       }
                   );
        }
    );
}

}  // namespace

bool pattern_matches(std::string_view pattern, std::string_view type) {
    if (pattern == "*") {
        return true;
    }
    if (pattern.ends_with(".*")) {
        pattern.remove_suffix(1);  // keeps the dot
        return type.size() > pattern.size() && type.starts_with(pattern);
    }
    return pattern == type;
}

std::vector<std::string> unknown_patterns(
    const std::vector<std::string>& patterns, const outbox::EventCatalog& catalog
) {
    std::vector<std::string> unknown;
    for (const std::string& pattern : patterns) {
        bool is_known = pattern == "*";
        if (!is_known && pattern.ends_with(".*")) {
            is_known =
                is_known_family(std::string_view(pattern).substr(0, pattern.size() - 2), catalog);
        } else if (!is_known) {
            is_known = pattern != kPingType && catalog.find_family(pattern) != nullptr;
        }
        if (!is_known) {
            unknown.push_back(pattern);
        }
    }
    return unknown;
}

std::optional<std::string> nearest_pattern(
    const std::string& pattern, const outbox::EventCatalog& catalog
) {
    std::vector<std::string> known;
    for (const outbox::EventFamily& family : catalog.families()) {
        known.push_back(family.name + ".*");
        known.insert(known.end(), family.types.begin(), family.types.end());
    }
    return config::find_nearest(pattern, known);
}

}  // namespace compute::events
