#include "iam/local/policy.h"

#include <algorithm>
#include <array>

#include "iam/local/glob.h"

namespace compute::iam::local {
namespace {

constexpr std::size_t kMaxPatterns = 128;  // in one list
constexpr std::size_t kMaxPatternBytes = 512;
constexpr std::size_t kMaxSidBytes = 128;

void check_members(
    const Json& object, const std::string& path, std::initializer_list<std::string_view> known
) {
    if (!object.is_object()) {
        throw invalid_input(path + ": must be an object");
    }
    for (const auto& [name, value] : object.items()) {
        if (std::find(known.begin(), known.end(), name) == known.end()) {
            throw invalid_input(path + ": Unknown field " + name);
        }
    }
}

const Json& member(const Json& object, const char* name, const std::string& path) {
    const auto found = object.find(name);
    if (found == object.end()) {
        throw invalid_input(path + "." + name + ": Required");
    }
    return *found;
}

// Calls `each(pattern, its path)` for a list of patterns.
template <class Function>
void read_patterns(const Json& list, const std::string& path, Function&& each) {
    if (!list.is_array() || list.empty() || list.size() > kMaxPatterns) {
        throw invalid_input(
            path + ": must be a list of 1 to " + std::to_string(kMaxPatterns) + " patterns"
        );
    }
    for (std::size_t i = 0; i < list.size(); ++i) {
        const std::string item_path = path + "[" + std::to_string(i) + "]";
        const auto* pattern = list[i].get_ptr<const std::string*>();
        if (pattern == nullptr || pattern->empty() || pattern->size() > kMaxPatternBytes) {
            throw invalid_input(
                item_path + ": must be a string of 1 to " + std::to_string(kMaxPatternBytes) +
                " bytes"
            );
        }
        each(*pattern, item_path);
    }
}

Effect parse_effect(const Json& value, const std::string& path) {
    if (value == "allow") {
        return Effect::Allow;
    }
    if (value == "deny") {
        return Effect::Deny;
    }
    throw invalid_input(path + ": must be allow or deny");
}

Statement parse_statement(const Json& json, const std::string& path) {
    check_members(json, path, {"sid", "effect", "actions", "resources", "conditions"});
    Statement out;
    if (const auto sid = json.find("sid"); sid != json.end()) {
        if (!sid->is_string() || sid->get_ref<const std::string&>().size() > kMaxSidBytes) {
            throw invalid_input(
                path + ".sid: must be a string of at most " + std::to_string(kMaxSidBytes) +
                " bytes"
            );
        }
        out.sid = sid->get<std::string>();
    }
    out.effect = parse_effect(member(json, "effect", path), path + ".effect");
    read_patterns(
        member(json, "actions", path),
        path + ".actions",
        [&](const std::string& pattern, const std::string& at) {
            if (pattern.find("${") != std::string::npos) {
                throw invalid_input(at + ": an action has no variables");
            }
            out.actions.push_back(compile_glob(pattern));
        }
    );
    read_patterns(
        member(json, "resources", path),
        path + ".resources",
        [&](const std::string& pattern, const std::string& at) {
            const std::size_t variable = pattern.find("${");
            if (variable != std::string::npos && pattern.find('/') > variable) {
                throw invalid_input(
                    at + ": a variable may stand only behind the type and its slash"
                );
            }
            out.resources.push_back(Template::parse(pattern, Template::As::Glob, at));
        }
    );
    if (const auto conditions = json.find("conditions"); conditions != json.end()) {
        out.conditions = Condition::parse_all(*conditions, path + ".conditions");
    }
    return out;
}

bool statement_reads_facts(const Statement& statement) {
    return !statement.conditions.empty() ||
           std::any_of(
               statement.resources.begin(),
               statement.resources.end(),
               [](const Template& pattern) { return pattern.has_variables(); }
           );
}

bool matches_resource(const Statement& statement, const Request& request) {
    std::string buffer;
    return std::any_of(
        statement.resources.begin(),
        statement.resources.end(),
        [&](const Template& pattern) {
            const auto text = pattern.render(request.facts, buffer);
            return text && glob_matches(*text, request.resource);
        }
    );
}

}  // namespace

std::shared_ptr<const Policy> Policy::compile(const Json& document, const std::string& path) {
    check_members(document, path, {"version", "statements"});
    if (member(document, "version", path) != 1) {
        throw invalid_input(path + ".version: must be 1");
    }
    const Json& statements = member(document, "statements", path);
    if (!statements.is_array() || statements.size() > kMaxStatements) {
        throw invalid_input(
            path + ".statements: must be a list of at most " + std::to_string(kMaxStatements)
        );
    }
    auto policy = std::make_shared<Policy>();
    for (std::size_t i = 0; i < statements.size(); ++i) {
        policy->statements_.push_back(
            parse_statement(statements[i], path + ".statements[" + std::to_string(i) + "]")
        );
        policy->reads_facts_ |= statement_reads_facts(policy->statements_.back());
    }
    return policy;
}

std::optional<std::size_t> Policy::find(Effect effect, const Request& request) const {
    for (std::size_t i = 0; i < statements_.size(); ++i) {
        if (statements_[i].effect == effect && !find_mismatch(statements_[i], request)) {
            return i;
        }
    }
    return std::nullopt;
}

std::string Policy::statement_name(std::size_t index) const {
    const std::string& sid = statements_[index].sid;
    return "statement " + std::to_string(index + 1) + (sid.empty() ? "" : " (" + sid + ")");
}

std::optional<Mismatch> find_mismatch(const Statement& statement, const Request& request) {
    const bool is_action = std::any_of(
        statement.actions.begin(),
        statement.actions.end(),
        [&](const std::string& pattern) { return glob_matches(pattern, request.action); }
    );
    if (!is_action) {
        return Mismatch{Mismatch::What::Action};
    }
    if (!matches_resource(statement, request)) {
        return Mismatch{Mismatch::What::Resource};
    }
    for (std::size_t i = 0; i < statement.conditions.size(); ++i) {
        if (!statement.conditions[i].holds(request.facts)) {
            return Mismatch{Mismatch::What::Condition, i};
        }
    }
    return std::nullopt;
}

std::string describe(const Mismatch& mismatch, const Statement& statement) {
    switch (mismatch.what) {
        case Mismatch::What::Action:
            return "its actions do not cover the action";
        case Mismatch::What::Resource:
            return "its resources do not cover the resource";
        case Mismatch::What::Condition:
            return statement.conditions[mismatch.condition].describe() + " does not hold";
    }
    return {};
}

}  // namespace compute::iam::local
