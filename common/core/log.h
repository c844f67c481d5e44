// The log: one structured line per outcome, ids never payloads, never a secret.
#pragma once

#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace compute {

enum class LogLevel { Debug, Info, Warning, Error };
// g++ 12 takes the scoped enumerator for a shadow of compute::Json.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
enum class LogFormat { Text, Json };
#pragma GCC diagnostic pop

using LogFields = std::initializer_list<std::pair<std::string_view, std::string>>;

// Thread-safe.
class Log {
public:
    virtual ~Log() = default;
    virtual void write(LogLevel level, std::string_view event, LogFields fields) = 0;

    void debug(std::string_view event, LogFields fields = {}) { write(LogLevel::Debug, event, fields); }
    void info(std::string_view event, LogFields fields = {}) { write(LogLevel::Info, event, fields); }
    void warning(std::string_view event, LogFields fields = {}) { write(LogLevel::Warning, event, fields); }
    void error(std::string_view event, LogFields fields = {}) { write(LogLevel::Error, event, fields); }

    // May be called at run time; a log without levels ignores it.
    virtual void set_level(LogLevel /*level*/) {}
};

// Writes to standard error through spdlog. Control characters in values are escaped.
[[nodiscard]] std::unique_ptr<Log> make_stderr_log(LogLevel level, LogFormat format);

// Drops everything.
[[nodiscard]] Log& null_log();

}  // namespace compute
