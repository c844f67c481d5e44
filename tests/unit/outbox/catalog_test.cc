#include "outbox/catalog.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace compute::outbox {
namespace {

EventFamily family(std::string name, std::vector<std::string> types = {}) {
    return {
        .name = name,
        .subject = name + "/{id}",
        .module = "test",
        .description = "Of a test.",
        .types = std::move(types)};
}

std::string refusal(std::vector<EventFamily> families) {
    try {
        const EventCatalog catalog(std::move(families));
    } catch (const ComputeError& error) {
        EXPECT_EQ(error.code(), ErrorCode::InvalidConfig);
        return error.message();
    }
    return "";
}

TEST(EventCatalog, SortsFamiliesByName) {
    const EventCatalog catalog({family("pool"), family("instance")});

    EXPECT_EQ(catalog.families().at(0).name, "instance");
    EXPECT_EQ(catalog.families().at(1).name, "pool");
}

TEST(EventCatalog, FindsTheLongestFamilyThatEndsAtADot) {
    const EventCatalog catalog({family("acme"), family("acme.widget"), family("pool")});

    EXPECT_EQ(catalog.find_family("acme.widget.made")->name, "acme.widget");
    EXPECT_EQ(catalog.find_family("acme.widgets.made")->name, "acme");
    EXPECT_EQ(catalog.find_family("pool.created")->name, "pool");
    EXPECT_EQ(catalog.find_family("pools.created"), nullptr);
    EXPECT_EQ(catalog.find_family("pool"), nullptr);
    EXPECT_EQ(catalog.find_family(".pool"), nullptr);
    EXPECT_EQ(catalog.find_family(""), nullptr);
}

TEST(EventCatalog, EmitsOnlyListedTypesOfAFamilyThatListsThem) {
    const EventCatalog catalog({family("pool", {"pool.created"}), family("acme.widget")});

    EXPECT_TRUE(catalog.is_emittable("pool.created"));
    EXPECT_FALSE(catalog.is_emittable("pool.exploded"));
    EXPECT_TRUE(catalog.is_emittable("acme.widget.anything"));
    EXPECT_FALSE(catalog.is_emittable("acme.widget."));
    EXPECT_FALSE(catalog.is_emittable("other.created"));
}

TEST(EventCatalog, RefusesAFamilyDeclaredTwice) {
    EXPECT_EQ(refusal({family("pool"), family("pool")}), "event family: 'pool' is declared twice");
}

TEST(EventCatalog, RefusesMalformedNames) {
    for (const char* name : {"", ".", "pool.", ".pool", "po ol", "pool.*", "1pool", "a..b"}) {
        EXPECT_THAT(refusal({family(name)}), ::testing::HasSubstr("is not a name")) << name;
    }
}

TEST(EventCatalog, RefusesATypeOutsideOfItsFamily) {
    EXPECT_THAT(
        refusal({family("pool", {"pools.created"})}), ::testing::HasSubstr("'pools.created'")
    );
    EXPECT_THAT(refusal({family("pool", {"pool.*"})}), ::testing::HasSubstr("'pool.*'"));
}

}  // namespace
}  // namespace compute::outbox
