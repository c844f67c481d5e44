// What a fleet document may say.
#include "tests/unit/modules/fleet/fleet_rig.h"

namespace compute::fleet {
namespace {

using ::testing::HasSubstr;

class FleetDocument : public Fleet {
protected:
    void expect_refusal(const Json& document, const std::string& message) {
        const ComputeError error = plan_error(document);
        EXPECT_EQ(error.code(), ErrorCode::InvalidInput) << document;
        EXPECT_THAT(error.message(), HasSubstr(message)) << document;
    }
    void expect_bad_pool(const Json& members, const std::string& message) {
        Json pool{{"name", "p"}};
        pool.update(members);
        expect_refusal(document_with({{"pools", {pool}}}), message);
    }
};

INSTANTIATE_TEST_SUITE_P(Engines, FleetDocument, support::both_engines(), support::engine_name);

TEST_P(FleetDocument, IsStrict) {
    expect_refusal({{"version", 1}}, "document.tenantId: Required");
    expect_refusal({{"version", 2}, {"tenantId", "acme"}}, "document.version: ");
    expect_refusal(document_with({{"nodes", Json::array()}}), "Unknown field document.nodes");
    expect_refusal(
        document_with({{"pools", {{{"name", "p"}, {"size", 1}}}}}),
        "Unknown field document.pools[0].size"
    );
    expect_refusal(document_with({{"projects", {{{"id", "x"}}}}}), "document.projects[0]");
    expect_refusal(
        document_with({{"quotas", {{{"project", "p"}}}}}), "document.quotas[0].limits: Required"
    );
}

TEST_P(FleetDocument, APoolIsHeldToTheBoundsOfPoolsCreate) {
    expect_bad_pool({{"maxDurationSeconds", 59}}, "pools[0].maxDurationSeconds");
    expect_bad_pool({{"fractionStepMilli", 300}}, "pools[0].fractionStepMilli: must be 50, 100");
    expect_bad_pool(
        {{"lostAfterSeconds", 60}, {"disconnectedAfterSeconds", 21}}, "pools[0].lostAfterSeconds"
    );
    expect_bad_pool({{"sharedWith", {"acme"}}}, "pools[0].sharedWith");
    expect_bad_pool({{"nodeGroups", {group("n-[3-1]")}}}, "pools[0].nodeGroups[0].names");
    expect_bad_pool(
        {{"nodeGroups", {group("n-[1-3]"), group("n-3")}}}, "node n-3 is already in nodeGroups[0]"
    );
}

TEST_P(FleetDocument, NamesOneThingOnce) {
    expect_refusal(
        document_with({{"pools", {{{"name", "p"}}, {{"name", "q"}}, {{"name", "p"}}}}}),
        "pools[2]: is the same as pools[0]"
    );
    expect_refusal(
        document_with({{"projects", {{{"name", "p"}}, {{"name", "p"}}}}}),
        "projects[1]: is the same as projects[0]"
    );
    expect_refusal(
        document_with(
            {{"pools", {{{"name", "p"}}}},
             {"quotas",
              {{{"pool", "p"}, {"limits", Json::object()}},
               {{"pool", "acme/p"}, {"limits", Json::object()}}}}}
        ),
        "quotas[1]: is the same as quotas[0]"
    );
}

TEST_P(FleetDocument, AQuotaIsNarrowedOnce) {
    expect_refusal(
        document_with(
            {{"quotas", {{{"pool", "p"}, {"gpuModel", "H100"}, {"limits", Json::object()}}}}}
        ),
        "quotas[0].gpuModel: cannot be combined with pool"
    );
    expect_refusal(
        document_with({{"quotas", {{{"gpuModel", "H100"}, {"limits", {{"tunnels", 1}}}}}}}),
        "quotas[0].limits.tunnels"
    );
}

TEST_P(FleetDocument, WhatIsNotServedIsUnsupportedByName) {
    EXPECT_NO_THROW(
        plan(document_with({{"volumes", Json::array()}, {"sandboxTemplates", Json::array()}}))
    );
    for (const char* member : {"volumes", "sandboxTemplates"}) {
        const ComputeError error = plan_error(document_with({{member, {{{"name", "x"}}}}}));
        EXPECT_EQ(error.code(), ErrorCode::Unsupported);
        EXPECT_THAT(error.message(), HasSubstr(member));
    }
}

TEST_P(FleetDocument, IsAtMost64KiB) {
    const auto document = [](std::size_t size) {
        Json projects = Json::array();
        for (int i = 0; i < 120; ++i) {
            projects.push_back(
                {{"name", "p-" + std::to_string(i)}, {"description", std::string(500, 'd')}}
            );
        }
        Json out = document_with({{"projects", projects}});
        const std::size_t missing = size - out.dump().size();
        Json fill = {{"name", "z"}, {"labels", Json::object()}};
        for (int i = 0; i < 20; ++i) {
            fill["labels"]["k" + std::to_string(i)] = std::string(128, 'l');
        }
        out["projects"].push_back(fill);
        const std::size_t over = out.dump().size() - size;
        EXPECT_GT(missing, 0U);
        // What the filler has too much comes off the descriptions.
        std::size_t left = over;
        for (Json& project : out["projects"]) {
            if (left == 0 || !project.contains("description")) {
                break;
            }
            const std::size_t cut = std::min<std::size_t>(left, 499);
            project["description"] = std::string(500 - cut, 'd');
            left -= cut;
        }
        return out;
    };
    const Json fits = document(65'536);
    ASSERT_EQ(fits.dump().size(), 65'536U);
    EXPECT_NO_THROW(plan(fits));
    const Json too_large = document(65'537);
    ASSERT_EQ(too_large.dump().size(), 65'537U);
    expect_refusal(too_large, "document: must be at most 65536 bytes");
}

TEST_P(FleetDocument, DeclaresAtMost65536Nodes) {
    Json pools = Json::array();
    for (int i = 0; i < 2; ++i) {
        Json groups = Json::array();
        for (int g = 0; g < 8; ++g) {
            groups.push_back(group("a" + std::to_string(g) + "-[0000-4095]", 0));
        }
        pools.push_back({{"name", "p" + std::to_string(i)}, {"nodeGroups", groups}});
    }
    EXPECT_NO_THROW(plan(document_with({{"pools", pools}})));
    pools.push_back({{"name", "q"}, {"nodeGroups", {group("b", 0)}}});
    expect_refusal(document_with({{"pools", pools}}), "must declare at most 65536 nodes in all");
}

TEST_P(FleetDocument, TakesAtMost500Calls) {
    const auto projects = [](int count) {
        Json list = Json::array();
        for (int i = 0; i < count; ++i) {
            list.push_back({{"name", "p" + std::to_string(i)}});
        }
        return document_with({{"projects", list}});
    };
    EXPECT_EQ(plan(projects(500)).at("calls").size(), 500U);
    expect_refusal(projects(501), "takes 501 calls; at most 500 at once");
}

TEST_P(FleetDocument, IsDecidedOnTheFleetInTheRootTenant) {
    plane.iam.clear();
    (void)export_document();
    (void)plan(small_document());

    for (const auto& asked : plane.iam.calls()) {
        if (asked.what != "auth") {
            EXPECT_EQ(asked.tenant, "root");
            EXPECT_EQ(asked.action, "compute:fleet:read");
            EXPECT_EQ(asked.resource, (iam::ResourceRef{"compute-fleet", "global"}));
        }
    }
    EXPECT_GT(plane.iam.count("authorize"), 0);
}

}  // namespace
}  // namespace compute::fleet
