// Inputs made from a method's own schema, to see whether schema and validator say the same of them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "method/definition.h"
#include "schema/described.h"
#include "schema/sample.h"

namespace compute::contract {

// Inputs one step away from a good one: without a field, with an unknown one, of another type, with
// a wrong choice.
inline std::vector<Json> broken_inputs(const Json& schema, const Json& good) {
    std::vector<Json> out;
    for (const Json& name : schema.value("required", Json::array())) {
        out.push_back(good);
        out.back().erase(name.get<std::string>());
    }
    out.push_back(good);
    out.back()["unknownField"] = 1;
    for (const auto& [name, property] : schema.at("properties").items()) {
        if (property.value("type", Json()) == "string") {
            out.push_back(good);
            out.back()[name] = 7;
            out.push_back(good);
            out.back()[name] = Json::array();
        }
        if (property.contains("enum")) {
            out.push_back(good);
            out.back()[name] = "no such choice";
        }
    }
    return out;
}

inline bool accepts(const method::MethodDefinition& definition, const Json& input) {
    try {
        (void)definition.validate(input);
        return true;
    } catch (const ComputeError& error) {
        EXPECT_EQ(error.code(), ErrorCode::InvalidInput);
        return false;
    }
}

// The samples of the method's schema that are good inputs, the one with the fewest fields first.
inline std::vector<Json> find_good_inputs(const method::MethodDefinition& definition) {
    std::vector<Json> good;
    for (Json& sample : schema::sample_inputs(*definition.json_schema)) {
        if (accepts(definition, sample)) {
            good.push_back(std::move(sample));
        }
    }
    return good;
}

// A good input of the method, if a sample of its schema is one.
inline std::optional<Json> find_good_input(const method::MethodDefinition& definition) {
    const std::vector<Json> good = find_good_inputs(definition);
    return good.empty() ? std::nullopt : std::optional(good.front());
}

}  // namespace compute::contract
