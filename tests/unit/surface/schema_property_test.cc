// The comparison against the meaning of schemas: a value that was accepted and is refused now must
// have been reported, and a change that only widens must not be.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <rapidcheck.h>

#include "core/json.h"
#include "surface/schema_accepts.h"
#include "surface/schema_compare.h"

namespace compute::surface {
namespace {

int number(int low, int high) {
    return *rc::gen::inRange(low, high);
}
bool coin() {
    return *rc::gen::arbitrary<bool>();
}
std::string word() {
    return *rc::gen::element<std::string>("", "a", "b", "ab", "abc", "abcd");
}
std::string field_name() {
    return *rc::gen::element<std::string>("a", "b", "c");
}

Json random_value(int depth) {
    switch (number(0, depth > 0 ? 6 : 4)) {
        case 0:
            return nullptr;
        case 1:
            return coin();
        case 2:
            return number(-3, 7);
        case 3:
            return word();
        case 4: {
            Json list = Json::array();
            for (int i = number(0, 4); i > 0; --i) {
                list.push_back(random_value(depth - 1));
            }
            return list;
        }
        default: {
            Json object = Json::object();
            for (int i = number(0, 4); i > 0; --i) {
                object[field_name()] = random_value(depth - 1);
            }
            return object;
        }
    }
}

void maybe(Json& schema, const char* keyword, Json value) {
    if (coin()) {
        schema[keyword] = std::move(value);
    }
}

Json random_schema(int depth);

Json random_object(int depth) {
    Json schema{{"type", "object"}};
    for (int i = number(0, 3); i > 0; --i) {
        schema["properties"][field_name()] = random_schema(depth - 1);
    }
    if (coin()) {
        schema["required"] = Json::array({field_name()});
    }
    switch (number(0, 4)) {
        case 0:
            break;
        case 1:
            schema["additionalProperties"] = random_schema(depth - 1);
            break;
        default:
            schema["additionalProperties"] = false;
    }
    if (number(0, 4) == 0) {
        schema["propertyNames"] = Json{{"maxLength", number(0, 2)}};
    }
    if (number(0, 4) == 0) {
        schema["maxProperties"] = number(0, 3);
    }
    return schema;
}

Json random_schema(int depth) {
    switch (number(0, depth > 0 ? 9 : 6)) {
        case 0:
            return Json::object();
        case 1:
            return Json{
                {"type",
                 *rc::gen::element<std::string>("null", "boolean", "string", "integer", "number")}};
        case 2: {
            Json schema{{"type", "integer"}};
            maybe(schema, "minimum", number(-3, 3));
            maybe(schema, "maximum", number(2, 7));
            maybe(schema, "multipleOf", number(1, 4));
            return schema;
        }
        case 3: {
            Json schema{{"type", coin() ? Json("string") : Json{"string", "null"}}};
            maybe(schema, "minLength", number(0, 3));
            maybe(schema, "maxLength", number(1, 5));
            if (number(0, 4) == 0) {
                schema["pattern"] = coin() ? "^a" : "b";
            }
            return schema;
        }
        case 4: {
            Json choices = Json::array();
            for (int i = number(1, 4); i > 0; --i) {
                choices.push_back(coin() ? Json(word()) : random_value(0));
            }
            return Json{{"enum", choices}};
        }
        case 5:
            return Json{
                {"type", {"integer", "string"}},
                {"maximum", number(0, 6)},
                {"maxLength", number(0, 4)}};
        case 6: {
            Json schema{{"type", "array"}};
            maybe(schema, "items", random_schema(depth - 1));
            maybe(schema, "maxItems", number(0, 4));
            maybe(schema, "minItems", number(0, 2));
            maybe(schema, "uniqueItems", coin());
            return schema;
        }
        case 7:
            return Json{{"anyOf", {random_schema(depth - 1), random_schema(depth - 1)}}};
        default:
            return random_object(depth);
    }
}

// A small change anywhere, so that both directions are tried on schemas that are close.
Json mutated(const Json& schema, int depth) {
    if (!schema.is_object() || schema.empty() || number(0, 5) == 0) {
        return random_schema(depth);
    }
    Json out = schema;
    auto at = out.begin();
    std::advance(at, number(0, static_cast<int>(out.size())));
    const std::string keyword = at.key();
    if (at->is_number_integer()) {
        *at = std::max(keyword == "multipleOf" ? 1 : -5, at->get<int>() + number(-2, 3));
    } else if (keyword == "properties" && !at->empty()) {
        auto property = at->begin();
        std::advance(property, number(0, static_cast<int>(at->size())));
        *property = mutated(*property, depth - 1);
    } else if (keyword == "items" || keyword == "additionalProperties") {
        *at = mutated(*at, depth - 1);
    } else if (keyword == "anyOf") {
        (*at)[0] = mutated((*at)[0], depth - 1);
    } else {
        out.erase(keyword);
    }
    return out;
}

TEST(SchemaProperty, WhatIsRefusedNowHasBeenReported) {
    const bool holds = rc::check("accepted before, refused after => breaking", [] {
        // Many schemas per case: most pairs say nothing.
        for (int round = 0; round < 30; ++round) {
            const Json before = random_schema(2);
            const Json after = number(0, 4) > 0 ? mutated(before, 2) : random_schema(2);
            if (!is_widening(before, after)) {
                continue;
            }
            for (int i = 0; i < 30; ++i) {
                const Json value = random_value(2);
                if (schema_accepts(before, value) && !schema_accepts(after, value)) {
                    RC_FAIL(
                        "value " + dump_json(value) + " of " + dump_json(before) +
                        " is refused by " + dump_json(after)
                    );
                }
            }
        }
    });
    EXPECT_TRUE(holds);
}

// One step that can only widen.
Json widened(const Json& schema) {
    if (!schema.is_object() || schema.empty()) {
        return schema;
    }
    Json out = schema;
    for (const char* keyword : {"maximum", "maxLength", "maxItems", "maxProperties"}) {
        if (out.contains(keyword) && coin()) {
            out[keyword] = out[keyword].get<int>() + 1;
        }
    }
    for (const char* keyword : {"minimum", "minLength", "minItems"}) {
        if (out.contains(keyword) && coin()) {
            out[keyword] = out[keyword].get<int>() - 1;
        }
    }
    for (const char* keyword : {"pattern", "required", "uniqueItems", "propertyNames"}) {
        if (coin()) {
            out.erase(keyword);
        }
    }
    if (out.contains("enum")) {
        out["enum"].push_back("new");
    }
    if (out.contains("items")) {
        out["items"] = widened(out["items"]);
    }
    if (out.contains("properties")) {
        for (Json& property : out["properties"]) {
            property = widened(property);
        }
    }
    if (out.contains("additionalProperties") && out["additionalProperties"] == false) {
        out["properties"]["brandnew"] = Json{{"type", "string"}};
    }
    if (out.contains("anyOf")) {
        out["anyOf"].push_back(Json{{"type", "boolean"}});
    }
    return out;
}

TEST(SchemaProperty, AWideningIsNotReported) {
    const bool holds = rc::check("widened => no breaking change", [] {
        for (int round = 0; round < 30; ++round) {
            const Json before = random_schema(2);
            const Json after = widened(before);
            Comparison comparison;
            compare_schemas(before, after, "", "", comparison);
            if (!comparison.is_ok()) {
                RC_FAIL(
                    comparison_text(comparison) + dump_json(before) + " to " + dump_json(after)
                );
            }
        }
    });
    EXPECT_TRUE(holds);
}

TEST(SchemaProperty, ASchemaWidensItself) {
    EXPECT_TRUE(rc::check("reflexive", [] {
        const Json schema = random_schema(3);
        RC_ASSERT(is_widening(schema, schema));
    }));
}

}  // namespace
}  // namespace compute::surface
