// A policy document, compiled once, and the question whether one of its statements applies.
//
//   {"version":1,"statements":[{"sid"?,"effect":"allow"|"deny","actions":[...],"resources":[...],"conditions"?}]}
//
// Patterns are anchored globs: over the action, and over `type/id`. Resources may carry `${key}`
// variables behind the type.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "iam/local/condition.h"
#include "iam/local/facts.h"

namespace compute::iam::local {

inline constexpr std::size_t kMaxStatements = 128;

enum class Effect { Allow, Deny };

// What is asked of the documents.
struct Request {
    std::string_view action;
    std::string resource;  // "compute-pool/pool_01..."
    Facts facts;
};

struct Statement {
    std::string sid;
    Effect effect = Effect::Deny;
    std::vector<std::string> actions;  // compiled globs
    std::vector<Template> resources;   // compiled globs, with variables
    std::vector<Condition> conditions;
};

// Why a statement does not apply.
struct Mismatch {
    enum class What { Action, Resource, Condition };
    What what = What::Action;
    std::size_t condition = 0;  // index, for What::Condition
};

// Immutable once made; share it freely between threads.
class Policy {
public:
    // Throws INVALID_INPUT `path...: reason` for whatever the format does not allow.
    [[nodiscard]] static std::shared_ptr<const Policy> compile(
        const Json& document, const std::string& path
    );

    [[nodiscard]] const std::vector<Statement>& statements() const noexcept { return statements_; }
    // Whether a verdict may depend on more than action and resource: without conditions and
    // variables nobody looks at the facts.
    [[nodiscard]] bool reads_facts() const noexcept { return reads_facts_; }
    // The index of the first statement of `effect` that applies.
    [[nodiscard]] std::optional<std::size_t> find(Effect effect, const Request& request) const;
    // "statement 2 (ReadOnly)"
    [[nodiscard]] std::string statement_name(std::size_t index) const;

private:
    std::vector<Statement> statements_;
    bool reads_facts_ = false;
};

// nullopt: the statement applies.
[[nodiscard]] std::optional<Mismatch> find_mismatch(
    const Statement& statement, const Request& request
);
[[nodiscard]] std::string describe(const Mismatch& mismatch, const Statement& statement);

}  // namespace compute::iam::local
