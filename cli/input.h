// Turning words of the command line into JSON, and picking parts out of it again.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/clock.h"
#include "core/error.h"

namespace compute::cli {

// An object from `name=text`, `name:=json`, `name:=@file`, `a.b=text`, `list[]=text`, put over
// `base`. Throws UsageError naming the word.
[[nodiscard]] Json object_of_words(Json base, const std::vector<std::string>& words);

// JSON from `text`, from `@file`, or from standard input (`-`). `what` names it in errors. Throws
// UsageError for what is no JSON or cannot be read.
[[nodiscard]] Json json_of_argument(const std::string& text, const std::string& what);

// A whole file, at most `max_bytes`; `-` is standard input. INVALID_INPUT naming it when it cannot
// be read or is larger.
[[nodiscard]] std::string read_file(const std::string& path, std::size_t max_bytes = 16U << 20);

// The JSON in a whole file, read as read_file() does. INVALID_INPUT naming the file, with `hint`, when it
// cannot be read, is larger, or holds no JSON.
[[nodiscard]] Json read_json_file(
    const std::string& path, const std::string& hint, std::size_t max_bytes = 16U << 20
);

// The parts of `value` that `query` (`a.b[].c`) names: one, or one for each element behind `[]`.
// INVALID_INPUT when there is no such member.
[[nodiscard]] std::vector<Json> select(const Json& value, std::string_view query);

// `30s`, `15m`, `2h`, `3d` in milliseconds.
[[nodiscard]] std::optional<std::int64_t> find_duration_ms(std::string_view text);
// An ISO time, or a duration before `now`. Throws UsageError naming `flag`.
[[nodiscard]] EpochMs time_of_argument(
    const std::string& text, const std::string& flag, EpochMs now
);

}  // namespace compute::cli
