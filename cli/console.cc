#include "cli/console.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <numeric>
#include <optional>

#include <nlohmann/json.hpp>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/terminal_text.h"
#include "core/json.h"

namespace compute::cli {

namespace {

constexpr std::size_t kBarWidth = 30;
constexpr std::size_t kUsualColumns = 80;
constexpr std::string_view kGap = "  ";  // between two columns

bool write_all(int fd, std::string_view text) {
    while (!text.empty()) {
        const ssize_t put = ::write(fd, text.data(), text.size());
        if (put < 0 && errno == EINTR) {
            continue;
        }
        if (put < 0) {
            return false;
        }
        text.remove_prefix(static_cast<std::size_t>(put));
    }
    return true;
}

bool is_set(const char* variable) {
    const char* value =
        std::getenv(variable);  // NOLINT(concurrency-mt-unsafe): before any thread starts
    return value != nullptr && *value != '\0';
}

// Columns of the terminal on standard output; nothing when it is none.
std::optional<std::size_t> terminal_columns() {
    winsize size{};
    if (::isatty(STDOUT_FILENO) == 0) {
        return std::nullopt;
    }
    const bool is_known = ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
    return is_known ? size.ws_col : kUsualColumns;
}

using Cells = std::vector<std::string>;

std::vector<std::size_t> widths_of(const Cells& header, const std::vector<Cells>& rows) {
    std::vector<std::size_t> widths;
    for (const std::string& cell : header) {
        widths.push_back(width_of(cell));
    }
    for (const Cells& row : rows) {
        for (std::size_t i = 0; i < row.size() && i < widths.size(); ++i) {
            widths[i] = std::max(widths[i], width_of(row[i]));
        }
    }
    return widths;
}

// A table whose lines the terminal would break, row by row instead.
void put_records(Console& console, const Cells& header, const std::vector<Cells>& rows) {
    std::size_t widest = 0;
    for (const std::string& name : header) {
        widest = std::max(widest, width_of(name));
    }
    for (std::size_t row = 0; row < rows.size(); ++row) {
        if (row > 0) {
            console.line("");
        }
        for (std::size_t i = 0; i < rows[row].size() && i < header.size(); ++i) {
            console.line(
                console.styled(Style::Bold, header[i]) +
                std::string(widest - width_of(header[i]), ' ') + std::string(kGap) + rows[row][i]
            );
        }
    }
}

const char* code_of(Style style) {
    switch (style) {
        case Style::Plain:
            return "";
        case Style::Bold:
            return "\x1b[1m";
        case Style::Red:
            return "\x1b[31m";
        case Style::Yellow:
            return "\x1b[33m";
        case Style::Green:
            return "\x1b[32m";
        case Style::Dim:
            return "\x1b[2m";
    }
    return "";
}

}  // namespace

Console::Console()
    : has_colour_(::isatty(STDOUT_FILENO) != 0 && !is_set("NO_COLOR")),
      is_interactive_(::isatty(STDIN_FILENO) != 0 && ::isatty(STDERR_FILENO) != 0) {}

Console::~Console() {
    flush();
}

void Console::line(std::string_view text) {
    kept_.append(text).push_back('\n');
}

void Console::text(std::string_view text) {
    kept_.append(text);
}

void Console::json(const Json& value) {
    line(dump_json(value));
}

void Console::table(
    const std::vector<std::string>& header, const std::vector<std::vector<std::string>>& rows
) {
    const auto widths = widths_of(header, rows);
    const std::size_t width =
        std::accumulate(widths.begin(), widths.end(), kGap.size() * (widths.size() - 1));
    if (const auto columns = terminal_columns(); columns && width > *columns && !rows.empty()) {
        put_records(*this, header, rows);
        return;
    }
    const auto put = [&](const std::vector<std::string>& row, Style style) {
        std::string out;
        for (std::size_t i = 0; i < row.size() && i < widths.size(); ++i) {
            const std::string cell = style == Style::Plain ? row[i] : styled(style, row[i]);
            out.append(i == 0 ? "" : kGap).append(cell);
            if (i + 1 < row.size()) {
                out.append(widths[i] - width_of(row[i]), ' ');
            }
        }
        line(out);
    };
    put(header, Style::Bold);
    for (const auto& row : rows) {
        put(row, Style::Plain);
    }
}

bool Console::flush() {
    const bool is_written = write_all(STDOUT_FILENO, kept_);
    kept_.clear();
    return is_written;
}

void Console::note(std::string_view text) {
    if (!is_quiet_) {
        write_all(STDERR_FILENO, std::string(text) + "\n");
    }
}

void Console::error(
    std::string_view code, std::string_view message, std::string_view hint, std::string_view details
) {
    if (has_bar_) {
        progress("", 0, 0);
    }
    std::string text = std::string(code) + ": " + printable(message) + "\n";
    if (!hint.empty()) {
        text += "Hint: " + printable(hint) + "\n";
    }
    if (!details.empty()) {
        text += "Details: " + printable(details) + "\n";
    }
    write_all(STDERR_FILENO, text);
}

void Console::progress(std::string_view label, std::size_t done, std::size_t total) {
    if (is_quiet_ || ::isatty(STDERR_FILENO) == 0) {
        return;
    }
    if (total == 0) {
        if (has_bar_) {
            write_all(STDERR_FILENO, "\r\x1b[K");
            has_bar_ = false;
        }
        return;
    }
    const std::size_t filled = std::min(done, total) * kBarWidth / total;
    write_all(
        STDERR_FILENO,
        "\r" + std::string(label) + " [" + std::string(filled, '#') +
            std::string(kBarWidth - filled, '.') + "] " + std::to_string(done) + "/" +
            std::to_string(total) + "\x1b[K"
    );
    has_bar_ = true;
}

bool Console::confirm(std::string_view question) {
    write_all(STDERR_FILENO, std::string(question) + " [y/N] ");
    std::string answer;
    if (!std::getline(std::cin, answer)) {
        return false;
    }
    return answer == "y" || answer == "Y" || answer == "yes";
}

std::string Console::styled(Style style, std::string_view text) const {
    if (!has_colour_ || style == Style::Plain) {
        return std::string(text);
    }
    return code_of(style) + std::string(text) + "\x1b[0m";
}

}  // namespace compute::cli
