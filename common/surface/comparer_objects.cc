// Objects: fields, which are required, and what may stand beside them.
#include "surface/comparer.h"
#include "surface/schema_compare.h"

namespace compute::surface {
namespace {

// Names are strings whether or not the schema says so.
Json names_schema(const Json& schema) {
    Json names = member(schema, "propertyNames", kEmpty);
    if (names.is_object() && !names.contains("type")) {
        names["type"] = "string";
    }
    return names;
}

}  // namespace

void Comparer::properties(const Json& before, const Json& after, const std::string& at) {
    const Json& was = member(before, "properties", kEmpty);
    const Json& is = member(after, "properties", kEmpty);
    const Json& was_other = member(before, "additionalProperties", kTrue);
    const Json& is_other = member(after, "additionalProperties", kTrue);
    for (const auto& [name, schema] : was.items()) {
        const std::string pointer = at + "/properties/" + pointer_token(name);
        if (const auto now = is.find(name); now != is.end()) {
            run(schema, *now, pointer);
        } else if (is_other == false) {
            breaking("field-removed", pointer, "the field " + name + " is no longer taken");
        } else {
            run(schema, is_other, pointer);
        }
    }
    for (const auto& [name, schema] : is.items()) {
        if (was.contains(name)) {
            continue;
        }
        const std::string pointer = at + "/properties/" + pointer_token(name);
        if (was_other == false) {
            addition("field-added", pointer, "the field " + name + " is new");
        } else {
            run(was_other, schema, pointer);
        }
    }
}

void Comparer::additional(const Json& before, const Json& after, const std::string& at) {
    const Json& was = member(before, "additionalProperties", kTrue);
    const Json& is = member(after, "additionalProperties", kTrue);
    if (is == false && was != false) {
        breaking(
            "additional-properties-closed",
            at + "/additionalProperties",
            "unknown fields are now refused"
        );
    } else if (was == false && is != false) {
        addition("schema-widened", at + "/additionalProperties", "other fields are now taken");
    } else {
        run(was, is, at + "/additionalProperties");
    }
}

void Comparer::objects(const Json& before, const Json& after, const std::string& at) {
    bound(before, after, "minProperties", at);
    bound(before, after, "maxProperties", at);
    const auto was = member(before, "required", Json::array()).get<std::set<std::string>>();
    const auto is = member(after, "required", Json::array()).get<std::set<std::string>>();
    for (const std::string& name : is) {
        if (!was.contains(name)) {
            breaking("field-required", at + "/required", "the field " + name + " is now required");
        }
    }
    for (const std::string& name : was) {
        if (!is.contains(name)) {
            addition(
                "field-optional", at + "/required", "the field " + name + " is no longer required"
            );
        }
    }
    properties(before, after, at);
    additional(before, after, at);
    if (before.contains("propertyNames") || after.contains("propertyNames")) {
        run(names_schema(before), names_schema(after), at + "/propertyNames");
    }
}

}  // namespace compute::surface
