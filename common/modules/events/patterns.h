// Event patterns: `*`, a family `a.b.*`, or one exact type.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "outbox/catalog.h"

namespace compute::events {

inline constexpr std::size_t kMaxPatternCharacters = 128;
inline constexpr std::size_t kMaxPatterns = 50;
inline constexpr std::string_view kPingType = "webhook.ping";
// For the manifest. Lower-case letters, digits and hyphens between dots.
inline constexpr const char* kPatternRegex = R"(^(\*|[a-z0-9-]+(\.[a-z0-9-]+)*(\.\*)?)$)";

// `a.*` covers everything below `a.`, at any depth, and not `a` itself. `pattern` is well formed.
[[nodiscard]] bool pattern_matches(std::string_view pattern, std::string_view type);

// The patterns that nothing can match: a family is known when the catalog has it, something below
// it or something above it; an exact type when a family covers it. `webhook.ping` reaches its
// webhook whatever the patterns, so it is none.
[[nodiscard]] std::vector<std::string> unknown_patterns(
    const std::vector<std::string>& patterns, const outbox::EventCatalog& catalog
);

// What was probably meant by a pattern that nothing matches: a family or a type of the catalog.
[[nodiscard]] std::optional<std::string> nearest_pattern(
    const std::string& pattern, const outbox::EventCatalog& catalog
);

}  // namespace compute::events
