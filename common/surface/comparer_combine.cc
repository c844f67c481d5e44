// anyOf, oneOf and allOf.
#include <algorithm>
#include <optional>

#include "core/json.h"
#include "surface/comparer.h"
#include "surface/schema_compare.h"

namespace compute::surface {
namespace {

// `{oneOf: [{required: [a]}, {required: [b]}]}` -> {a, b}: exactly one of these fields.
std::optional<std::set<std::string>> exactly_one_group(const Json& part) {
    if (!part.is_object() || part.size() != 1 || !part.contains("oneOf")) {
        return std::nullopt;
    }
    std::set<std::string> names;
    for (const Json& choice : part.at("oneOf")) {
        if (!choice.is_object() || choice.size() != 1 || !choice.contains("required") ||
            choice.at("required").size() != 1) {
            return std::nullopt;
        }
        names.insert(choice.at("required").at(0).get<std::string>());
    }
    return names;
}

}  // namespace

bool Comparer::is_covered(const Json& before, const Json& alternatives) {
    return std::any_of(alternatives.begin(), alternatives.end(), [&](const Json& after) {
        return is_widening(before, after);
    });
}

void Comparer::any_of(const Json& before, const Json& after, const std::string& at) {
    const Json& was = member(before, "anyOf", kNone);
    const Json& is = member(after, "anyOf", kNone);
    if (is.is_null() || was.is_null()) {
        return;  // run() has judged these
    }
    for (std::size_t i = 0; i < was.size(); ++i) {
        const std::string pointer = at + "/anyOf/" + std::to_string(i);
        if (is_covered(was[i], is)) {
            continue;
        }
        if (was.size() == is.size()) {
            run(was[i], is[i], pointer);
        } else {
            breaking("alternative-lost", pointer, "no longer takes " + dump_json(was[i]));
        }
    }
    for (std::size_t i = 0; i < is.size(); ++i) {
        if (!is_covered(is[i], was)) {
            addition(
                "alternative-added",
                at + "/anyOf/" + std::to_string(i),
                "now takes " + dump_json(is[i])
            );
        }
    }
}

void Comparer::one_of(const Json& before, const Json& after, const std::string& at) {
    const Json& was = member(before, "oneOf", kNone);
    const Json& is = member(after, "oneOf", kNone);
    if (was == is) {
        return;
    }
    if (is.is_null()) {
        addition("schema-widened", at + "/oneOf", "the choice is gone");
    } else {
        breaking("composition-changed", at + "/oneOf", "was " + shown(was) + ", is " + shown(is));
    }
}

// Whether everything `before` takes satisfies `part`, a member of the allOf that is now there.
bool Comparer::all_of_implied(const Json& before, const Json& part) {
    const Json& was = member(before, "allOf", kEmpty);
    if (std::any_of(was.begin(), was.end(), [&](const Json& old) {
            return is_widening(old, part);
        })) {
        return true;
    }
    // "Exactly one of a, b" became "exactly one of a, b, c", and c was no field before: what was
    // taken has no c, so it still is.
    const auto now = exactly_one_group(part);
    const bool was_closed = member(before, "additionalProperties", kTrue) == false;
    return now && was_closed && std::any_of(was.begin(), was.end(), [&](const Json& old) {
               const auto group = exactly_one_group(old);
               return group &&
                      std::includes(now->begin(), now->end(), group->begin(), group->end()) &&
                      std::none_of(now->begin(), now->end(), [&](const std::string& name) {
                          return !group->contains(name) &&
                                 member(before, "properties", kEmpty).contains(name);
                      });
           });
}

void Comparer::all_of(const Json& before, const Json& after, const std::string& at) {
    const Json& was = member(before, "allOf", kEmpty);
    const Json& is = member(after, "allOf", kEmpty);
    if (was == is) {
        return;
    }
    const std::size_t already = out_.breaking.size();
    for (std::size_t i = 0; i < is.size(); ++i) {
        if (!all_of_implied(before, is[i])) {
            breaking(
                "composition-changed",
                at + "/allOf/" + std::to_string(i),
                "must now satisfy " + dump_json(is[i])
            );
        }
    }
    if (out_.breaking.size() == already) {
        addition("schema-widened", at + "/allOf", "was " + shown(was) + ", is " + shown(is));
    }
}

}  // namespace compute::surface
