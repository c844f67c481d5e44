#include "core/log.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <nlohmann/json.hpp>

#include "core/clock.h"
#include "core/error.h"
#include "core/redact.h"

namespace compute {
namespace {

spdlog::level::level_enum level_of(LogLevel level) {
    switch (level) {
        case LogLevel::Debug:
            return spdlog::level::debug;
        case LogLevel::Info:
            return spdlog::level::info;
        case LogLevel::Warning:
            return spdlog::level::warn;
        case LogLevel::Error:
            return spdlog::level::err;
    }
    return spdlog::level::info;
}

std::string json_quoted(std::string_view value) {
    return Json(value).dump(-1, ' ', false, Json::error_handler_t::replace);
}

bool is_plain(std::string_view value) {
    if (value.empty()) {
        return false;
    }
    for (const char c : value) {
        if (c <= ' ' || c == '"' || c == '=' || c == '\\' || static_cast<unsigned char>(c) >= 0x7f) {
            return false;
        }
    }
    return true;
}

class StderrLog final : public Log {
public:
    StderrLog(LogLevel level, LogFormat format)
        : format_(format),
          logger_("better-compute", std::make_shared<spdlog::sinks::stderr_sink_mt>()) {
        logger_.set_pattern(format == LogFormat::Json ? "%v" : "%Y-%m-%dT%H:%M:%S.%eZ %-7l %v", spdlog::pattern_time_type::utc);
        logger_.set_level(level_of(level));
        logger_.flush_on(spdlog::level::debug);
    }

    void write(LogLevel level, std::string_view event, LogFields fields) override {
        if (!logger_.should_log(level_of(level))) {
            return;
        }
        std::string line;
        if (format_ == LogFormat::Json) {
            line = "{\"time\":" + json_quoted(iso_time(SystemClock{}.now_ms())) + ",\"level\":" +
                   json_quoted(std::string_view(spdlog::level::to_string_view(level_of(level)).data())) +
                   ",\"event\":" + json_quoted(event);
            for (const auto& [key, value] : fields) {
                line += "," + json_quoted(key) + ":" + json_quoted(redact_secrets(value));
            }
            line += "}";
        } else {
            line = event;
            for (const auto& [key, value] : fields) {
                const std::string shown = redact_secrets(value);
                line += " " + std::string(key) + "=" + (is_plain(shown) ? shown : json_quoted(shown));
            }
        }
        logger_.log(level_of(level), "{}", line);
    }

    void set_level(LogLevel level) override { logger_.set_level(level_of(level)); }

private:
    LogFormat format_;
    spdlog::logger logger_;
};

class NullLog final : public Log {
public:
    void write(LogLevel /*level*/, std::string_view /*event*/, LogFields /*fields*/) override {}
};

}  // namespace

std::unique_ptr<Log> make_stderr_log(LogLevel level, LogFormat format) {
    return std::make_unique<StderrLog>(level, format);
}

Log& null_log() {
    static NullLog log;
    return log;
}

}  // namespace compute
