// How compare_schemas works inside: one pass over two schemas, keyword by keyword. What a keyword
// judges is decided by itself alone (all of them must hold), so each function looks at its own
// keywords and appends what it finds.
//
// Sound, not complete: everything reported as an addition is one; a change that cannot be judged
// (another pattern, an unknown keyword) is reported as breaking.
#pragma once

#include <set>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>

#include "surface/surface.h"

namespace compute::surface {

inline const Json kNone;
inline const Json kTrue = true;
inline const Json kEmpty = Json::object();

// The keyword's value, or `otherwise`, which must outlive the result.
[[nodiscard]] inline const Json& member(
    const Json& schema, const char* keyword, const Json& otherwise
) {
    const auto found = schema.find(keyword);
    return found == schema.end() ? otherwise : *found;
}

// A value as a message shows it.
[[nodiscard]] std::string shown(const Json& value);
// The names `type` stands for; absent: all of them. "number" stands for "integer" too, see
// covers().
[[nodiscard]] std::set<std::string> type_names(const Json& schema);
[[nodiscard]] bool covers(const std::set<std::string>& types, const std::string& type);

class Comparer {
public:
    Comparer(const std::string& method, Comparison& out) : method_(method), out_(out) {}

    // Compares two schemas that stand at the JSON pointer `at`.
    void run(const Json& before_in, const Json& after_in, const std::string& at);

private:
    void breaking(const char* rule, const std::string& pointer, std::string message) {
        out_.breaking.push_back({rule, method_, pointer, std::move(message)});
    }
    void addition(const char* rule, const std::string& pointer, std::string message) {
        out_.additions.push_back({rule, method_, pointer, std::move(message)});
    }

    // False when nothing is left to say: the values were finite, and each has been tried.
    bool enums(const Json& before, const Json& after, const std::string& at);
    void types(const Json& before, const Json& after, const std::string& at);
    void bound(const Json& before, const Json& after, const char* keyword, const std::string& at);
    void numbers(const Json& before, const Json& after, const std::string& at);
    void strings(const Json& before, const Json& after, const std::string& at);
    void arrays(const Json& before, const Json& after, const std::string& at);
    void objects(const Json& before, const Json& after, const std::string& at);
    void properties(const Json& before, const Json& after, const std::string& at);
    void additional(const Json& before, const Json& after, const std::string& at);
    void any_of(const Json& before, const Json& after, const std::string& at);
    void one_of(const Json& before, const Json& after, const std::string& at);
    void all_of(const Json& before, const Json& after, const std::string& at);
    void unknown(const Json& before, const Json& after, const std::string& at);
    [[nodiscard]] static bool all_of_implied(const Json& before, const Json& part);
    // Whether one of `alternatives` takes everything that `before` takes.
    [[nodiscard]] static bool is_covered(const Json& before, const Json& alternatives);

    const std::string& method_;
    Comparison& out_;
};

}  // namespace compute::surface
