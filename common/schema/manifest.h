// The manifest builder: one description of an input gives the validator, the typed struct and the JSON Schema, so the three cannot
// disagree. Unknown fields are refused, never dropped.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/error.h"

namespace compute::schema {

struct StringRules {
    std::string pattern;  // RE2, anchored by the caller with ^ and $; empty: none
    std::size_t min_length = 0;      // in code points
    std::size_t max_length = 65536;  // in code points; checked before the pattern
    bool operator==(const StringRules&) const = default;
};
struct IntRules {
    std::int64_t min = 0;
    std::int64_t max = 9007199254740992;  // 2^53
};
struct NumberRules {
    double min = 0;
    double max = 1e15;
};
struct ArrayRules {
    std::size_t min_items = 0;
    std::size_t max_items = 1000;
    bool unique = false;
};
struct MapRules {
    std::size_t max_entries = 32;
    StringRules key;
};

struct Field;

// The description of one value. A cheap immutable handle; thread-safe.
class Shape {
public:
    // Checks `value` and returns it normalized. Throws INVALID_INPUT naming the first problem as `path: reason`
    // (`nodeGroups[2].gpuCount: must be at least 0`); at the top level `path` is empty.
    [[nodiscard]] Json check(const Json& value, const std::string& path) const;
    [[nodiscard]] Json json_schema() const;
    // The same shape that also takes null.
    [[nodiscard]] Shape nullable() const;

    class Node;
    explicit Shape(std::shared_ptr<const Node> node) : node_(std::move(node)) {}
    [[nodiscard]] const Node& node() const { return *node_; }

private:
    std::shared_ptr<const Node> node_;
};

[[nodiscard]] Shape string(StringRules rules = {});
[[nodiscard]] Shape integer(IntRules rules = {});
[[nodiscard]] Shape number(NumberRules rules = {});  // whole or with a fraction
[[nodiscard]] Shape boolean();
[[nodiscard]] Shape one_of(std::vector<std::string> values);
[[nodiscard]] Shape array(Shape item, ArrayRules rules = {});
[[nodiscard]] Shape map_of(Shape value, MapRules rules = {});
[[nodiscard]] Shape any_object();  // an object whose members are checked elsewhere (fleet documents)
[[nodiscard]] Shape either(std::vector<Shape> alternatives);  // the first that takes the value; JSON Schema anyOf

struct Field {
    std::string name;
    Shape shape;
    bool is_required = true;
    std::string description;
};
struct ObjectRules {
    std::vector<std::vector<std::string>> exactly_one_of;  // each group: exactly one of these fields is present
    std::size_t min_fields = 0;
};
[[nodiscard]] Shape object(std::vector<Field> fields, ObjectRules rules = {});

// Reads a checked JSON value into a C++ one: std::string, integers, bool, double, Json, StrongId, vectors, string maps, and
// every T with `static T decode(const Json&)`.
template <class T>
[[nodiscard]] T decode(const Json& value) {
    if constexpr (requires { T::decode(value); }) {
        return T::decode(value);
    } else if constexpr (requires(T t) { t.str(); } && !std::is_same_v<T, std::string>) {
        return T(value.get<std::string>());
    } else if constexpr (requires(T t) { t.push_back(typename T::value_type{}); } && !std::is_same_v<T, std::string> && !std::is_same_v<T, Json>) {
        T list;
        list.reserve(value.size());
        for (const Json& item : value) {
            list.push_back(decode<typename T::value_type>(item));
        }
        return list;
    } else {
        return value.get<T>();
    }
}

// Binds fields to the members of T.
//   const auto kManifest = Manifest<RotateInput>()
//       .required("tenantId", &RotateInput::tenant_id, tenant_id())
//       .optional("keepPreviousSeconds", &RotateInput::keep_previous_seconds, integer({.min = 0, .max = 86'400}));
//   RotateInput input = kManifest.parse(raw);
template <class T>
class Manifest {
public:
    template <class M>
    Manifest& required(std::string name, M T::*member, Shape shape, std::string description = {}) {
        return add({name, std::move(shape), true, std::move(description)}, [name, member](T& to, const Json& from) {
            to.*member = decode<M>(from.at(name));
        });
    }
    // Absent: the member stays nullopt.
    template <class M>
    Manifest& optional(std::string name, std::optional<M> T::*member, Shape shape, std::string description = {}) {
        return add({name, std::move(shape), false, std::move(description)}, [name, member](T& to, const Json& from) {
            if (const auto found = from.find(name); found != from.end()) {
                to.*member = decode<M>(*found);
            }
        });
    }
    // Absent: the member keeps the value that T gives it.
    template <class M>
    Manifest& defaulted(std::string name, M T::*member, Shape shape, std::string description = {}) {
        return add({name, std::move(shape), false, std::move(description)}, [name, member](T& to, const Json& from) {
            if (const auto found = from.find(name); found != from.end()) {
                to.*member = decode<M>(*found);
            }
        });
    }
    // For members that distinguish absent, null and a value.
    template <class M>
    Manifest& nullable(std::string name, std::optional<std::optional<M>> T::*member, Shape shape, std::string description = {}) {
        return add({name, shape.nullable(), false, std::move(description)}, [name, member](T& to, const Json& from) {
            if (const auto found = from.find(name); found != from.end()) {
                to.*member = found->is_null() ? std::optional<M>() : std::optional<M>(decode<M>(*found));
            }
        });
    }
    Manifest& exactly_one_of(std::vector<std::string> names) {
        rules_.exactly_one_of.push_back(std::move(names));
        return *this;
    }
    // At least `count` fields must be present.
    Manifest& min_fields(std::size_t count) {
        rules_.min_fields = count;
        return *this;
    }
    // A rule over the whole input, run after the structure is right; throws INVALID_INPUT itself.
    Manifest& rule(std::function<void(const T&)> check) {
        domain_.push_back(std::move(check));
        return *this;
    }

