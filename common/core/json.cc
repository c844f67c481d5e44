#include "core/json.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

namespace compute {
namespace {

constexpr double kMaxExactInteger = 9007199254740992.0;  // 2^53

// Builds the value while it watches for what nlohmann's own parser lets through.
class StrictReader : public nlohmann::json_sax<Json> {
public:
    Json take() { return std::move(root_); }
    [[nodiscard]] const std::string& reason() const { return reason_; }

    bool null() override { return put(nullptr); }
    bool boolean(bool value) override { return put(value); }
    bool number_integer(number_integer_t value) override {
        if (value < -static_cast<number_integer_t>(kMaxExactInteger)) {
            return fail("a number is out of range");
        }
        return put(value);
    }
    bool number_unsigned(number_unsigned_t value) override {
        if (value > static_cast<number_unsigned_t>(kMaxExactInteger)) {
            return fail("a number is out of range");
        }
        return put(static_cast<number_integer_t>(value));
    }
    bool number_float(number_float_t value, const string_t& /*text*/) override {
        if (!std::isfinite(value)) {
            return fail("a number is out of range");
        }
        if (value == std::trunc(value)) {
            if (std::abs(value) > kMaxExactInteger) {
                return fail("a number is out of range");
            }
            return put(static_cast<number_integer_t>(value));
        }
        return put(value);
    }
    bool string(string_t& value) override {
        if (value.find('\0') != string_t::npos) {
            return fail("a string contains U+0000");
        }
        return put(std::move(value));
    }
    bool binary(binary_t& /*value*/) override { return fail("binary values are not JSON"); }
    bool start_object(std::size_t /*size*/) override { return open(Json::object()); }
    bool key(string_t& value) override {
        if (value.find('\0') != string_t::npos) {
            return fail("a key contains U+0000");
        }
        if (stack_.back()->contains(value)) {
            return fail("duplicate key \"" + value.substr(0, 64) + "\"");
        }
        keys_.back() = std::move(value);
        return true;
    }
    bool end_object() override { return close(); }
    bool start_array(std::size_t /*size*/) override { return open(Json::array()); }
    bool end_array() override { return close(); }
    bool parse_error(
        std::size_t position, const std::string& /*token*/, const Json::exception& error
    ) override {
        // Identifier 406 is out_of_range.406, a number that no double can hold.
        return fail(
            error.id == 406 ? std::string("a number is out of range")
                            : "not valid JSON at byte " + std::to_string(position)
        );
    }

private:
    bool fail(std::string reason) {
        if (reason_.empty()) {
            reason_ = std::move(reason);
        }
        return false;
    }

    template <class Value>
    Json* place(Value&& value) {
        if (stack_.empty()) {
            root_ = std::forward<Value>(value);
            return &root_;
        }
        Json& parent = *stack_.back();
        if (parent.is_array()) {
            parent.push_back(std::forward<Value>(value));
            return &parent.back();
        }
        Json& slot = parent[keys_.back()];
        slot = std::forward<Value>(value);
        return &slot;
    }

    template <class Value>
    bool put(Value&& value) {
        place(std::forward<Value>(value));
        return true;
    }

    bool open(Json container) {
        if (stack_.size() == kMaxJsonDepth) {
            return fail("nested deeper than " + std::to_string(kMaxJsonDepth) + " levels");
        }
        stack_.push_back(place(std::move(container)));
        keys_.emplace_back();
        return true;
    }

    bool close() {
        stack_.pop_back();
        keys_.pop_back();
        return true;
    }

    Json root_;
    std::vector<Json*>
        stack_;  // a child never moves while it is open: only its parent's last slot grows
    std::vector<std::string> keys_;  // the pending key of each open object
    std::string reason_;
};

// Whether JSON text holds `text` as it stands: ASCII without what has to be escaped.
bool is_plain(std::string_view text) {
    return std::all_of(text.begin(), text.end(), [](char c) {
        return c >= ' ' && c <= '~' && c != '"' && c != '\\';
    });
}

// What is not UTF-8 is replaced when it is only to be shown, and refused when it is to be hashed.
enum class Form { Shown, Canonical };

void write_string(std::string_view text, Form form, std::string& out) {
    if (is_plain(text)) {
        out += '"';
        out += text;
        out += '"';
        return;
    }
    const auto on_error =
        form == Form::Canonical ? Json::error_handler_t::strict : Json::error_handler_t::replace;
    out += Json(text).dump(-1, ' ', false, on_error);
}

void write_integer(std::int64_t number, std::string& out) {
    std::array<char, 24> digits{};
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
    out.append(digits.data(), end);
}

void write(const Json& value, Form form, std::string& out);

void write_object(const Json& value, Form form, std::string& out) {
    out += '{';
    const char* separator = "";
    // std::map orders keys bytewise; for UTF-8 that is code point order.
    for (const auto& [key, member] : value.get_ref<const Json::object_t&>()) {
        if (form == Form::Canonical && member.is_discarded()) {
            continue;
        }
        out += separator;
        separator = ",";
        write_string(key, form, out);
        out += ':';
        write(member, form, out);
    }
    out += '}';
}

void write_array(const Json& value, Form form, std::string& out) {
    out += '[';
    const char* separator = "";
    for (const Json& item : value.get_ref<const Json::array_t&>()) {
        out += separator;
        separator = ",";
        write(item, form, out);
    }
    out += ']';
}

void write_number(const Json& value, Form form, std::string& out) {
    if (value.is_number_float()) {
        const double number = value.get<double>();
        if (form == Form::Canonical && number == std::trunc(number) &&
            std::abs(number) <= kMaxExactInteger) {
            write_integer(static_cast<std::int64_t>(number), out);
            return;
        }
    } else if (!value.is_number_unsigned()) {
        write_integer(value.get<std::int64_t>(), out);
        return;
    }
    out += value.dump();
}

// The library's own writer goes through text byte by byte; most of ours is plain, and each call
// writes its input three times: to be hashed, to be kept and to be sent.
void write(const Json& value, Form form, std::string& out) {
    if (value.is_object()) {
        write_object(value, form, out);
    } else if (value.is_array()) {
        write_array(value, form, out);
    } else if (value.is_string()) {
        write_string(value.get_ref<const std::string&>(), form, out);
    } else if (value.is_number()) {
        write_number(value, form, out);
    } else {
        out += value.dump();
    }
}

}  // namespace

Json parse_json(std::string_view text) {
    if (text.starts_with("\xEF\xBB\xBF")) {
        throw invalid_input("body: starts with a byte order mark");
    }
    StrictReader reader;
    bool is_complete = false;
    std::string reason;
    try {
        is_complete = Json::sax_parse(text.begin(), text.end(), &reader);
        reason = reader.reason();
    } catch (const Json::exception&) {
        reason = reader.reason().empty() ? "not valid JSON" : reader.reason();
    }
    if (!is_complete || !reason.empty()) {
        throw invalid_input("body: " + (reason.empty() ? std::string("not valid JSON") : reason));
    }
    return reader.take();
}

std::string canonical_json(const Json& value) {
    std::string out;
    write(value, Form::Canonical, out);
    return out;
}

std::string dump_json(const Json& value) {
    std::string out;
    write(value, Form::Shown, out);
    return out;
}

}  // namespace compute
