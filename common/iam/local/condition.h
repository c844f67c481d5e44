// Conditions of a statement: operator, context key, values.
//
// A key without a value fails every operator but Exists; a value of another type than the
// operator's fails too (nothing is coerced). Of several values one must hold; for the negated
// operators and ArrayContainsAll, all.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/clock.h"
#include "iam/local/facts.h"
#include "net/address.h"

namespace compute::iam::local {

struct OperatorInfo;

// One value of a condition, compiled for its operator.
struct Expected {
    Json literal;   // numbers, booleans, what arrays are compared with
    Template text;  // strings
    EpochMs time = 0;
    net::Cidr range;
};

class Condition {
public:
    // Reads `{Operator: {key: value or [values]}}`. Throws INVALID_INPUT `path...: reason`.
    static std::vector<Condition> parse_all(const Json& conditions, const std::string& path);

    [[nodiscard]] bool holds(const Facts& facts) const;
    // "StringEquals on resource.poolId"
    [[nodiscard]] std::string describe() const;

private:
    const OperatorInfo* info_ = nullptr;
    std::string key_;
    std::vector<Expected> values_;
};

// The names of all operators, in the order of the reference.
[[nodiscard]] std::vector<std::string_view> operator_names();

}  // namespace compute::iam::local
