// A validator written by hand, with the JSON Schema of its input beside it. The schema's structure
// is checked first and every fault of it is reported at once; the validator then sees only input of
// the right types and says the rest (ranges, patterns).
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/error.h"

namespace compute::schema {

struct Issue {
    std::string message;
    std::string path;  // `items[2].name`; empty for the whole input
};

// What is wrong with the structure of `value`: types, required and unknown fields, enums; at any
// depth, in the order of the schema. Of JSON Schema it reads type, properties, required,
// additionalProperties, items, enum, const, anyOf, oneOf and allOf.
[[nodiscard]] std::vector<Issue> structural_issues(const Json& schema, const Json& value);

// Throws INVALID_INPUT with details.issues, a list of {message, path}, when there are any.
void check_structure(const Json& schema, const Json& value);

// The schema of an object that refuses unknown fields. INVALID_CONFIG when `required` names no
// property.
[[nodiscard]] Json strict_object(Json properties, std::vector<std::string> required);

template <class I>
struct Described {
    Json json_schema;
    std::function<I(const Json&)> validate;
};

// `validate` is run on what has the right structure; it throws INVALID_INPUT itself.
template <class Validate>
[[nodiscard]] auto described_by(Json json_schema, Validate validate) {
    using I = decltype(validate(std::declval<const Json&>()));
    Described<I> out;
    out.validate = [json_schema, validate = std::move(validate)](const Json& raw) {
        check_structure(json_schema, raw);
        return validate(raw);
    };
    out.json_schema = std::move(json_schema);
    return out;
}

}  // namespace compute::schema
