#include "cli/cells.h"

#include <nlohmann/json.hpp>

#include "cli/console.h"
#include "core/clock.h"
#include "core/json.h"

namespace compute::cli {

namespace {

constexpr std::size_t kMaxCellBytes = 200;
constexpr const char* kAbsent = "-";

}  // namespace

std::string text_cell(const Json& row, const char* name) {
    if (!row.contains(name)) {
        return kAbsent;
    }
    const Json& value = row.at(name);
    return printable(
        value.is_string() ? value.get<std::string>() : dump_json(value), kMaxCellBytes
    );
}

std::string time_cell(const Json& row, const char* name) {
    return row.contains(name) ? iso_time(row.at(name).get<std::int64_t>()) : kAbsent;
}

std::string list_cell(const Json& row, const char* name) {
    if (!row.contains(name)) {
        return kAbsent;
    }
    std::string out;
    for (const Json& word : row.at(name)) {
        out += (out.empty() ? "" : ",") + word.get<std::string>();
    }
    return printable(out, kMaxCellBytes);
}

}  // namespace compute::cli
