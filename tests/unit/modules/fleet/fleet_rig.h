// A plane with the capacity and fleet modules, and the calls of these tests.
#pragma once

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "modules/capacity/capacity.h"
#include "modules/fleet/fleet.h"

#include "tests/support/test_plane.h"

namespace compute::fleet {

using support::TestPlane;

inline Json group(const std::string& names, std::int64_t gpus = 8) {
    return {
        {"names", names},
        {"gpuModel", "H100"},
        {"gpuCount", gpus},
        {"cpuMilli", 96'000},
        {"memoryMib", 1'048'576}};
}

inline Json document_with(Json members) {
    members["version"] = 1;
    members["tenantId"] = "acme";
    return members;
}

// One of each kind, with a quota on what the document itself makes.
inline Json small_document() {
    return document_with(
        {{"pools",
          {{{"name", "h100"}, {"sharing", "fraction"}, {"nodeGroups", {group("n-[1-4]")}}}}},
         {"projects", {{{"name", "vision"}, {"labels", {{"tier", "gold"}}}}}},
         {"quotas",
          {{{"limits", {{"gpuMilli", 32'000}}}},
           {{"project", "vision"}, {"pool", "h100"}, {"limits", {{"gpuMilli", 8000}}}}}}}
    );
}

class Fleet : public ::testing::TestWithParam<store::Engine> {
protected:
    TestPlane plane{GetParam(), {capacity::capacity_module(), fleet_module()}};

    Json call(const std::string& path, Json input) {
        input["tenantId"] = "acme";
        return plane.call(path, TestPlane::root(), input);
    }
    Json export_document() { return call("fleet/export", Json::object()).at("document"); }
    Json plan(const Json& document, bool prune = false) {
        return plane.call("fleet/plan", TestPlane::root(), input_of(document, prune));
    }
    Json apply(const Json& document, bool prune = false) {
        return plane.call("fleet/apply", TestPlane::root(), input_of(document, prune));
    }
    ComputeError plan_error(const Json& document) {
        return plane.error_of("fleet/plan", TestPlane::root(), input_of(document, false));
    }
    ComputeError apply_error(Json input) {
        return plane.error_of("fleet/apply", TestPlane::root(), input);
    }
    static Json input_of(const Json& document, bool prune) {
        Json input{{"document", document}};
        if (prune) {
            input["prune"] = true;
        }
        return input;
    }
    static std::vector<std::string> paths(const Json& plan) {
        std::vector<std::string> out;
        for (const Json& planned : plan.at("calls")) {
            out.push_back(planned.at("path").get<std::string>());
        }
        return out;
    }
    Json pool_named(const std::string& name) {
        return call("pools/list", {{"name", name}}).at("items").at(0);
    }
    Json project_named(const std::string& name) {
        return call("projects/list", {{"name", name}}).at("items").at(0);
    }
    std::vector<std::string> event_types() {
        std::vector<std::string> out;
        for (const auto& event : plane.outbox()) {
            out.push_back(event.type);
        }
        return out;
    }
    void sql(const char* text, const store::Params& params = {}) {
        plane.database().write([&](store::Transaction& tx) { tx.execute(store::Sql(text), params); }
        );
    }
};

}  // namespace compute::fleet
