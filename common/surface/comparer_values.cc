// Types, finite values, bounds, strings and arrays.
#include <algorithm>

#include "core/json.h"
#include "surface/comparer.h"
#include "surface/schema_accepts.h"

namespace compute::surface {

bool Comparer::enums(const Json& before, const Json& after, const std::string& at) {
    const Json& one = member(before, "const", kNone);
    const Json& many = member(before, "enum", kNone);
    if (many.is_array() || before.contains("const")) {
        bool lost = false;
        for (const Json& value : many.is_array() ? many : Json::array({one})) {
            if (schema_accepts(before, value) && !schema_accepts(after, value)) {
                breaking("enum-value-lost", at + "/enum", "no longer takes " + dump_json(value));
                lost = true;
            }
        }
        const Json& now = member(after, "enum", kNone);
        for (const Json& value : now.is_array() ? now : Json::array()) {
            if (!schema_accepts(before, value)) {
                addition("enum-value-added", at + "/enum", "now takes " + dump_json(value));
            }
        }
        if (!lost && !now.is_array() && !after.contains("const")) {
            addition("schema-widened", at, "takes more than a list of values");
        }
        return false;
    }
    for (const char* keyword : {"enum", "const"}) {
        if (after.contains(keyword)) {
            breaking(
                "enum-added", at + "/" + keyword, "now takes only " + shown(after.at(keyword))
            );
        }
    }
    return true;
}

void Comparer::types(const Json& before, const Json& after, const std::string& at) {
    const auto was = type_names(before);
    const auto is = type_names(after);
    for (const std::string& type : was) {
        if (!covers(is, type)) {
            breaking(
                type == "null" ? "nullable-lost" : "type-narrowed",
                at + "/type",
                "no longer takes " + type
            );
        }
    }
    for (const std::string& type : is) {
        if (!covers(was, type)) {
            addition("type-widened", at + "/type", "now takes " + type);
        }
    }
}

void Comparer::bound(
    const Json& before, const Json& after, const char* keyword, const std::string& at
) {
    const Json& was = member(before, keyword, kNone);
    const Json& is = member(after, keyword, kNone);
    if (was == is) {
        return;
    }
    const std::string_view word = keyword;
    const bool is_upper = word.substr(0, 3) == "max" || word == "exclusiveMaximum";
    // Lengths and counts are never negative, so a lower bound of 0 is none.
    const bool is_moot = !is_upper && word.size() > 7 && word.substr(0, 3) == "min" &&
                         word != "minimum" && is == 0 && was.is_null();
    if (is_moot) {
        return;
    }
    const std::string message = "was " + shown(was) + ", is " + shown(is);
    const bool is_wider = is.is_null() || (was.is_number() && (is_upper ? is > was : is < was));
    if (is_wider) {
        addition("bound-widened", at + "/" + keyword, message);
    } else {
        breaking("bound-tightened", at + "/" + keyword, message);
    }
}

void Comparer::numbers(const Json& before, const Json& after, const std::string& at) {
    for (const char* keyword : {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"}) {
        bound(before, after, keyword, at);
    }
    const Json& was = member(before, "multipleOf", kNone);
    const Json& is = member(after, "multipleOf", kNone);
    if (was == is) {
        return;
    }
    const bool is_divisor = was.is_number_integer() && is.is_number_integer() && is != 0 &&
                            was.get<std::int64_t>() % is.get<std::int64_t>() == 0;
    const std::string message = "was " + shown(was) + ", is " + shown(is);
    if (is.is_null() || is_divisor) {
        addition("bound-widened", at + "/multipleOf", message);
    } else {
        breaking("bound-tightened", at + "/multipleOf", message);
    }
}

void Comparer::strings(const Json& before, const Json& after, const std::string& at) {
    bound(before, after, "minLength", at);
    bound(before, after, "maxLength", at);
    const Json& was = member(before, "pattern", kNone);
    const Json& is = member(after, "pattern", kNone);
    if (was == is) {
        return;
    }
    if (is.is_null()) {
        addition("pattern-removed", at + "/pattern", "was " + shown(was));
    } else {
        // Whether one expression covers another is not decided here.
        breaking(
            was.is_null() ? "pattern-added" : "pattern-changed",
            at + "/pattern",
            "was " + shown(was) + ", is " + shown(is)
        );
    }
}

void Comparer::arrays(const Json& before, const Json& after, const std::string& at) {
    bound(before, after, "minItems", at);
    bound(before, after, "maxItems", at);
    const bool was_unique = member(before, "uniqueItems", kNone) == true;
    const bool is_unique = member(after, "uniqueItems", kNone) == true;
    if (was_unique && !is_unique) {
        addition("bound-widened", at + "/uniqueItems", "items may repeat now");
    } else if (!was_unique && is_unique) {
        breaking("bound-tightened", at + "/uniqueItems", "items may no longer repeat");
    }
    run(member(before, "items", kTrue), member(after, "items", kTrue), at + "/items");
}

}  // namespace compute::surface
