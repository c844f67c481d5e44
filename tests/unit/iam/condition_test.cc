// Every operator, as a table: what it says of a value, of no value, and of a value of another type.
#include "iam/local/condition.h"

#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/json.h"

namespace compute::iam::local {
namespace {

using ::testing::HasSubstr;

bool holds(const std::string& conditions, const std::string& resource) {
    const Json facts = Json::parse(resource);
    const Json principal = Json::parse(R"({"id":"alice","team":"vision","level":3})");
    const Json request =
        Json::parse(R"({"time":"2026-09-24T10:15:02.114Z","sourceIp":"10.1.2.3"})");
    for (const Condition& condition : Condition::parse_all(Json::parse(conditions), "conditions")) {
        if (!condition.holds(Facts{&principal, &facts, &request})) {
            return false;
        }
    }
    return true;
}

struct Case {
    const char* name;
    const char* conditions;
    const char* resource;
    bool holds;
};

void PrintTo(const Case& c, std::ostream* out) {
    *out << c.conditions << " over " << c.resource;
}

class Operator : public ::testing::TestWithParam<Case> {};

TEST_P(Operator, SaysWhatTheTableSays) {
    EXPECT_EQ(holds(GetParam().conditions, GetParam().resource), GetParam().holds);
}

constexpr Case kCases[] = {
    {"StringEquals", R"({"StringEquals":{"resource.a":"x"}})", R"({"a":"x"})", true},
    {"StringEqualsCase", R"({"StringEquals":{"resource.a":"x"}})", R"({"a":"X"})", false},
    {"StringEqualsAny", R"({"StringEquals":{"resource.a":["y","x"]}})", R"({"a":"x"})", true},
    {"StringEqualsMissing", R"({"StringEquals":{"resource.a":"x"}})", "{}", false},
    {"StringEqualsNumber", R"({"StringEquals":{"resource.a":"1"}})", R"({"a":1})", false},
    {"StringEqualsNull", R"({"StringEquals":{"resource.a":"x"}})", R"({"a":null})", false},
    {"StringEqualsNoGlob", R"({"StringEquals":{"resource.a":"x*"}})", R"({"a":"xy"})", false},
    {"StringNotEquals", R"({"StringNotEquals":{"resource.a":"x"}})", R"({"a":"y"})", true},
    {"StringNotEqualsAll",
     R"({"StringNotEquals":{"resource.a":["x","y"]}})",
     R"({"a":"y"})",
     false},
    {"StringNotEqualsAllDiffer",
     R"({"StringNotEquals":{"resource.a":["x","z"]}})",
     R"({"a":"y"})",
     true},
    {"StringNotEqualsMissing", R"({"StringNotEquals":{"resource.a":"x"}})", "{}", false},
    {"StringNotEqualsNumber", R"({"StringNotEquals":{"resource.a":"x"}})", R"({"a":1})", false},
    {"IgnoreCase", R"({"StringEqualsIgnoreCase":{"resource.a":"Abc"}})", R"({"a":"aBC"})", true},
    {"IgnoreCaseOther",
     R"({"StringEqualsIgnoreCase":{"resource.a":"Abc"}})",
     R"({"a":"abd"})",
     false},
    {"NotIgnoreCase",
     R"({"StringNotEqualsIgnoreCase":{"resource.a":"Abc"}})",
     R"({"a":"aBC"})",
     false},
    {"NotIgnoreCaseOther",
     R"({"StringNotEqualsIgnoreCase":{"resource.a":"Abc"}})",
     R"({"a":"x"})",
     true},
    {"NotIgnoreCaseMissing", R"({"StringNotEqualsIgnoreCase":{"resource.a":"Abc"}})", "{}", false},
    {"Like", R"({"StringLike":{"resource.a":"H?00*"}})", R"({"a":"H100-80"})", true},
    {"LikeAnchored", R"({"StringLike":{"resource.a":"100"}})", R"({"a":"H100"})", false},
    {"NotLike", R"({"StringNotLike":{"resource.a":["H*","A*"]}})", R"({"a":"B200"})", true},
    {"NotLikeOneMatches",
     R"({"StringNotLike":{"resource.a":["H*","A*"]}})",
     R"({"a":"A100"})",
     false},
    {"NotLikeMissing", R"({"StringNotLike":{"resource.a":"H*"}})", "{}", false},
    {"LikeIgnoreCase", R"({"StringLikeIgnoreCase":{"resource.a":"h*"}})", R"({"a":"H100"})", true},
    {"Bool", R"({"Bool":{"resource.a":true}})", R"({"a":true})", true},
    {"BoolOther", R"({"Bool":{"resource.a":true}})", R"({"a":false})", false},
    {"BoolText", R"({"Bool":{"resource.a":true}})", R"({"a":"true"})", false},
    {"BoolNumber", R"({"Bool":{"resource.a":true}})", R"({"a":1})", false},
    {"BoolMissing", R"({"Bool":{"resource.a":false}})", "{}", false},
    {"NumericEquals", R"({"NumericEquals":{"resource.a":[4,8]}})", R"({"a":8})", true},
    {"NumericEqualsFraction", R"({"NumericEquals":{"resource.a":0.5}})", R"({"a":0.5})", true},
    {"NumericEqualsText", R"({"NumericEquals":{"resource.a":8}})", R"({"a":"8"})", false},
    {"NumericNotEquals", R"({"NumericNotEquals":{"resource.a":[4,8]}})", R"({"a":2})", true},
    {"NumericNotEqualsOne", R"({"NumericNotEquals":{"resource.a":[4,8]}})", R"({"a":8})", false},
    {"NumericNotEqualsMissing", R"({"NumericNotEquals":{"resource.a":4}})", "{}", false},
    {"LessThan", R"({"NumericLessThan":{"resource.a":8}})", R"({"a":7.9})", true},
    {"LessThanEqual", R"({"NumericLessThan":{"resource.a":8}})", R"({"a":8})", false},
    {"LessThanEquals", R"({"NumericLessThanEquals":{"resource.a":8}})", R"({"a":8})", true},
    {"LessThanEqualsMore", R"({"NumericLessThanEquals":{"resource.a":8}})", R"({"a":9})", false},
    {"LessThanEqualsMissing", R"({"NumericLessThanEquals":{"resource.a":8}})", "{}", false},
    {"GreaterThan", R"({"NumericGreaterThan":{"resource.a":8}})", R"({"a":9})", true},
    {"GreaterThanEqual", R"({"NumericGreaterThan":{"resource.a":8}})", R"({"a":8})", false},
    {"GreaterThanEquals", R"({"NumericGreaterThanEquals":{"resource.a":8}})", R"({"a":8})", true},
    {"DateBefore", R"({"DateBefore":{"request.time":"2026-09-24T10:15:03Z"}})", "{}", true},
    {"DateBeforeSame",
     R"({"DateBefore":{"request.time":"2026-09-24T10:15:02.114Z"}})",
     "{}",
     false},
    {"DateAfter", R"({"DateAfter":{"request.time":"2026-09-24"}})", "{}", true},
    {"DateAfterOther", R"({"DateAfter":{"request.time":"2026-09-25"}})", "{}", false},
    {"DateNumber", R"({"DateBefore":{"resource.a":"2026-09-25"}})", R"({"a":5})", false},
    {"DateNoDate", R"({"DateBefore":{"resource.a":"2026-09-25"}})", R"({"a":"soon"})", false},
    {"DateVariable",
     R"({"DateBefore":{"request.time":"${resource.a}"}})",
     R"({"a":"2027-01-01"})",
     true},
    {"IpAddress",
     R"({"IpAddress":{"request.sourceIp":["192.0.2.0/24","10.0.0.0/8"]}})",
     "{}",
     true},
    {"IpAddressOther", R"({"IpAddress":{"request.sourceIp":"192.0.2.0/24"}})", "{}", false},
    {"IpAddressMapped",
     R"({"IpAddress":{"resource.a":"10.0.0.0/8"}})",
     R"({"a":"::ffff:10.1.1.1"})",
     true},
    {"IpAddressSix",
     R"({"IpAddress":{"resource.a":"2001:db8::/32"}})",
     R"({"a":"2001:db8::1"})",
     true},
    {"IpAddressNone", R"({"IpAddress":{"resource.a":"10.0.0.0/8"}})", R"({"a":"ten"})", false},
    {"NotIpAddress",
     R"({"NotIpAddress":{"request.sourceIp":["192.0.2.0/24","198.51.100.0/24"]}})",
     "{}",
     true},
    {"NotIpAddressOne",
     R"({"NotIpAddress":{"request.sourceIp":["192.0.2.0/24","10.0.0.0/8"]}})",
     "{}",
     false},
    {"NotIpAddressNone",
     R"({"NotIpAddress":{"resource.a":"10.0.0.0/8"}})",
     R"({"a":"ten"})",
     false},
    {"NotIpAddressMissing", R"({"NotIpAddress":{"resource.a":"10.0.0.0/8"}})", "{}", false},
    {"Contains", R"({"ArrayContains":{"resource.a":["x","y"]}})", R"({"a":["y","z"]})", true},
    {"ContainsNone", R"({"ArrayContains":{"resource.a":"x"}})", R"({"a":["y"]})", false},
    {"ContainsText", R"({"ArrayContains":{"resource.a":"x"}})", R"({"a":"x"})", false},
    {"ContainsVariable",
     R"({"ArrayContains":{"resource.a":"${principal.team}"}})",
     R"({"a":["vision"]})",
     true},
    {"ContainsAll",
     R"({"ArrayContainsAll":{"resource.a":["x","y"]}})",
     R"({"a":["y","x","z"]})",
     true},
    {"ContainsAllOne", R"({"ArrayContainsAll":{"resource.a":["x","y"]}})", R"({"a":["y"]})", false},
    {"ContainsAllMissing", R"({"ArrayContainsAll":{"resource.a":"x"}})", "{}", false},
    {"Exists", R"({"Exists":{"resource.a":true}})", R"({"a":0})", true},
    {"ExistsMissing", R"({"Exists":{"resource.a":true}})", "{}", false},
    {"ExistsNot", R"({"Exists":{"resource.a":false}})", "{}", true},
    {"ExistsNull", R"({"Exists":{"resource.a":false}})", R"({"a":null})", true},
    {"Variable",
     R"({"StringEquals":{"resource.a":"${principal.id}-1"}})",
     R"({"a":"alice-1"})",
     true},
    {"VariableIsLiteral",
     R"({"StringLike":{"principal.id":"${resource.a}"}})",
     R"({"a":"*"})",
     false},
    {"VariableUnresolved", R"({"StringNotEquals":{"principal.id":"${resource.a}"}})", "{}", false},
    {"VariableNumber", R"({"StringEquals":{"principal.id":"${principal.level}"}})", "{}", false},
    {"KeysAnd",
     R"({"StringEquals":{"resource.a":"x","resource.b":"y"}})",
     R"({"a":"x","b":"z"})",
     false},
    {"OperatorsAnd",
     R"({"StringEquals":{"resource.a":"x"},"Bool":{"resource.b":true}})",
     R"({"a":"x","b":true})",
     true},
    {"OperatorsAndOne",
     R"({"StringEquals":{"resource.a":"x"},"Bool":{"resource.b":true}})",
     R"({"a":"x","b":false})",
     false},
};
std::string case_name(const ::testing::TestParamInfo<Case>& info) {
    return info.param.name;
}
INSTANTIATE_TEST_SUITE_P(Table, Operator, ::testing::ValuesIn(kCases), case_name);

TEST(Conditions, ThereAreTwentyOneOperatorsAndTheTableKnowsEach) {
    std::set<std::string> tested;
    for (const Case& c : kCases) {
        const Json conditions = Json::parse(c.conditions);
        for (const auto& [name, keys] : conditions.items()) {
            tested.insert(name);
        }
    }

    EXPECT_EQ(operator_names().size(), 21U);
    for (const std::string_view name : operator_names()) {
        EXPECT_TRUE(tested.contains(std::string(name))) << name;
    }
}

struct Refusal {
    const char* conditions;
    const char* message;
};

TEST(Conditions, WhatTheFormatDoesNotAllowIsRefusedByPath) {
    constexpr Refusal kRefusals[] = {
        {R"({"StringIs":{"resource.a":"x"}})", "conditions.StringIs: unknown operator"},
        {R"({"StringEquals":{"pool.a":"x"}})",
         "conditions.StringEquals.pool.a: unknown key pool.a"},
        {R"({"StringEquals":{"request.userAgent":"x"}})", "unknown key request.userAgent"},
        {R"({"StringEquals":{"resource.a":5}})",
         "conditions.StringEquals.resource.a: must be a string"},
        {R"({"StringEquals":{"resource.a":["x",5]}})",
         "conditions.StringEquals.resource.a[1]: must be a string"},
        {R"({"StringEquals":{"resource.a":[]}})", "must have 1 to 128 values"},
        {R"({"StringEquals":{"resource.a":"${principal}"}})", "unknown key principal"},
        {R"({"StringEquals":{"resource.a":"${principal.id"}})", "has a ${ without its }"},
        {R"({"Bool":{"resource.a":"true"}})", "must be true or false"},
        {R"({"NumericEquals":{"resource.a":"5"}})", "must be a number"},
        {R"({"DateBefore":{"resource.a":"tomorrow"}})", "must be an ISO time"},
        {R"({"IpAddress":{"resource.a":"10.0.0.0/33"}})", "must be an address or a range"},
        {R"({"Exists":{"resource.a":"yes"}})", "must be true or false"},
        {R"({"StringEquals":{}})", "must be an object of context keys"},
        {R"([])", "conditions: must be an object"},
    };
    for (const Refusal& refusal : kRefusals) {
        try {
            (void)Condition::parse_all(Json::parse(refusal.conditions), "conditions");
            ADD_FAILURE() << refusal.conditions << " was taken";
        } catch (const ComputeError& error) {
            EXPECT_EQ(error.code(), ErrorCode::InvalidInput);
            EXPECT_THAT(error.message(), HasSubstr(refusal.message)) << refusal.conditions;
        }
    }
}

}  // namespace
}  // namespace compute::iam::local
