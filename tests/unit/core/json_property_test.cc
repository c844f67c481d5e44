#include <string>
#include <utility>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <rapidcheck.h>

#include "core/json.h"

namespace compute {
namespace {

Json random_value(int depth) {
    const int kind = *rc::gen::inRange(0, depth > 0 ? 7 : 5);
    switch (kind) {
        case 0:
            return nullptr;
        case 1:
            return *rc::gen::arbitrary<bool>();
        case 2:
            return *rc::gen::inRange<std::int64_t>(-9007199254740992, 9007199254740992);
        case 3:
            return *rc::gen::inRange(-1000, 1000) / 8.0;
        case 4:
            return *rc::gen::container<std::string>(rc::gen::inRange<char>(' ', 127));
        case 5: {
            Json list = Json::array();
            for (int i = *rc::gen::inRange(0, 4); i > 0; --i) {
                list.push_back(random_value(depth - 1));
            }
            return list;
        }
        default: {
            Json object = Json::object();
            for (int i = *rc::gen::inRange(0, 4); i > 0; --i) {
                object[*rc::gen::container<std::string>(rc::gen::inRange<char>(' ', 127))] =
                    random_value(depth - 1);
            }
            return object;
        }
    }
}

TEST(JsonProperty, CanonicalFormSurvivesParsing) {
    EXPECT_TRUE(rc::check([] {
        const Json value = random_value(4);

        const std::string canonical = canonical_json(value);

        RC_ASSERT(canonical_json(parse_json(canonical)) == canonical);
        RC_ASSERT(canonical_json(parse_json(value.dump(3))) == canonical);
    }));
}

TEST(JsonProperty, CompactTextIsTheLibrarysOwn) {
    EXPECT_TRUE(rc::check([] {
        Json value = random_value(4);
        value = Json{
            {"value", value}, {"\x7f\n\"\\", "\x01 \u00e9 \x7f"}, {"u", 18446744073709551615U}};

        RC_ASSERT(dump_json(value) == value.dump());
    }));
}

TEST(JsonProperty, NoInputDoesMoreThanParseOrThrowInvalidInput) {
    EXPECT_TRUE(rc::check([] {
        const auto text = *rc::gen::container<std::string>(rc::gen::elementOf(
            std::string("{}[]\",:\\u0d8e19.-+ntfalse\x80\xC3\xEF\xBB\xBF\0 ", 38)
        ));
        try {
            static_cast<void>(parse_json(text));
        } catch (const ComputeError& error) {
            RC_ASSERT(error.code() == ErrorCode::InvalidInput);
        }
    }));
}

}  // namespace
}  // namespace compute
