// Arrays, maps and objects.
#include <algorithm>
#include <cmath>
#include <unordered_set>
#include <utility>

#include "core/json.h"
#include "schema/node.h"

namespace compute::schema {
namespace {

class ArrayNode final : public Shape::Node {
public:
    ArrayNode(Shape item, ArrayRules rules) : item_(std::move(item)), rules_(rules) {}

    Json check(const Json& value, const Path& path) const override {
        if (!value.is_array()) {
            refuse(path, "must be an array");
        }
        if (value.size() < rules_.min_items) {
            refuse(path, "must have at least " + std::to_string(rules_.min_items) + " items");
        }
        if (value.size() > rules_.max_items) {
            refuse(path, "must have at most " + std::to_string(rules_.max_items) + " items");
        }
        Json out = Json::array();
        std::unordered_set<std::string> seen;
        for (std::size_t i = 0; i < value.size(); ++i) {
            const Path here(path, i);
            Json item = item_.node().check(value[i], here);
            if (rules_.unique && !seen.insert(canonical_json(item)).second) {
                refuse(here, "is there twice");
            }
            out.push_back(std::move(item));
        }
        return out;
    }
    Json json_schema() const override {
        Json out{{"type", "array"}, {"items", item_.json_schema()}, {"maxItems", rules_.max_items}};
        if (rules_.min_items > 0) {
            out["minItems"] = rules_.min_items;
        }
        if (rules_.unique) {
            out["uniqueItems"] = true;
        }
        return out;
    }
    bool takes_type(const Json& value) const override { return value.is_array(); }
    std::string noun() const override { return "an array"; }

private:
    Shape item_;
    ArrayRules rules_;
};

class MapNode final : public Shape::Node {
public:
    MapNode(Shape value, MapRules rules)
        : key_(string(rules.key)), value_(std::move(value)), max_entries_(rules.max_entries) {}

    Json check(const Json& value, const Path& path) const override {
        if (!value.is_object()) {
            refuse(path, "must be an object");
        }
        if (value.size() > max_entries_) {
            refuse(path, "must have at most " + std::to_string(max_entries_) + " entries");
        }
        Json out = Json::object();
        for (const auto& [key, entry] : value.items()) {
            const Path here(path, key);
            try {
                (void)key_.node().check(key, here);
            } catch (const ComputeError& error) {
                throw invalid_input(error.message() + " (the key)");
            }
            out[key] = value_.node().check(entry, here);
        }
        return out;
    }
    Json json_schema() const override {
        return Json{
            {"type", "object"},
            {"propertyNames", key_.json_schema()},
            {"additionalProperties", value_.json_schema()},
            {"maxProperties", max_entries_}};
    }
    bool takes_type(const Json& value) const override { return value.is_object(); }
    std::string noun() const override { return "an object"; }

private:
    Shape key_;
    Shape value_;
    std::size_t max_entries_;
};

// 1.0 becomes 1 at any depth, so that equal documents stay equal.
Json normalized(const Json& value) {
    if (value.is_number_float()) {
        const double number = value.get<double>();
        if (number == std::trunc(number) && std::abs(number) <= 9007199254740992.0) {
            return static_cast<std::int64_t>(number);
        }
        return value;
    }
    if (!value.is_structured()) {
        return value;
    }
    Json out = value;
    for (Json& member : out) {
        member = normalized(member);
    }
    return out;
}

class AnyObjectNode final : public Shape::Node {
public:
    Json check(const Json& value, const Path& path) const override {
        if (!value.is_object()) {
            refuse(path, "must be an object");
        }
        return normalized(value);
    }
    Json json_schema() const override { return Json{{"type", "object"}}; }
    bool takes_type(const Json& value) const override { return value.is_object(); }
    std::string noun() const override { return "an object"; }
};

std::string joined(const std::vector<std::string>& names) {
    std::string out;
    for (const std::string& name : names) {
        out += (out.empty() ? "" : ", ") + name;
    }
    return out;
}

class ObjectNode final : public Shape::Node {
public:
    ObjectNode(std::vector<Field> fields, ObjectRules rules)
        : fields_(std::move(fields)), rules_(std::move(rules)) {
        for (std::size_t i = 0; i < fields_.size(); ++i) {
            for (std::size_t j = 0; j < i; ++j) {
                if (fields_[i].name == fields_[j].name) {
                    throw invalid_config(
                        "schema: the field " + fields_[i].name + " is described twice"
                    );
                }
            }
        }
        for (const auto& group : rules_.exactly_one_of) {
            for (const std::string& name : group) {
                if (!has_field(name)) {
                    throw invalid_config(
                        "schema: exactly_one_of names " + name + ", which is no field"
                    );
                }
            }
        }
    }

