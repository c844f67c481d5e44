// How the text of a variable or a flag becomes a value.
#include <algorithm>
#include <charconv>

#include <nlohmann/json.hpp>

#include "config/keys.h"

namespace compute::config {

namespace {

template <class Number>
std::optional<Json> find_number(std::string_view text) {
    Number value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) {
        return std::nullopt;
    }
    return Json(value);
}

std::optional<Json> find_boolean(std::string_view text) {
    if (text == "1" || text == "true") {
        return Json(true);
    }
    if (text == "0" || text == "false") {
        return Json(false);
    }
    return std::nullopt;
}

std::string_view trimmed(std::string_view text) {
    const std::size_t begin = text.find_first_not_of(" \t");
    if (begin == std::string_view::npos) {
        return {};
    }
    return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

std::optional<Json> find_list(std::string_view text, bool is_integer_list) {
    Json list = Json::array();
    while (!text.empty()) {
        const std::size_t comma = std::min(text.find(','), text.size());
        const std::string_view item = trimmed(text.substr(0, comma));
        if (is_integer_list) {
            const auto number = find_number<std::int64_t>(item);
            if (!number) {
                return std::nullopt;
            }
            list.push_back(*number);
        } else {
            list.push_back(std::string(item));
        }
        text.remove_prefix(std::min(comma + 1, text.size()));
    }
    return list;
}

}  // namespace

std::string variable_of(const Key& key) {
    if (key.type == KeyType::Tables) {
        return {};
    }
    std::string name = "BETTER_COMPUTE_";
    for (const char c : key.name) {
        name.push_back(
            c == '.' ? '_' : static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c)
        );
    }
    return name;
}

std::optional<Json> find_value_of_text(const Key& key, std::string_view text) {
    switch (key.type) {
        case KeyType::Boolean:
            return find_boolean(text);
        case KeyType::Integer:
            return find_number<std::int64_t>(text);
        case KeyType::Number:
            return find_number<double>(text);
        case KeyType::Text:
            return Json(std::string(text));
        case KeyType::TextList:
            return find_list(text, false);
        case KeyType::IntegerList:
            return find_list(text, true);
        case KeyType::Tables:
            return std::nullopt;
    }
    return std::nullopt;
}

}  // namespace compute::config
