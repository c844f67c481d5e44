// Cells of tables made from the JSON of an answer: text is made fit for a terminal, what is absent
// is a dash.
#pragma once

#include <string>

#include "core/error.h"

namespace compute::cli {

// A member of any kind; a string as it is, all else as JSON.
[[nodiscard]] std::string text_cell(const Json& row, const char* name);
// A member that is a time in epoch milliseconds.
[[nodiscard]] std::string time_cell(const Json& row, const char* name);
// A list of strings, separated by commas.
[[nodiscard]] std::string list_cell(const Json& row, const char* name);

}  // namespace compute::cli