    // One problem is named: the first in the order of the fields, then what is unknown, then what
    // concerns several fields.
    Json check(const Json& value, const Path& path) const override {
        if (!value.is_object()) {
            refuse(path, "must be an object");
        }
        Json out = Json::object();
        for (const Field& field : fields_) {
            const Path here(path, field.name);
            const auto found = value.find(field.name);
            if (found != value.end()) {
                out[field.name] = field.shape.node().check(*found, here);
            } else if (field.is_required) {
                refuse(here, "Required");
            }
        }
        if (out.size() != value.size()) {
            refuse_unknown(value, path);
        }
        check_rules(out, path);
        return out;
    }

    Json json_schema() const override {
        Json properties = Json::object();
        std::vector<std::string> required;
        for (const Field& field : fields_) {
            Json property = field.shape.json_schema();
            if (!field.description.empty()) {
                property["description"] = field.description;
            }
            properties[field.name] = std::move(property);
            if (field.is_required) {
                required.push_back(field.name);
            }
        }
        std::sort(required.begin(), required.end());
        Json out{
            {"type", "object"},
            {"properties", std::move(properties)},
            {"additionalProperties", false}};
        if (!required.empty()) {
            out["required"] = required;
        }
        if (rules_.min_fields > 0) {
            out["minProperties"] = rules_.min_fields;
        }
        for (const auto& group : rules_.exactly_one_of) {
            Json one = Json::array();
            for (const std::string& name : group) {
                one.push_back(Json{{"required", Json::array({name})}});
            }
            out["allOf"].push_back(Json{{"oneOf", std::move(one)}});
        }
        return out;
    }
    bool takes_type(const Json& value) const override { return value.is_object(); }
    std::string noun() const override { return "an object"; }

private:
    [[nodiscard]] bool has_field(std::string_view name) const {
        return std::any_of(fields_.begin(), fields_.end(), [&](const Field& field) {
            return field.name == name;
        });
    }

    void refuse_unknown(const Json& value, const Path& path) const {
        for (const auto& [key, member] : value.items()) {
            if (!has_field(key)) {
                throw invalid_input("Unknown field " + Path(path, key).str());
            }
        }
    }

    void check_rules(const Json& out, const Path& path) const {
        for (const auto& group : rules_.exactly_one_of) {
            const auto present =
                std::count_if(group.begin(), group.end(), [&](const std::string& name) {
                    return out.contains(name);
                });
            if (present != 1) {
                const std::string where = path.str();
                throw invalid_input(
                    (where.empty() ? "" : where + ": ") + "exactly one of " + joined(group) +
                    " must be given"
                );
            }
        }
        if (out.size() < rules_.min_fields) {
            refuse(path, "must have at least " + std::to_string(rules_.min_fields) + " fields");
        }
    }

    std::vector<Field> fields_;
    ObjectRules rules_;
};

}  // namespace

Shape array(Shape item, ArrayRules rules) {
    return Shape(std::make_shared<ArrayNode>(std::move(item), rules));
}
Shape map_of(Shape value, MapRules rules) {
    return Shape(std::make_shared<MapNode>(std::move(value), std::move(rules)));
}
Shape any_object() {
    return Shape(std::make_shared<AnyObjectNode>());
}
Shape object(std::vector<Field> fields, ObjectRules rules) {
    return Shape(std::make_shared<ObjectNode>(std::move(fields), std::move(rules)));
}

}  // namespace compute::schema
