#include "cli/input.h"

#include <charconv>
#include <fstream>
#include <iostream>
#include <sstream>

#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "core/json.h"

namespace compute::cli {

namespace {

constexpr std::size_t kMaxInputBytes = 16U << 20;

struct Word {
    std::string path;  // "a.b", "list[]"
    Json value;
};

Word parse_word(const std::string& word) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos || equals == 0 || (equals == 1 && word[0] == ':')) {
        throw UsageError(word + ": must be name=text, name:=json or name:=@file");
    }
    const bool is_json = word[equals - 1] == ':';
    const std::string path = word.substr(0, is_json ? equals - 1 : equals);
    const std::string text = word.substr(equals + 1);
    return {path, is_json ? json_of_argument(text, path) : Json(text)};
}

void put(Json& object, const std::string& word, std::string_view path, Json value) {
    Json* at = &object;
    while (true) {
        const std::size_t dot = path.find('.');
        std::string name(path.substr(0, dot));
        const bool is_last = dot == std::string_view::npos;
        const bool is_list = name.ends_with("[]");
        if (is_list) {
            name.resize(name.size() - 2);
        }
        if (name.empty() || (is_list && !is_last)) {
            throw UsageError(word + ": " + std::string(path) + " is no name");
        }
        if (!at->is_object()) {
            throw UsageError(word + ": an earlier word gave " + name + "'s parent another form");
        }
        Json& member = (*at)[name];
        if (is_last && is_list) {
            if (member.is_null()) {
                member = Json::array();
            }
            if (!member.is_array()) {
                throw UsageError(word + ": an earlier word made " + name + " no list");
            }
            member.push_back(std::move(value));
            return;
        }
        if (is_last) {
            member = std::move(value);
            return;
        }
        if (member.is_null()) {
            member = Json::object();
        }
        at = &member;
        path.remove_prefix(dot + 1);
    }
}

void select_into(const Json& value, std::string_view query, std::vector<Json>& out) {
    if (query.empty()) {
        out.push_back(value);
        return;
    }
    if (query.starts_with("[]")) {
        if (!value.is_array()) {
            throw invalid_input("--query: [] stands behind what is no list");
        }
        query.remove_prefix(query.size() > 2 && query[2] == '.' ? 3 : 2);
        for (const Json& item : value) {
            select_into(item, query, out);
        }
        return;
    }
    const std::size_t end = std::min(query.find_first_of(".["), query.size());
    const std::string name(query.substr(0, end));
    if (name.empty() || !value.is_object() || !value.contains(name)) {
        throw invalid_input("--query: the answer has no member " + name);
    }
    query.remove_prefix(end < query.size() && query[end] == '.' ? end + 1 : end);
    select_into(value.at(name), query, out);
}

}  // namespace

Json object_of_words(Json base, const std::vector<std::string>& words) {
    if (!base.is_object()) {
        throw UsageError("--data: must be a JSON object");
    }
    for (const std::string& word : words) {
        Word parsed = parse_word(word);
        put(base, word, parsed.path, std::move(parsed.value));
    }
    return base;
}

std::string read_file(const std::string& path, std::size_t max_bytes) {
    std::ifstream file;
    if (path != "-") {
        file.open(path, std::ios::binary);
        if (!file) {
            throw invalid_input(path + ": cannot be read");
        }
    }
    std::istream& stream = path == "-" ? std::cin : file;
    std::string text;
    std::string part(65536, '\0');
    while (stream.read(part.data(), static_cast<std::streamsize>(part.size())) ||
           stream.gcount() > 0) {
        text.append(part, 0, static_cast<std::size_t>(stream.gcount()));
        if (text.size() > max_bytes) {
            throw invalid_input(path + ": is larger than " + std::to_string(max_bytes) + " bytes");
        }
    }
    if (stream.bad()) {
        throw invalid_input(path + ": cannot be read");
    }
    return text;
}

Json read_json_file(const std::string& path, const std::string& hint, std::size_t max_bytes) {
    try {
        return parse_json(read_file(path, max_bytes));
    } catch (const ComputeError& error) {
        const std::string message = error.message();
        throw ComputeError(
            ErrorCode::InvalidInput,
            message.starts_with(path + ": ") ? message : path + ": " + message,
            ErrorExtra{nullptr, "", error.hint().empty() ? hint : error.hint()}
        );
    }
}

Json json_of_argument(const std::string& text, const std::string& what) {
    const std::string json = text == "-"             ? read_file("-", kMaxInputBytes)
                             : text.starts_with('@') ? read_file(text.substr(1), kMaxInputBytes)
                                                     : text;
    try {
        return parse_json(json);
    } catch (const ComputeError& error) {
        throw UsageError(what + ": " + error.message());
    }
}

std::vector<Json> select(const Json& value, std::string_view query) {
    std::vector<Json> out;
    select_into(value, query, out);
    return out;
}

std::optional<std::int64_t> find_duration_ms(std::string_view text) {
    std::int64_t number = 0;
    if (text.size() < 2) {
        return std::nullopt;
    }
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    constexpr std::int64_t kMost = 100'000;
    if (error != std::errc() || end != text.data() + text.size() - 1 || number < 0 ||
        number > kMost) {
        return std::nullopt;
    }
    switch (text.back()) {
        case 's':
            return number * 1000;
        case 'm':
            return number * 60'000;
        case 'h':
            return number * 3'600'000;
        case 'd':
            return number * 86'400'000;
        default:
            return std::nullopt;
    }
}

EpochMs time_of_argument(const std::string& text, const std::string& flag, EpochMs now) {
    if (const auto ago = find_duration_ms(text)) {
        return now - *ago;
    }
    if (const auto time = find_iso_time(text)) {
        return *time;
    }
    throw UsageError(
        flag + ": must be a time such as 2026-09-24T10:15:02Z, or 2h or 3d for so long ago"
    );
}

}  // namespace compute::cli
