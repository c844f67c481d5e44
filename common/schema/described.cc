#include "schema/described.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "schema/node.h"

namespace compute::schema {
namespace {

bool is_integer(const Json& value) {
    return value.is_number_integer() ||
           (value.is_number_float() && value.get<double>() == std::trunc(value.get<double>()));
}

bool has_type(const Json& value, std::string_view type) {
    if (type == "integer") {
        return is_integer(value);
    }
    return (type == "string" && value.is_string()) || (type == "number" && value.is_number()) ||
           (type == "boolean" && value.is_boolean()) || (type == "object" && value.is_object()) ||
           (type == "array" && value.is_array()) || (type == "null" && value.is_null());
}

std::string listed(const Json& values) {
    std::string out;
    for (const Json& value : values) {
        out += (out.empty() ? "" : ", ") +
               (value.is_string() ? value.get<std::string>() : value.dump());
    }
    return out;
}

class Checker {
public:
    std::vector<Issue> issues;

    void check(const Json& schema, const Json& value, const Path& path) {
        if (!schema.is_object()) {
            return;
        }
        // A value of the wrong type is named once; what its members would have to be says nothing
        // then.
        if (!check_type(schema, value, path) || !check_choice(schema, value, path)) {
            return;
        }
        check_combined(schema, value, path);
        if (value.is_object()) {
            check_members(schema, value, path);
        }
        if (const auto items = schema.find("items"); value.is_array() && items != schema.end()) {
            for (std::size_t i = 0; i < value.size(); ++i) {
                check(*items, value[i], Path(path, i));
            }
        }
    }

private:
    void add(const Path& path, std::string message) {
        issues.push_back({std::move(message), path.str()});
    }

    bool check_type(const Json& schema, const Json& value, const Path& path) {
        const auto type = schema.find("type");
        if (type == schema.end()) {
            return true;
        }
        const Json types = type->is_array() ? *type : Json::array({*type});
        const bool is_right = std::any_of(types.begin(), types.end(), [&](const Json& one) {
            return has_type(value, one.get<std::string>());
        });
        if (!is_right) {
            add(path, "must be of type " + listed(types));
        }
        return is_right;
    }

    bool check_choice(const Json& schema, const Json& value, const Path& path) {
        if (const auto choices = schema.find("enum"); choices != schema.end()) {
            if (std::find(choices->begin(), choices->end(), value) == choices->end()) {
                add(path, "must be one of " + listed(*choices));
                return false;
            }
        }
        if (const auto only = schema.find("const"); only != schema.end() && *only != value) {
            add(path, "must be " + listed(Json::array({*only})));
            return false;
        }
        return true;
    }

    static std::size_t matching(const Json& alternatives, const Json& value) {
        return static_cast<std::size_t>(std::count_if(
            alternatives.begin(),
            alternatives.end(),
            [&](const Json& one) { return structural_issues(one, value).empty(); }
        ));
    }

    void check_combined(const Json& schema, const Json& value, const Path& path) {
        if (const auto all = schema.find("allOf"); all != schema.end()) {
            for (const Json& one : *all) {
                check(one, value, path);
            }
        }
        if (const auto any = schema.find("anyOf");
            any != schema.end() && matching(*any, value) == 0) {
            add(path, "matches none of the alternatives");
        }
        if (const auto one = schema.find("oneOf");
            one != schema.end() && matching(*one, value) != 1) {
            add(path, "must match exactly one of the alternatives");
        }
    }

    void check_members(const Json& schema, const Json& value, const Path& path) {
        if (const auto required = schema.find("required"); required != schema.end()) {
            for (const Json& name : *required) {
                if (!value.contains(name.get<std::string>())) {
                    const auto text = name.get<std::string>();
                    add(Path(path, text), "Required");
                }
            }
        }
        const Json properties = schema.value("properties", Json::object());
        const auto additional = schema.find("additionalProperties");
        for (const auto& [key, member] : value.items()) {
            const Path here(path, key);
            if (const auto known = properties.find(key); known != properties.end()) {
                check(*known, member, here);
            } else if (additional != schema.end() && additional->is_boolean() && !additional->get<bool>()) {
                add(here, "Unknown field " + here.str());
            } else if (additional != schema.end()) {
                check(*additional, member, here);
            }
        }
    }
};

}  // namespace

std::vector<Issue> structural_issues(const Json& schema, const Json& value) {
    Checker checker;
    checker.check(schema, value, Path(""));
    return std::move(checker.issues);
}

void check_structure(const Json& schema, const Json& value) {
    const auto issues = structural_issues(schema, value);
    if (issues.empty()) {
        return;
    }
    Json listed_issues = Json::array();
    for (const Issue& issue : issues) {
        listed_issues.push_back(Json{{"message", issue.message}, {"path", issue.path}});
    }
    const Issue& first = issues.front();
    const bool says_where = first.path.empty() || first.message.starts_with("Unknown field ");
    std::string message = says_where ? first.message : first.path + ": " + first.message;
    throw ComputeError(
        ErrorCode::InvalidInput, std::move(message), Json{{"issues", std::move(listed_issues)}}
    );
}

Json strict_object(Json properties, std::vector<std::string> required) {
    for (const std::string& name : required) {
        if (!properties.contains(name)) {
            throw invalid_config("schema: " + name + " is required but is no property");
        }
    }
    std::sort(required.begin(), required.end());
    Json out{
        {"type", "object"}, {"properties", std::move(properties)}, {"additionalProperties", false}};
    if (!required.empty()) {
        out["required"] = required;
    }
    return out;
}

}  // namespace compute::schema
