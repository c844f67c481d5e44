#include "schema/sample.h"

#include <nlohmann/json.hpp>
#include <re2/re2.h>

namespace compute::schema {
namespace {

Json sample_value(const Json& schema);

std::string sample_text(const Json& schema) {
    const auto min_length = schema.value("minLength", std::size_t{0});
    if (const auto pattern = schema.find("pattern"); pattern != schema.end()) {
        return find_matching_text(pattern->get<std::string>(), min_length).value_or("");
    }
    return std::string(std::max<std::size_t>(min_length, 1), 'x');
}

Json sample_object(const Json& schema) {
    Json out = Json::object();
    const Json properties = schema.value("properties", Json::object());
    for (const Json& name : schema.value("required", Json::array())) {
        const auto& key = *name.get_ptr<const std::string*>();
        out[key] = properties.contains(key) ? sample_value(properties[key]) : Json("x");
    }
    // Of each group of which exactly one is wanted, the first.
    for (const Json& all : schema.value("allOf", Json::array())) {
        if (const auto one = all.find("oneOf"); one != all.end()) {
            for (const Json& name : one->at(0).value("required", Json::array())) {
                const auto& key = *name.get_ptr<const std::string*>();
                out[key] = sample_value(properties.value(key, Json::object()));
            }
        }
    }
    return out;
}

Json sample_value(const Json& schema) {
    if (const auto choices = schema.find("enum"); choices != schema.end()) {
        return choices->at(0);
    }
    if (const auto only = schema.find("const"); only != schema.end()) {
        return *only;
    }
    if (const auto any = schema.find("anyOf"); any != schema.end()) {
        return sample_value(any->at(0));
    }
    const Json type = schema.value("type", Json("string"));
    const std::string name =
        type.is_array() ? type.at(0).get<std::string>() : type.get<std::string>();
    if (name == "string") {
        return sample_text(schema);
    }
    if (name == "integer" || name == "number") {
        return schema.value("minimum", std::int64_t{0});
    }
    if (name == "boolean") {
        return false;
    }
    if (name == "array") {
        Json out = Json::array();
        for (std::size_t i = 0; i < schema.value("minItems", std::size_t{0}); ++i) {
            out.push_back(sample_value(schema.value("items", Json::object())));
        }
        return out;
    }
    return name == "object" ? sample_object(schema) : Json(nullptr);
}

}  // namespace

std::vector<Json> sample_inputs(const Json& schema) {
    const Json least = sample_object(schema);
    std::vector<Json> out{least};
    Json all = least;
    const Json properties = schema.value("properties", Json::object());
    for (const auto& [name, property] : properties.items()) {
        if (least.contains(name)) {
            continue;
        }
        Json with = least;
        with[name] = sample_value(property);
        all[name] = with[name];
        out.push_back(std::move(with));
    }
    if (out.size() > 2) {
        out.push_back(std::move(all));
    }
    return out;
}

std::optional<std::string> find_matching_text(const std::string& pattern, std::size_t min_length) {
    constexpr int kLongest = 512;
    const RE2 expression(pattern);
    if (!expression.ok()) {
        return std::nullopt;
    }
    // RE2 gives the smallest text an anchored expression can match, as far as it is bounded; it is
    // checked, not trusted.
    std::string least;
    std::string greatest;
    if (expression.PossibleMatchRange(&least, &greatest, kLongest) &&
        RE2::PartialMatch(least, expression) && least.size() >= min_length) {
        return least;
    }
    for (const char filler : {'x', '0', 'a', 'A', '1'}) {
        const std::string text =
            least +
            std::string(std::max<std::size_t>(min_length, least.size() + 1) - least.size(), filler);
        if (RE2::PartialMatch(text, expression)) {
            return text;
        }
        if (const std::string plain(std::max<std::size_t>(min_length, 1), filler);
            RE2::PartialMatch(plain, expression)) {
            return plain;
        }
    }
    return std::nullopt;
}

}  // namespace compute::schema
