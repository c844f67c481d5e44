#include "cli/help.h"

#include <sstream>

namespace compute::cli {

namespace {

constexpr std::size_t kColumns = 80;
constexpr std::size_t kIndent = 30;  // where the parser begins a description

// `line` broken at the last space that keeps it within the columns, again and again.
std::string wrap_line(std::string line) {
    std::string out;
    while (line.size() > kColumns) {
        const std::size_t space = line.rfind(' ', kColumns);
        if (space == std::string::npos || space <= kIndent) {
            break;  // one word that is longer than the column
        }
        out += line.substr(0, space) + "\n";
        line = std::string(kIndent, ' ') + line.substr(space + 1);
    }
    return out + line + "\n";
}

}  // namespace

std::string wrap_help(const std::string& text) {
    std::string out;
    bool is_example = false;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        is_example = is_example || line == "Example:";
        const bool is_described = !is_example && line.starts_with("  ");
        out += is_described ? wrap_line(line) : line + "\n";
    }
    return out;
}

}  // namespace compute::cli
