#include "modules/events/patterns.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "core/json.h"
#include "modules/events/body.h"

namespace compute::events {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(Patterns, MatchAtDots) {
    EXPECT_TRUE(pattern_matches("*", "anything.at.all"));
    EXPECT_TRUE(pattern_matches("node.*", "node.gpu.missing"));
    EXPECT_TRUE(pattern_matches("node.gpu.*", "node.gpu.missing"));
    EXPECT_FALSE(pattern_matches("node.*", "node"));
    EXPECT_FALSE(pattern_matches("node.*", "nodegroup.x"));
    EXPECT_FALSE(pattern_matches("node.*", "node."));
    EXPECT_TRUE(pattern_matches("node.lost", "node.lost"));
    EXPECT_FALSE(pattern_matches("node.lost", "node.lost.x"));
}

TEST(Patterns, UnknownOnesAreNamed) {
    const outbox::EventCatalog catalog({
        {"node", "node/{id}", "m", "d", {"node.lost", "node.gpu.missing"}},
        {"acme.widget", "widget/{id}", "acme", "d", {}},
    });

    EXPECT_THAT(
        unknown_patterns(
            {"*",
             "node.*",
             "node.gpu.*",
             "node.lost",
             "node.other",
             "acme.*",
             "acme.widget.*",
             "acme.widget.x.*"},
            catalog
        ),
        IsEmpty()
    );
    EXPECT_THAT(
        unknown_patterns(
            {"nodes.*", "node.cpu.*", "pool.made", "webhook.ping", "acme.gadget.*"}, catalog
        ),
        ElementsAre("nodes.*", "node.cpu.*", "pool.made", "webhook.ping", "acme.gadget.*")
    );
}

TEST(Body, HasItsMembersInOrderAndTakesDataByteByByte) {
    const std::string body = event_body({
        .id = "evt_1",
        .type = "node.lost",
        .tenant_id = "acme",
        .subject = "node/\"n\"",
        .time = 1'790'244'902'114,
        .sequence = "8.9",
        .data = R"({"b":1,"a":1.50})",
    });

    EXPECT_EQ(
        body,
        R"({"id":"evt_1","type":"node.lost","tenantId":"acme","subject":"node/\"n\"","time":"2026-09-24T10:15:02.114Z","sequence":"8.9","data":{"b":1,"a":1.50}})"
    );
    EXPECT_NO_THROW(static_cast<void>(parse_json(body)));
}

}  // namespace
}  // namespace compute::events
