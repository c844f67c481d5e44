// How the rows of the key table are made: one builder for each type of value. Used by keys.cc
// alone.
#pragma once

#include <cmath>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "config/keys.h"

namespace compute::config::build {

// `at` is a generic lambda from a Config to one of its members.
template <class At>
Key boolean(std::string name, std::string meaning, At at) {
    Key key{std::move(name), KeyType::Boolean, "true, false", std::move(meaning), false, {}, {}};
    key.set = [at](Config& config, const Json& value) -> Problem {
        if (!value.is_boolean()) {
            return "must be true or false";
        }
        at(config) = value.get<bool>();
        return std::nullopt;
    };
    key.get = [at](const Config& config) { return Json(at(config)); };
    return key;
}

template <class At>
Key integer(std::string name, std::string meaning, int min, int max, At at) {
    const std::string range = std::to_string(min) + " to " + std::to_string(max);
    Key key{std::move(name), KeyType::Integer, range, std::move(meaning), false, {}, {}};
    key.set = [at, min, max](Config& config, const Json& value) -> Problem {
        if (!value.is_number_integer() || value < min || value > max) {
            return "must be a whole number from " + std::to_string(min) + " to " +
                   std::to_string(max);
        }
        at(config) = value.get<int>();
        return std::nullopt;
    };
    key.get = [at](const Config& config) { return Json(at(config)); };
    return key;
}

inline constexpr double kMaxDays = 36500;

// A number of days, at least one. `at` returns a pointer, null where the value is absent.
template <class Set, class Get>
Key days(std::string name, std::string meaning, Set set, Get get) {
    Key key{std::move(name), KeyType::Number, "1 to 36500", std::move(meaning), false, {}, {}};
    key.set = [set](Config& config, const Json& value) -> Problem {
        // Written so that NaN fails it.
        if (!value.is_number() || !(value.get<double>() >= 1 && value.get<double>() <= kMaxDays)) {
            return "must be a number of days from 1 to 36500";
        }
        set(config, value.get<double>());
        return std::nullopt;
    };
    key.get = get;
    return key;
}

using Check = bool (*)(std::string_view);

// Text that `check` takes, or nothing where `check` is null; without NUL and line breaks in any
// case. An empty one is taken only where `may_be_empty`.
struct TextRules {
    std::string range;
    std::string reason;
    Check check = nullptr;
    bool may_be_empty = false;
};

inline bool is_plain_text(std::string_view text) {
    return text.size() <= 4096 &&
           text.find_first_of(std::string_view("\0\n\r", 3)) == std::string_view::npos;
}

template <class At>
Key text(std::string name, std::string meaning, TextRules rules, At at) {
    Key key{std::move(name), KeyType::Text, rules.range, std::move(meaning), false, {}, {}};
    key.set = [at, rules](Config& config, const Json& value) -> Problem {
        if (!value.is_string()) {
            return "must be a string";
        }
        const auto& string = value.get_ref<const std::string&>();
        if (string.empty() && rules.may_be_empty) {
            at(config).clear();
            return std::nullopt;
        }
        if (string.empty() || !is_plain_text(string) ||
            (rules.check != nullptr && !rules.check(string))) {
            return rules.reason;
        }
        at(config) = string;
        return std::nullopt;
    };
    key.get = [at](const Config& config) { return at(config).empty() ? Json() : Json(at(config)); };
    return key;
}

inline std::string joined(const std::vector<std::string>& words, std::string_view between) {
    std::string out;
    for (const std::string& word : words) {
        out.append(out.empty() ? "" : between).append(word);
    }
    return out;
}

template <class At>
Key choice(std::string name, std::string meaning, std::vector<std::string> values, At at) {
    Key key{
        std::move(name), KeyType::Text, joined(values, ", "), std::move(meaning), false, {}, {}};
    key.set = [at, values](Config& config, const Json& value) -> Problem {
        for (const std::string& allowed : values) {
            if (value == allowed) {
                at(config) = allowed;
                return std::nullopt;
            }
        }
        return "must be one of " + joined(values, ", ");
    };
    key.get = [at](const Config& config) { return Json(at(config)); };
    return key;
}

struct ListRules {
    std::string range;
    std::string reason;
    Check check = nullptr;
    std::size_t min_items = 0;
    std::size_t max_items = 1000;
};

template <class At>
Key text_list(std::string name, std::string meaning, ListRules rules, At at) {
    Key key{std::move(name), KeyType::TextList, rules.range, std::move(meaning), false, {}, {}};
    key.set = [at, rules](Config& config, const Json& value) -> Problem {
        if (!value.is_array() || value.size() < rules.min_items || value.size() > rules.max_items) {
            return rules.reason;
        }
        std::vector<std::string> list;
        std::set<std::string> seen;
        for (const Json& item : value) {
            if (!item.is_string() || !rules.check(item.get_ref<const std::string&>()) ||
                !seen.insert(item.get<std::string>()).second) {
                return rules.reason;
            }
            list.push_back(item.get<std::string>());
        }
        at(config) = std::move(list);
        return std::nullopt;
    };
    key.get = [at](const Config& config) { return Json(at(config)); };
    return key;
}

// Keys with a shape of their own.
Key secret();
Key previous_secrets();
Key extra_events();
Key backoff_seconds();
Key retention();
Key retention_days(std::string name, std::string meaning, double Retention::*member);
Key plugins();

}  // namespace compute::config::build
