// Strings, numbers, booleans and choices.
#include <cmath>
#include <utility>

#include <re2/re2.h>

#include "core/json.h"
#include "schema/node.h"
#include "schema/text.h"

namespace compute::schema {
namespace {

constexpr std::int64_t kMaxExact = 9007199254740992;  // 2^53

RE2::Options quiet() {
    RE2::Options options;
    options.set_log_errors(false);
    return options;
}

class StringNode final : public Shape::Node {
public:
    explicit StringNode(StringRules rules) : rules_(std::move(rules)) {
        if (rules_.pattern.empty()) {
            return;
        }
        pattern_ = std::make_unique<RE2>(rules_.pattern, quiet());
        if (!pattern_->ok()) {
            throw invalid_config(
                "schema: the pattern " + rules_.pattern + " is not valid: " + pattern_->error()
            );
        }
    }

    Json check(const Json& value, const Path& path) const override {
        if (!value.is_string()) {
            refuse(path, "must be a string");
        }
        const auto& text = *value.get_ptr<const std::string*>();
        const auto length = find_code_points(text);
        if (!length) {
            refuse(path, "must be valid UTF-8 without U+0000");
        }
        // The bounds come first: a pattern never runs over text of any length.
        if (*length > rules_.max_length) {
            refuse(path, "must have at most " + std::to_string(rules_.max_length) + " characters");
        }
        if (*length < rules_.min_length) {
            refuse(path, "must have at least " + std::to_string(rules_.min_length) + " characters");
        }
        if (pattern_ && !RE2::PartialMatch(text, *pattern_)) {
            refuse(path, "must match " + rules_.pattern);
        }
        return value;
    }

    Json json_schema() const override {
        Json out{{"type", "string"}, {"maxLength", rules_.max_length}};
        if (rules_.min_length > 0) {
            out["minLength"] = rules_.min_length;
        }
        if (pattern_) {
            out["pattern"] = rules_.pattern;
        }
        return out;
    }
    bool takes_type(const Json& value) const override { return value.is_string(); }
    std::string noun() const override { return "a string"; }

private:
    StringRules rules_;
    std::unique_ptr<const RE2> pattern_;
};

// 1, 1.0 and 1e0 are the integer 1; parsed input has only integers already, a caller in process may
// hand over a double.
std::optional<std::int64_t> find_integer(const Json& value) {
    if (value.is_number_unsigned()) {
        const auto number = value.get<std::uint64_t>();
        return number <= static_cast<std::uint64_t>(kMaxExact)
                   ? std::optional(static_cast<std::int64_t>(number))
                   : std::nullopt;
    }
    if (value.is_number_integer()) {
        const auto number = value.get<std::int64_t>();
        return number >= -kMaxExact && number <= kMaxExact ? std::optional(number) : std::nullopt;
    }
    if (value.is_number_float()) {
        const auto number = value.get<double>();
        if (number == std::trunc(number) && std::abs(number) <= static_cast<double>(kMaxExact)) {
            return static_cast<std::int64_t>(number);
        }
    }
    return std::nullopt;
}

class IntegerNode final : public Shape::Node {
public:
    explicit IntegerNode(IntRules rules) : rules_(rules) {}

    Json check(const Json& value, const Path& path) const override {
        const auto number = find_integer(value);
        if (!number) {
            refuse(path, "must be an integer");
        }
        if (*number < rules_.min) {
            refuse(path, "must be at least " + std::to_string(rules_.min));
        }
        if (*number > rules_.max) {
            refuse(path, "must be at most " + std::to_string(rules_.max));
        }
        return *number;
    }
    Json json_schema() const override {
        return Json{{"type", "integer"}, {"minimum", rules_.min}, {"maximum", rules_.max}};
    }
    bool takes_type(const Json& value) const override { return value.is_number(); }
    std::string noun() const override { return "an integer"; }

private:
    IntRules rules_;
};

class NumberNode final : public Shape::Node {
public:
    explicit NumberNode(NumberRules rules) : rules_(rules) {}

    Json check(const Json& value, const Path& path) const override {
        if (!value.is_number()) {
            refuse(path, "must be a number");
        }
        const auto number = value.get<double>();
        // Written so that NaN is refused too.
        if (!(number >= rules_.min)) {
            refuse(path, "must be at least " + Json(rules_.min).dump());
        }
        if (!(number <= rules_.max)) {
            refuse(path, "must be at most " + Json(rules_.max).dump());
        }
        return value;
    }
    Json json_schema() const override {
        return Json{{"type", "number"}, {"minimum", rules_.min}, {"maximum", rules_.max}};
    }
    bool takes_type(const Json& value) const override { return value.is_number(); }
    std::string noun() const override { return "a number"; }

private:
    NumberRules rules_;
};

class BooleanNode final : public Shape::Node {
public:
    Json check(const Json& value, const Path& path) const override {
        if (!value.is_boolean()) {
            refuse(path, "must be true or false");
        }
        return value;
    }
    Json json_schema() const override { return Json{{"type", "boolean"}}; }
    bool takes_type(const Json& value) const override { return value.is_boolean(); }
    std::string noun() const override { return "a boolean"; }
};

class ChoiceNode final : public Shape::Node {
public:
    explicit ChoiceNode(std::vector<std::string> values) : values_(std::move(values)) {}

    Json check(const Json& value, const Path& path) const override {
        if (value.is_string()) {
            for (const std::string& choice : values_) {
                if (*value.get_ptr<const std::string*>() == choice) {
                    return value;
                }
            }
        }
        std::string all;
        for (const std::string& choice : values_) {
            all += (all.empty() ? "" : ", ") + choice;
        }
        refuse(path, "must be one of " + all);
    }
    Json json_schema() const override { return Json{{"type", "string"}, {"enum", values_}}; }
    bool takes_type(const Json& value) const override { return value.is_string(); }
    std::string noun() const override { return "a string"; }

private:
    std::vector<std::string> values_;
};

}  // namespace

Shape string(StringRules rules) {
    return Shape(std::make_shared<StringNode>(std::move(rules)));
}
Shape integer(IntRules rules) {
    return Shape(std::make_shared<IntegerNode>(rules));
}
Shape number(NumberRules rules) {
    return Shape(std::make_shared<NumberNode>(rules));
}
Shape boolean() {
    return Shape(std::make_shared<BooleanNode>());
}
Shape one_of(std::vector<std::string> values) {
    return Shape(std::make_shared<ChoiceNode>(std::move(values)));
}

}  // namespace compute::schema
