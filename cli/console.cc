#include "cli/console.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <iostream>

#include <nlohmann/json.hpp>
#include <unistd.h>

#include "core/json.h"

namespace compute::cli {

namespace {

constexpr std::size_t kBarWidth = 30;

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

// Columns on the screen: colour codes take none, a UTF-8 character one.
std::size_t width_of(std::string_view text) {
    std::size_t width = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '\x1b') {
            i = std::min(text.find('m', i), text.size() - 1);
        } else if ((static_cast<unsigned char>(text[i]) & 0xc0U) != 0x80U) {
            ++width;
        }
    }
    return width;
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
    std::vector<std::size_t> widths;
    for (const std::string& cell : header) {
        widths.push_back(width_of(cell));
    }
    for (const auto& row : rows) {
        for (std::size_t i = 0; i < row.size() && i < widths.size(); ++i) {
            widths[i] = std::max(widths[i], width_of(row[i]));
        }
    }
    const auto put = [&](const std::vector<std::string>& row, Style style) {
        std::string out;
        for (std::size_t i = 0; i < row.size() && i < widths.size(); ++i) {
            const std::string cell = style == Style::Plain ? row[i] : styled(style, row[i]);
            out.append(i == 0 ? "" : "  ").append(cell);
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

std::string printable(std::string_view text, std::size_t max) {
    std::string out;
    for (const char c : text.substr(0, max)) {
        out.push_back(static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? ' ' : c);
    }
    return out;
}

}  // namespace compute::cli
