#include "surface/schema_accepts.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <string>

#include <nlohmann/json.hpp>
#include <re2/re2.h>

namespace compute::surface {
namespace {

bool is_whole(const Json& value) {
    return value.is_number_integer() ||
           (value.is_number_float() && value.get<double>() == std::trunc(value.get<double>()));
}

bool name_accepts(const std::string& name, const Json& value) {
    return (name == "null" && value.is_null()) || (name == "boolean" && value.is_boolean()) ||
           (name == "string" && value.is_string()) || (name == "array" && value.is_array()) ||
           (name == "object" && value.is_object()) || (name == "number" && value.is_number()) ||
           (name == "integer" && is_whole(value));
}

std::size_t code_points(const std::string& text) {
    return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
        return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
    }));
}

// `keyword` of `schema`, or null when it is not there.
const Json& member(const Json& schema, const char* keyword) {
    static const Json kAbsent;
    const auto found = schema.find(keyword);
    return found == schema.end() ? kAbsent : *found;
}

bool is_within(const Json& schema, const char* minimum, const char* maximum, double value) {
    const Json& low = member(schema, minimum);
    const Json& high = member(schema, maximum);
    return (!low.is_number() || value >= low.get<double>()) &&
           (!high.is_number() || value <= high.get<double>());
}

bool number_fits(const Json& schema, double value) {
    const Json& above = member(schema, "exclusiveMinimum");
    const Json& below = member(schema, "exclusiveMaximum");
    const Json& step = member(schema, "multipleOf");
    return is_within(schema, "minimum", "maximum", value) &&
           (!above.is_number() || value > above.get<double>()) &&
           (!below.is_number() || value < below.get<double>()) &&
           (!step.is_number() || std::remainder(value, step.get<double>()) == 0.0);
}

bool string_fits(const Json& schema, const std::string& value) {
    const Json& pattern = member(schema, "pattern");
    if (!is_within(schema, "minLength", "maxLength", static_cast<double>(code_points(value)))) {
        return false;
    }
    if (!pattern.is_string()) {
        return true;
    }
    const RE2 expression(pattern.get<std::string>(), RE2::Quiet);
    return expression.ok() && RE2::PartialMatch(value, expression);
}

bool array_fits(const Json& schema, const Json& value) {
    if (!is_within(schema, "minItems", "maxItems", static_cast<double>(value.size()))) {
        return false;
    }
    if (member(schema, "uniqueItems") == true &&
        std::set<Json>(value.begin(), value.end()).size() != value.size()) {
        return false;
    }
    const Json& items = member(schema, "items");
    return items.is_null() || std::all_of(value.begin(), value.end(), [&](const Json& item) {
               return schema_accepts(items, item);
           });
}

bool object_fits(const Json& schema, const Json& value) {
    if (!is_within(schema, "minProperties", "maxProperties", static_cast<double>(value.size()))) {
        return false;
    }
    for (const Json& name : member(schema, "required")) {
        if (!value.contains(name.get<std::string>())) {
            return false;
        }
    }
    const Json& properties = member(schema, "properties");
    const Json& others = member(schema, "additionalProperties");
    const Json& names = member(schema, "propertyNames");
    for (const auto& [name, item] : value.items()) {
        const bool is_named = properties.is_object() && properties.contains(name);
        const Json& judge = is_named ? properties.at(name) : others;
        if ((!judge.is_null() && !schema_accepts(judge, item)) ||
            (!names.is_null() && !schema_accepts(names, name))) {
            return false;
        }
    }
    return true;
}

bool combinations_fit(const Json& schema, const Json& value) {
    const auto accepts = [&](const Json& part) { return schema_accepts(part, value); };
    const Json& all = member(schema, "allOf");
    const Json& any = member(schema, "anyOf");
    const Json& one = member(schema, "oneOf");
    return (all.is_null() || std::all_of(all.begin(), all.end(), accepts)) &&
           (any.is_null() || std::any_of(any.begin(), any.end(), accepts)) &&
           (one.is_null() || std::count_if(one.begin(), one.end(), accepts) == 1);
}

}  // namespace

bool type_accepts(const Json& type, const Json& value) {
    if (type.is_array()) {
        return std::any_of(type.begin(), type.end(), [&](const Json& name) {
            return name_accepts(name.get<std::string>(), value);
        });
    }
    return !type.is_string() || name_accepts(type.get<std::string>(), value);
}

bool schema_accepts(const Json& schema, const Json& value) {
    if (!schema.is_object()) {
        return schema != false;
    }
    const Json& choices = member(schema, "enum");
    const auto constant = schema.find("const");
    if (!type_accepts(member(schema, "type"), value) ||
        (choices.is_array() && std::find(choices.begin(), choices.end(), value) == choices.end()) ||
        (constant != schema.end() && *constant != value)) {
        return false;
    }
    if (!combinations_fit(schema, value)) {
        return false;
    }
    if (value.is_number()) {
        return number_fits(schema, value.get<double>());
    }
    if (value.is_string()) {
        return string_fits(schema, value.get<std::string>());
    }
    if (value.is_array()) {
        return array_fits(schema, value);
    }
    return !value.is_object() || object_fits(schema, value);
}

}  // namespace compute::surface
