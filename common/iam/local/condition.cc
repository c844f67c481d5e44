#include "iam/local/condition.h"

#include <algorithm>
#include <array>

#include "iam/local/glob.h"

namespace compute::iam::local {

// What the values of an operator are, in the policy and in the facts.
enum class ValueKind { Text, Pattern, Flag, Number, Time, Address, Element, Presence };
enum class Combine { Any, All };

struct OperatorInfo {
    std::string_view name;
    ValueKind kind;
    Combine combine;
    // `actual` has the operator's type already.
    bool (*test)(const Json& actual, const Expected& expected, const Facts& facts);
};

namespace {

constexpr std::size_t kMaxValues = 128;
constexpr std::size_t kMaxValueBytes = 1024;
constexpr std::size_t kMaxConditions = 64;  // of one statement

const std::string& text_of(const Json& value) {
    return value.get_ref<const std::string&>();
}

// An unresolved variable matches nothing: neither equal nor different.
template <Fold fold, bool is_negated>
bool test_equals(const Json& actual, const Expected& expected, const Facts& facts) {
    std::string buffer;
    const auto text = expected.text.render(facts, buffer);
    return text && text_equals(text_of(actual), *text, fold) != is_negated;
}
template <Fold fold, bool is_negated>
bool test_like(const Json& actual, const Expected& expected, const Facts& facts) {
    std::string buffer;
    const auto pattern = expected.text.render(facts, buffer);
    return pattern && glob_matches(*pattern, text_of(actual), fold) != is_negated;
}
template <class Compare>
bool test_json(const Json& actual, const Expected& expected, const Facts& /*facts*/) {
    return Compare{}(actual, expected.literal);
}
template <class Compare>
bool test_time(const Json& actual, const Expected& expected, const Facts& facts) {
    const auto time = find_iso_time(text_of(actual));
    std::string buffer;
    const auto text = expected.text.render(facts, buffer);
    const auto bound = !expected.text.has_variables() ? std::optional(expected.time)
                       : text                         ? find_iso_time(*text)
                                                      : std::nullopt;
    return time && bound && Compare{}(*time, *bound);
}
template <bool is_negated>
bool test_address(const Json& actual, const Expected& expected, const Facts& /*facts*/) {
    auto address = net::IpAddress::find(text_of(actual));
    if (!address) {
        return false;
    }
    constexpr std::array<std::uint8_t, 12> kMapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF};
    if (!address->is_v4() && std::equal(kMapped.begin(), kMapped.end(), address->bytes.begin())) {
        net::IpAddress v4;
        std::copy(address->bytes.begin() + 12, address->bytes.end(), v4.bytes.begin());
        address = v4;
    }
    return expected.range.contains(*address) != is_negated;
}
bool test_element(const Json& actual, const Expected& expected, const Facts& facts) {
    std::string buffer;
    if (!expected.literal.is_string()) {
        return std::find(actual.begin(), actual.end(), expected.literal) != actual.end();
    }
    const auto text = expected.text.render(facts, buffer);
    return text && std::any_of(actual.begin(), actual.end(), [&](const Json& item) {
               return item.is_string() && text_of(item) == *text;
           });
}
bool test_presence(const Json& actual, const Expected& expected, const Facts& /*facts*/) {
    return actual == expected.literal;
}

constexpr std::array kOperators{
    OperatorInfo{"StringEquals", ValueKind::Text, Combine::Any, test_equals<Fold::Exact, false>},
    OperatorInfo{"StringNotEquals", ValueKind::Text, Combine::All, test_equals<Fold::Exact, true>},
    OperatorInfo{
        "StringEqualsIgnoreCase",
        ValueKind::Text,
        Combine::Any,
        test_equals<Fold::IgnoreCase, false>},
    OperatorInfo{
        "StringNotEqualsIgnoreCase",
        ValueKind::Text,
        Combine::All,
        test_equals<Fold::IgnoreCase, true>},
    OperatorInfo{"StringLike", ValueKind::Pattern, Combine::Any, test_like<Fold::Exact, false>},
    OperatorInfo{"StringNotLike", ValueKind::Pattern, Combine::All, test_like<Fold::Exact, true>},
    OperatorInfo{
        "StringLikeIgnoreCase",
        ValueKind::Pattern,
        Combine::Any,
        test_like<Fold::IgnoreCase, false>},
    OperatorInfo{"Bool", ValueKind::Flag, Combine::Any, test_json<std::equal_to<>>},
    OperatorInfo{"NumericEquals", ValueKind::Number, Combine::Any, test_json<std::equal_to<>>},
    OperatorInfo{
        "NumericNotEquals", ValueKind::Number, Combine::All, test_json<std::not_equal_to<>>},
    OperatorInfo{"NumericLessThan", ValueKind::Number, Combine::Any, test_json<std::less<>>},
    OperatorInfo{
        "NumericLessThanEquals", ValueKind::Number, Combine::Any, test_json<std::less_equal<>>},
    OperatorInfo{"NumericGreaterThan", ValueKind::Number, Combine::Any, test_json<std::greater<>>},
    OperatorInfo{
        "NumericGreaterThanEquals",
        ValueKind::Number,
        Combine::Any,
        test_json<std::greater_equal<>>},
    OperatorInfo{"DateBefore", ValueKind::Time, Combine::Any, test_time<std::less<>>},
    OperatorInfo{"DateAfter", ValueKind::Time, Combine::Any, test_time<std::greater<>>},
    OperatorInfo{"IpAddress", ValueKind::Address, Combine::Any, test_address<false>},
    OperatorInfo{"NotIpAddress", ValueKind::Address, Combine::All, test_address<true>},
    OperatorInfo{"ArrayContains", ValueKind::Element, Combine::Any, test_element},
    OperatorInfo{"ArrayContainsAll", ValueKind::Element, Combine::All, test_element},
    OperatorInfo{"Exists", ValueKind::Presence, Combine::Any, test_presence},
};

bool has_kind(const Json& actual, ValueKind kind) {
    switch (kind) {
        case ValueKind::Text:
        case ValueKind::Pattern:
        case ValueKind::Time:
        case ValueKind::Address:
            return actual.is_string();
        case ValueKind::Flag:
        case ValueKind::Presence:
            return actual.is_boolean();
        case ValueKind::Number:
            return actual.is_number();
        case ValueKind::Element:
            return actual.is_array();
    }
    return false;
}

void check_text(const Json& value, const std::string& path) {
    if (!value.is_string()) {
        throw invalid_input(path + ": must be a string");
    }
    if (text_of(value).size() > kMaxValueBytes) {
        throw invalid_input(
            path + ": must be at most " + std::to_string(kMaxValueBytes) + " bytes"
        );
    }
}

Expected parse_text(const Json& value, Template::As as, const std::string& path) {
    check_text(value, path);
    Expected out;
    out.literal = value;
    out.text = Template::parse(text_of(value), as, path);
    return out;
}

Expected parse_time(const Json& value, const std::string& path) {
    Expected out = parse_text(value, Template::As::Text, path);
    if (!out.text.has_variables()) {
        const auto time = find_iso_time(text_of(value));
        if (!time) {
            throw invalid_input(path + ": must be an ISO time like 2026-09-24T10:15:02Z");
        }
        out.time = *time;
    }
    return out;
}

Expected parse_range(const Json& value, const std::string& path) {
    check_text(value, path);
    const auto range = net::Cidr::find(text_of(value));
    if (!range) {
        throw invalid_input(path + ": must be an address or a range like 10.0.0.0/8");
    }
    Expected out;
    out.literal = value;
    out.range = *range;
    return out;
}

Expected parse_element(const Json& value, const std::string& path) {
    if (value.is_string()) {
        return parse_text(value, Template::As::Text, path);
    }
    if (!value.is_number() && !value.is_boolean()) {
        throw invalid_input(path + ": must be a string, a number or a boolean");
    }
    Expected out;
    out.literal = value;
    return out;
}

Expected parse_value(ValueKind kind, const Json& value, const std::string& path) {
    switch (kind) {
        case ValueKind::Text:
            return parse_text(value, Template::As::Text, path);
        case ValueKind::Pattern:
            return parse_text(value, Template::As::Glob, path);
        case ValueKind::Time:
            return parse_time(value, path);
        case ValueKind::Address:
            return parse_range(value, path);
        case ValueKind::Element:
            return parse_element(value, path);
        case ValueKind::Flag:
        case ValueKind::Presence:
        case ValueKind::Number:
            break;
    }
    if (!has_kind(value, kind)) {
        throw invalid_input(
            path + (kind == ValueKind::Number ? ": must be a number" : ": must be true or false")
        );
    }
    Expected out;
    out.literal = value;
    return out;
}

std::vector<Expected> parse_values(
    const OperatorInfo& info, const Json& values, const std::string& path
) {
    if (!values.is_array()) {
        std::vector<Expected> one;
        one.push_back(parse_value(info.kind, values, path));
        return one;
    }
    if (values.empty() || values.size() > kMaxValues) {
        throw invalid_input(path + ": must have 1 to " + std::to_string(kMaxValues) + " values");
    }
    std::vector<Expected> out;
    for (std::size_t i = 0; i < values.size(); ++i) {
        out.push_back(parse_value(info.kind, values[i], path + "[" + std::to_string(i) + "]"));
    }
    return out;
}

}  // namespace