    // Throws INVALID_INPUT naming the first problem: `Unknown field x`, `tenantId: Required`, `keepPreviousSeconds: must be ...`.
    [[nodiscard]] T parse(const Json& raw) const {
        const Json checked = shape().check(raw, "");
        T to{};
        for (const auto& read : readers_) {
            read(to, checked);
        }
        for (const auto& check : domain_) {
            check(to);
        }
        return to;
    }
    [[nodiscard]] Shape shape() const {
        if (!shape_) {
            shape_ = object(fields_, rules_);
        }
        return *shape_;
    }
    [[nodiscard]] Json json_schema() const { return shape().json_schema(); }

private:
    Manifest& add(Field field, std::function<void(T&, const Json&)> reader) {
        fields_.push_back(std::move(field));
        readers_.push_back(std::move(reader));
        shape_.reset();
        return *this;
    }

    std::vector<Field> fields_;
    ObjectRules rules_;
    std::vector<std::function<void(T&, const Json&)>> readers_;
    std::vector<std::function<void(const T&)>> domain_;
    mutable std::optional<Shape> shape_;  // made once by the first use; definitions use it before they are shared
};

// Shapes that many methods share.
[[nodiscard]] Shape tenant_id();        // ^[A-Za-z0-9._:-]{1,128}$
[[nodiscard]] Shape idempotency_key();  // ^[A-Za-z0-9._:-]{1,128}$
[[nodiscard]] Shape id_of(std::string_view prefix);  // ^prefix[0-9a-hjkmnp-tv-z]{26,52}$
[[nodiscard]] Shape name();             // ^[a-z][a-z0-9-]{0,62}$
[[nodiscard]] Shape labels();           // <= 32 entries, key <= 63, value <= 128
[[nodiscard]] Shape wait();             // {timeoutMs}: an integer >= 0, of which 30,000 count

}  // namespace compute::schema
