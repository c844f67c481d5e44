// A log that keeps its lines, for tests about what is logged and what is not.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "core/guarded.h"
#include "core/log.h"

namespace compute::support {

struct LogLine {
    LogLevel level = LogLevel::Info;
    std::string event;
    std::map<std::string, std::string> fields;
};

// Thread-safe.
class MemoryLog final : public Log {
public:
    void write(LogLevel level, std::string_view event, LogFields fields) override {
        LogLine line{.level = level, .event = std::string(event), .fields = {}};
        for (const auto& [key, value] : fields) {
            line.fields.emplace(std::string(key), value);
        }
        lines_.with([&](auto& lines) { lines.push_back(std::move(line)); });
    }

    [[nodiscard]] std::vector<LogLine> lines() const {
        return lines_.with([](const auto& lines) { return lines; });
    }
    [[nodiscard]] int count(std::string_view event) const {
        return lines_.with([&](const auto& lines) {
            return static_cast<int>(std::count_if(
                lines.begin(), lines.end(), [&](const LogLine& line) { return line.event == event; }
            ));
        });
    }
    // Whether `text` stands anywhere in it.
    [[nodiscard]] bool mentions(std::string_view text) const {
        return lines_.with([&](const auto& lines) {
            return std::any_of(lines.begin(), lines.end(), [&](const LogLine& line) {
                return line.event.find(text) != std::string::npos ||
                       std::any_of(line.fields.begin(), line.fields.end(), [&](const auto& field) {
                           return field.second.find(text) != std::string::npos;
                       });
            });
        });
    }

private:
    Guarded<std::vector<LogLine>> lines_;
};

}  // namespace compute::support
