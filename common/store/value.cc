#include "store/value.h"

#include <cmath>

#include "core/error.h"

namespace compute::store {
namespace {

const char* type_name(const Row::Cell& cell) {
    constexpr const char* kNames[] = {"null", "an integer", "a double", "a text"};
    return kNames[cell.index()];
}

ComputeError wrong_type(std::size_t column, const char* wanted, const Row::Cell& cell) {
    return internal_error(
        "column " + std::to_string(column) + " of a result is " + type_name(cell) + ", not " +
        wanted
    );
}

const Row::Cell& cell_at(const std::vector<Row::Cell>& cells, std::size_t column) {
    if (column >= cells.size()) {
        throw internal_error(
            "column " + std::to_string(column) + " of a result with " +
            std::to_string(cells.size()) + " columns"
        );
    }
    return cells[column];
}

}  // namespace

bool Row::is_null(std::size_t column) const {
    return std::holds_alternative<Null>(cell_at(cells_, column));
}

std::int64_t Row::get_int(std::size_t column) const {
    const Cell& cell = cell_at(cells_, column);
    if (const auto* value = std::get_if<std::int64_t>(&cell)) {
        return *value;
    }
    throw wrong_type(column, "an integer", cell);
}

double Row::get_double(std::size_t column) const {
    const Cell& cell = cell_at(cells_, column);
    if (const auto* value = std::get_if<double>(&cell)) {
        return *value;
    }
    if (const auto* whole = std::get_if<std::int64_t>(&cell)) {
        return static_cast<double>(*whole);
    }
    throw wrong_type(column, "a number", cell);
}

const std::string& Row::get_text(std::size_t column) const {
    const Cell& cell = cell_at(cells_, column);
    if (const auto* value = std::get_if<std::string>(&cell)) {
        return *value;
    }
    throw wrong_type(column, "a text", cell);
}

std::optional<std::int64_t> Row::find_int(std::size_t column) const {
    return is_null(column) ? std::nullopt : std::optional(get_int(column));
}

std::optional<std::string> Row::find_text(std::size_t column) const {
    return is_null(column) ? std::nullopt : std::optional(get_text(column));
}

}  // namespace compute::store