std::vector<Condition> Condition::parse_all(const Json& conditions, const std::string& path) {
    if (!conditions.is_object()) {
        throw invalid_input(path + ": must be an object");
    }
    std::vector<Condition> out;
    for (const auto& [name, keys] : conditions.items()) {
        const auto* info = std::find_if(
            kOperators.begin(),
            kOperators.end(),
            [&wanted = name](const OperatorInfo& o) { return o.name == wanted; }
        );
        const std::string operator_path = path + "." + name;
        if (info == kOperators.end()) {
            throw invalid_input(operator_path + ": unknown operator");
        }
        if (!keys.is_object() || keys.empty()) {
            throw invalid_input(operator_path + ": must be an object of context keys");
        }
        for (const auto& [key, values] : keys.items()) {
            const std::string key_path = operator_path + "." + key;
            if (!is_context_key(key)) {
                throw invalid_input(key_path + ": unknown key " + key);
            }
            if (out.size() == kMaxConditions) {
                throw invalid_input(
                    path + ": must have at most " + std::to_string(kMaxConditions) + " keys"
                );
            }
            Condition& condition = out.emplace_back();
            condition.info_ = info;
            condition.key_ = key;
            condition.values_ = parse_values(*info, values, key_path);
        }
    }
    return out;
}

bool Condition::holds(const Facts& facts) const {
    const Json* actual = facts.find(key_);
    const Json presence = actual != nullptr;
    if (info_->kind == ValueKind::Presence) {
        actual = &presence;
    }
    if (actual == nullptr || !has_kind(*actual, info_->kind)) {
        return false;
    }
    const auto test = [&](const Expected& expected) {
        return info_->test(*actual, expected, facts);
    };
    return info_->combine == Combine::Any ? std::any_of(values_.begin(), values_.end(), test)
                                          : std::all_of(values_.begin(), values_.end(), test);
}

std::string Condition::describe() const {
    return std::string(info_->name) + " on " + key_;
}

std::vector<std::string_view> operator_names() {
    std::vector<std::string_view> names;
    for (const OperatorInfo& info : kOperators) {
        names.push_back(info.name);
    }
    return names;
}

}  // namespace compute::iam::local
