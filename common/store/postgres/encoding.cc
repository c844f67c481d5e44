#include "store/postgres/encoding.h"

#include <array>
#include <charconv>
#include <cstdlib>
#include <string_view>

#include "core/error.h"

namespace compute::store::postgres {
namespace {

// pg_type.oid of the built-in types: fixed for ever.
enum TypeOid : Oid {
    kBool = 16,
    kInt8 = 20,
    kInt2 = 21,
    kInt4 = 23,
    kOid = 26,
    kXid = 28,
    kFloat4 = 700,
    kFloat8 = 701,
    kNumeric = 1700,
    kXid8 = 5069,
    kInt8Array = 1016,
    kTextArray = 1009,
};

std::string double_text(double value) {
    std::array<char, 40> text{};
    const auto end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
    return {text.data(), end};
}

std::string array_text(const IntList& list) {
    std::string out = "{";
    for (const std::int64_t item : list) {
        out += (out.size() > 1 ? "," : "") + std::to_string(item);
    }
    return out + "}";
}

std::string array_text(const TextList& list) {
    std::string out = "{";
    for (const auto& item : list) {
        if (out.size() > 1) {
            out += ',';
        }
        if (!item) {
            out += "NULL";
            continue;
        }
        out += '"';
        for (const char character : *item) {
            if (character == '"' || character == '\\') {
                out += '\\';
            }
            out += character;
        }
        out += '"';
    }
    return out + "}";
}

std::optional<std::int64_t> whole_number(std::string_view text) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc() && end == text.data() + text.size() ? std::optional(value)
                                                                    : std::nullopt;
}

Row::Cell read_cell(Oid type, std::string_view text) {
    switch (type) {
        case kBool:
            return std::int64_t{text == "t" ? 1 : 0};
        case kInt2:
        case kInt4:
        case kInt8:
        case kOid:
        case kXid:
        case kXid8:
        case kNumeric:
            if (const auto whole = whole_number(text)) {
                return *whole;
            }
            return std::strtod(std::string(text).c_str(), nullptr);
        case kFloat4:
        case kFloat8:
            return std::strtod(std::string(text).c_str(), nullptr);
        default:
            return std::string(text);
    }
}

}  // namespace

Oid type_of(const Param& param) {
    constexpr std::array<Oid, std::variant_size_v<Param::Variant>> kTypes = {
        0, kInt8, kFloat8, 0, kInt8Array, kTextArray};
    return kTypes[param.value().index()];
}

std::optional<std::string> text_of(const Param& param) {
    const Param::Variant& value = param.value();
    if (const auto* whole = std::get_if<std::int64_t>(&value)) {
        return std::to_string(*whole);
    }
    if (const auto* text = std::get_if<std::string>(&value)) {
        return *text;
    }
    if (const auto* number = std::get_if<double>(&value)) {
        return double_text(*number);
    }
    if (const auto* ints = std::get_if<IntList>(&value)) {
        return array_text(*ints);
    }
    if (const auto* texts = std::get_if<TextList>(&value)) {
        return array_text(*texts);
    }
    return std::nullopt;
}

Rows rows_of(const PGresult* result) {
    const int columns = PQnfields(result);
    std::vector<Oid> types;
    types.reserve(static_cast<std::size_t>(columns));
    for (int column = 0; column < columns; ++column) {
        types.push_back(PQftype(result, column));
    }
    const int count = PQntuples(result);
    Rows rows;
    rows.reserve(static_cast<std::size_t>(count));
    for (int row = 0; row < count; ++row) {
        std::vector<Row::Cell> cells;
        cells.reserve(types.size());
        for (int column = 0; column < columns; ++column) {
            if (PQgetisnull(result, row, column) != 0) {
                cells.emplace_back(Null{});
                continue;
            }
            const auto size = static_cast<std::size_t>(PQgetlength(result, row, column));
            cells.push_back(read_cell(
                types[static_cast<std::size_t>(column)], {PQgetvalue(result, row, column), size}
            ));
        }
        rows.emplace_back(std::move(cells));
    }
    return rows;
}

}  // namespace compute::store::postgres
