// The API surface: what callers rely on, as one document. It is recorded in
// generated/api-surface.json; a change that could break a caller (a method gone, a field required
// that was not, a bound tightened) is told apart from one that cannot (a new method, a new optional
// field, a wider bound), and the second kind is frozen too once it is recorded.
//
// Everything here is a pure function of the registry: no clock, no files. Output is sorted and
// byte-stable.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "core/error.h"
#include "method/registry.h"
#include "outbox/event.h"

namespace compute::surface {

inline constexpr int kSurfaceVersion = 1;
inline constexpr const char* kSurfaceFile = "generated/api-surface.json";

// `{version, methods: {path: {kind, action, resource, alternatives, list, status, phase, input}},
// errors: {CODE: status}}`. Planned methods are in it without `input`. Plugin methods (no table
// row) carry a null resource.
[[nodiscard]] Json dump_surface(const method::Registry& registry);

// A document as it is written to a file or printed: keys sorted, two spaces, a line feed at the
// end.
[[nodiscard]] std::string surface_text(const Json& document);

// One difference. `rule` is one of all_rules(); `method` is a path, empty for error codes;
// `pointer` is a JSON pointer into the document; `message` says what was and what is.
struct Change {
    std::string rule;
    std::string method;
    std::string pointer;
    std::string message;
    friend auto operator<=>(const Change&, const Change&) = default;
};

struct Comparison {
    std::vector<Change> breaking;   // sorted by pointer, then rule
    std::vector<Change> additions;  // likewise
    [[nodiscard]] bool is_ok() const noexcept { return breaking.empty(); }
};

// What changed from `recorded` to `current`. Methods planned in `recorded` may change freely.
// Throws INVALID_INPUT when `recorded` is no surface document of a version this binary knows.
[[nodiscard]] Comparison compare(const Json& recorded, const Json& current);

// `{ok, breaking: [{rule, method, pointer, message}], additions: [...]}`.
[[nodiscard]] Json comparison_json(const Comparison& comparison);
// The same for people; empty when nothing changed.
[[nodiscard]] std::string comparison_text(const Comparison& comparison);

enum class BreakingChanges { Refuse, Allow };
// The text to write into the recorded file. Refuses a breaking change with INVALID_STATE (details:
// comparison_json) unless allowed.
[[nodiscard]] std::string record_surface(
    const std::optional<Json>& recorded,
    const Json& current,
    BreakingChanges breaking = BreakingChanges::Refuse
);

struct Rule {
    std::string_view id;
    std::string_view meaning;
};
// Every rule `compare` can report as breaking, for the reference.
[[nodiscard]] const std::vector<Rule>& all_rules();

struct Product {
    std::string version;  // "0.1.0"
    std::string base_path = "/api/compute";
};
// OpenAPI 3.1, served methods only.
[[nodiscard]] Json openapi_document(const method::Registry& registry, const Product& product);

// Tool descriptions for language models: `[{name, description, inputSchema}]`, one per served
// method, name `pools_create`.
[[nodiscard]] Json tool_schemas(const method::Registry& registry);

// Everything under generated/ but the recorded surface, by file name: openapi.json, tools.json,
// errors.md, methods.md and a page per group (methods-pools.md), events.md. The command line's
// `generate reference DIR` writes it and the freshness test reads it.
[[nodiscard]] std::map<std::string, std::string> reference_files(
    const method::Registry& registry,
    const std::vector<outbox::EventFamily>& families,
    const Product& product
);

}  // namespace compute::surface
