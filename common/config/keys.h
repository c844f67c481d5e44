// The table of configuration keys: each once, with its type, its bounds, what it means, and how it
// is set and shown. The loader, the dump, the manual page and the completions all read this table;
// a new key is a row of it.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"
#include "core/error.h"

namespace compute::config {

enum class KeyType { Boolean, Integer, Number, Text, TextList, IntegerList, Tables };

// Why a value is refused ("must be from 1 to 512"); nullopt when it was taken. Never repeats the
// value of a secret.
using Problem = std::optional<std::string>;

struct Key {
    std::string name;  // "events.delivery.limit"
    KeyType type = KeyType::Text;
    std::string range;    // for people: "1 to 1000", "full, normal"; empty when the type says all
    std::string meaning;  // one sentence
    bool is_secret = false;
    std::function<Problem(Config&, const Json&)>
        set;  // checks type and bounds; leaves the config alone on a problem
    std::function<Json(const Config&)> get;  // a secret comes back masked, an absent value as null
};

// Every key, in the order of the documentation.
[[nodiscard]] const std::vector<Key>& keys();
[[nodiscard]] const Key* find_key(std::string_view name);

// "events.allow_private" -> "BETTER_COMPUTE_EVENTS_ALLOW_PRIVATE"; empty for keys that are tables.
[[nodiscard]] std::string variable_of(const Key& key);

// Reads the text of a variable or flag as the key's type: 1/0/true/false, numbers, comma separated
// lists. nullopt when it is none.
[[nodiscard]] std::optional<Json> find_value_of_text(const Key& key, std::string_view text);

inline constexpr const char* kMask = "********";
inline constexpr std::size_t kMinSecretCharacters = 32;

}  // namespace compute::config
