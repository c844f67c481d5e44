// What goes into a statement and what comes out of it.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/ids.h"

namespace compute::store {

struct Null {
    friend bool operator==(Null, Null) = default;
};

// Lists, for statements that work on many rows at once: bound as JSON text on SQLite (use
// json_each($n)) and as an array on PostgreSQL (use unnest($n::bigint[]) or unnest($n::text[])).
using IntList = std::vector<std::int64_t>;
using TextList = std::vector<std::optional<std::string>>;

// One bound parameter. Text is UTF-8. Booleans are the integers 0 and 1.
class Param {
public:
    using Variant = std::variant<Null, std::int64_t, double, std::string, IntList, TextList>;

    Param(std::nullptr_t)
        : value_(Null{}) {}  // NOLINT(google-explicit-constructor): reads as a value
    Param(std::nullopt_t) : value_(Null{}) {}               // NOLINT(google-explicit-constructor)
    Param(double value) : value_(value) {}                  // NOLINT(google-explicit-constructor)
    Param(const char* text) : value_(std::string(text)) {}  // NOLINT(google-explicit-constructor)
    Param(std::string_view text)
        : value_(std::string(text)) {}                    // NOLINT(google-explicit-constructor)
    Param(std::string text) : value_(std::move(text)) {}  // NOLINT(google-explicit-constructor)
    Param(IntList list) : value_(std::move(list)) {}      // NOLINT(google-explicit-constructor)
    Param(TextList list) : value_(std::move(list)) {}     // NOLINT(google-explicit-constructor)
    template <std::integral Integer>
    Param(Integer value)
        : value_(static_cast<std::int64_t>(value)) {}  // NOLINT(google-explicit-constructor)
    template <class Tag>
    Param(const StrongId<Tag>& id) : value_(id.str()) {}  // NOLINT(google-explicit-constructor)
    template <class T>
    Param(const std::optional<T>& value)  // NOLINT(google-explicit-constructor)
        : value_(value ? Param(*value).value_ : Variant(Null{})) {}

    [[nodiscard]] const Variant& value() const noexcept { return value_; }

private:
    Variant value_;
};

using Params = std::vector<Param>;

// One row of a result; columns count from 0. A column of another type than asked for is
// INTERNAL_ERROR: it is a defect in the statement, never input.
class Row {
public:
    using Cell = std::variant<Null, std::int64_t, double, std::string>;

    explicit Row(std::vector<Cell> cells) : cells_(std::move(cells)) {}

    [[nodiscard]] std::size_t size() const noexcept { return cells_.size(); }
    [[nodiscard]] bool is_null(std::size_t column) const;
    [[nodiscard]] std::int64_t get_int(std::size_t column) const;
    [[nodiscard]] bool get_bool(std::size_t column) const { return get_int(column) != 0; }
    [[nodiscard]] double get_double(std::size_t column) const;
    [[nodiscard]] const std::string& get_text(std::size_t column) const;
    [[nodiscard]] std::optional<std::int64_t> find_int(std::size_t column) const;
    [[nodiscard]] std::optional<std::string> find_text(std::size_t column) const;

private:
    std::vector<Cell> cells_;
};

using Rows = std::vector<Row>;

}  // namespace compute::store
