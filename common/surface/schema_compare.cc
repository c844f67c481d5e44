#include "surface/schema_compare.h"

#include <algorithm>
#include <array>

#include <nlohmann/json.hpp>

#include "core/json.h"
#include "surface/comparer.h"

namespace compute::surface {
namespace {

constexpr std::array kAnnotations{
    "title",
    "description",
    "default",
    "examples",
    "deprecated",
    "$comment",
    "readOnly",
    "writeOnly"};
constexpr std::array kKnown{
    "type",
    "enum",
    "const",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "pattern",
    "items",
    "minItems",
    "maxItems",
    "uniqueItems",
    "properties",
    "required",
    "additionalProperties",
    "propertyNames",
    "minProperties",
    "maxProperties",
    "anyOf",
    "oneOf",
    "allOf"};

template <std::size_t N>
bool is_one_of(const std::array<const char*, N>& words, const std::string& word) {
    return std::find(words.begin(), words.end(), word) != words.end();
}

Json without_annotations(const Json& schema) {
    Json out = schema;
    for (const char* annotation : kAnnotations) {
        out.erase(annotation);
    }
    return out;
}

// What satisfies both.
Json both(Json one, const Json& other) {
    if (!other.is_object() ||
        std::any_of(other.items().begin(), other.items().end(), [&](const auto& item) {
            return one.contains(item.key());
        })) {
        return Json{{"allOf", Json::array({std::move(one), other})}};
    }
    one.update(other);
    return one;
}

}  // namespace

std::string shown(const Json& value) {
    return value.is_null() ? "nothing" : dump_json(value);
}

std::set<std::string> type_names(const Json& schema) {
    const Json& type = member(schema, "type", kNone);
    if (type.is_string()) {
        return {type.get<std::string>()};
    }
    if (type.is_array()) {
        return type.get<std::set<std::string>>();
    }
    return {"array", "boolean", "null", "number", "object", "string"};
}

bool covers(const std::set<std::string>& types, const std::string& type) {
    return types.contains(type) || (type == "integer" && types.contains("number"));
}

void Comparer::unknown(const Json& before, const Json& after, const std::string& at) {
    std::set<std::string> keywords;
    for (const Json* schema : {&before, &after}) {
        for (const auto& [keyword, value] : schema->items()) {
            if (!is_one_of(kKnown, keyword) && !is_one_of(kAnnotations, keyword)) {
                keywords.insert(keyword);
            }
        }
    }
    for (const std::string& keyword : keywords) {
        const Json& was = member(before, keyword.c_str(), kNone);
        const Json& is = member(after, keyword.c_str(), kNone);
        if (was != is) {
            breaking(
                "unknown-keyword",
                at + "/" + keyword,
                "was " + shown(was) + ", is " + shown(is) + "; this tool cannot judge it"
            );
        }
    }
}

void Comparer::run(const Json& before_in, const Json& after_in, const std::string& at) {
    if (before_in == after_in || before_in == false) {
        if (before_in != after_in) {
            addition("schema-widened", at, "takes something now");
        }
        return;
    }
    if (after_in == false) {
        breaking("type-narrowed", at, "takes nothing any more");
        return;
    }
    const Json before = before_in.is_object() ? without_annotations(before_in) : kEmpty;
    const Json after = after_in.is_object() ? without_annotations(after_in) : kEmpty;
    if (before == after) {
        return;
    }
    unknown(before, after, at);
    if (before.contains("anyOf") && !after.contains("anyOf")) {
        // Each alternative, under what stands beside it, must still be taken.
        for (std::size_t i = 0; i < before.at("anyOf").size(); ++i) {
            Json alternative = before;
            alternative.erase("anyOf");
            run(both(std::move(alternative), before.at("anyOf")[i]),
                after,
                at + "/anyOf/" + std::to_string(i));
        }
        return;
    }
    if (after.contains("anyOf") && !before.contains("anyOf")) {
        Json rest = after;
        rest.erase("anyOf");
        if (is_covered(before, after.at("anyOf"))) {
            addition("alternative-added", at + "/anyOf", "is one of several alternatives now");
        } else {
            breaking(
                "alternative-lost",
                at + "/anyOf",
                "no alternative takes all of " + dump_json(before)
            );
        }
        run(before, rest, at);
        return;
    }
    if (!enums(before, after, at)) {
        return;
    }
    types(before, after, at);
    const auto relevant = type_names(before);
    if (covers(relevant, "integer")) {
        numbers(before, after, at);
    }
    if (relevant.contains("string")) {
        strings(before, after, at);
    }
    if (relevant.contains("array")) {
        arrays(before, after, at);
    }
    if (relevant.contains("object")) {
        objects(before, after, at);
    }
    any_of(before, after, at);
    one_of(before, after, at);
    all_of(before, after, at);
}

std::string pointer_token(std::string_view name) {
    std::string out;
    for (const char c : name) {
        if (c == '~') {
            out += "~0";
        } else if (c == '/') {
            out += "~1";
        } else {
            out += c;
        }
    }
    return out;
}

void compare_schemas(
    const Json& before,
    const Json& after,
    const std::string& method,
    const std::string& pointer,
    Comparison& out
) {
    Comparer(method, out).run(before, after, pointer);
}

bool is_widening(const Json& before, const Json& after) {
    Comparison comparison;
    const std::string nobody;
    Comparer(nobody, comparison).run(before, after, "");
    return comparison.is_ok();
}

}  // namespace compute::surface
