#include "config/load.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "config/keys.h"

#include "tests/unit/config/temp_folder.h"

namespace compute::config {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Config load_text(
    const std::string& toml,
    std::map<std::string, std::string> environment = {},
    std::vector<FlagValue> flags = {}
) {
    const TempFolder folder;
    return load_config(
        {folder.write("better-compute.toml", toml), std::move(environment), std::move(flags)}
    );
}

// Message and hint of the refusal.
std::string refusal_of(
    const std::string& toml,
    std::map<std::string, std::string> environment = {},
    std::vector<FlagValue> flags = {}
) {
    try {
        static_cast<void>(load_text(toml, std::move(environment), std::move(flags)));
    } catch (const ComputeError& error) {
        EXPECT_EQ(error.code(), ErrorCode::InvalidConfig);
        return error.message() + " | " + error.hint();
    }
    return "taken";
}

TEST(LoadConfig, HasDefaultsForEverything) {
    const Config config = load_config({std::nullopt, {{"BETTER_COMPUTE_CONFIG", ""}}, {}});

    EXPECT_EQ(config.listen, "127.0.0.1:8420");
    EXPECT_THAT(config.roles, ElementsAre("api", "controllers"));
    EXPECT_EQ(config.origins.at("listen"), "default");
}

TEST(LoadConfig, LaterSourcesWin) {
    const std::string toml = "listen = \"127.0.0.1:1\"\n[limits]\nwaiting = 5\nconnections = 6\n";
    const std::map<std::string, std::string> environment = {
        {"BETTER_COMPUTE_LISTEN", "127.0.0.1:2"}, {"BETTER_COMPUTE_LIMITS_WAITING", "7"}};

    const Config config = load_text(toml, environment, {{"listen", "--listen", "127.0.0.1:3"}});

    EXPECT_EQ(config.listen, "127.0.0.1:3");
    EXPECT_EQ(config.limits.waiting, 7);
    EXPECT_EQ(config.limits.connections, 6);
    EXPECT_EQ(config.origins.at("listen"), "--listen");
    EXPECT_EQ(config.origins.at("limits.waiting"), "BETTER_COMPUTE_LIMITS_WAITING");
    EXPECT_THAT(config.origins.at("limits.connections"), HasSubstr("better-compute.toml:4"));
}

TEST(LoadConfig, ReadsTheWholeFileOfTheManual) {
    const Config config = load_text(R"(
listen = "0.0.0.0:8420"
behind_proxy = true
[database]
url = "postgres://compute@db/compute"
[events]
allow_cidrs = ["10.1.0.0/16"]
extra_events = [{type = "acme.widget.*", subject = "widget/{id}", module = "acme", description = "Widgets."}]
retention = false
[events.delivery]
backoff_seconds = [1, 2]
max_attempts = 5
[audit]
retention_days = 3650
[[plugins]]
path = "a.so"
[[plugins]]
path = "b.so"
)");

    EXPECT_EQ(config.database.url, "postgres://compute@db/compute");
    EXPECT_EQ(config.events.extra_events.at(0).module, "acme");
    EXPECT_FALSE(config.events.retention);
    EXPECT_THAT(config.events.delivery.backoff_seconds, ElementsAre(1, 2));
    EXPECT_EQ(config.audit_retention_days, 3650);
    EXPECT_THAT(config.plugins, ElementsAre("a.so", "b.so"));
}

TEST(LoadConfig, TakesRetentionAsATableToo) {
    const Config config = load_text("[events.retention]\ndelivered_days = 2\n");

    ASSERT_TRUE(config.events.retention);
    EXPECT_EQ(config.events.retention->delivered_days, 2);
    EXPECT_EQ(config.events.retention->dead_days, 90);
}

TEST(LoadConfig, ExtraEventsFalseTurnsTheCatalogCheckOff) {
    EXPECT_FALSE(load_text("[events]\nextra_events = false\n").events.check_catalog);
}

TEST(LoadConfig, RefusesAnUnknownKeyNamingLineAndNearest) {
    EXPECT_THAT(
        refusal_of("listen = \"127.0.0.1:1\"\n[events]\nalow_private = true\n"),
        HasSubstr("better-compute.toml:3: unknown key events.alow_private | did you mean "
                  "events.allow_private?")
    );
    EXPECT_THAT(refusal_of("[evnts]\n"), HasSubstr("better-compute.toml:1: unknown key evnts"));
    EXPECT_THAT(
        refusal_of("[events.delivery]\nx = 1\n"), HasSubstr("unknown key events.delivery.x")
    );
    EXPECT_THAT(refusal_of("events = 1\n"), HasSubstr("events: must be a table"));
}

TEST(LoadConfig, RefusesAnImpossibleValueNamingKeyAndLine) {
    EXPECT_THAT(
        refusal_of("\n[events.delivery]\nlimit = 0\n"),
        HasSubstr(
            "better-compute.toml:3: events.delivery.limit: must be a whole number from 1 to 1000"
        )
    );
    EXPECT_THAT(
        refusal_of("", {{"BETTER_COMPUTE_LISTEN", "nowhere"}}),
        HasSubstr("BETTER_COMPUTE_LISTEN: listen: must be HOST:PORT")
    );
    EXPECT_THAT(
        refusal_of("", {}, {{"roles", "--roles", "api,worker"}}),
        HasSubstr("--roles: roles: must name api")
    );
    EXPECT_THAT(refusal_of("listen = 2026-01-01\n"), HasSubstr("dates and times have no meaning"));
}

TEST(LoadConfig, RefusesWhatIsNoToml) {
    EXPECT_THAT(refusal_of("listen = \n"), HasSubstr("better-compute.toml:1: no valid TOML"));
    EXPECT_THAT(refusal_of("listen = \"a\"\nlisten = \"b\"\n"), HasSubstr("better-compute.toml:2"));
    EXPECT_THAT(refusal_of(std::string((1 << 20) + 1, '#')), HasSubstr("larger than 1 MiB"));
}

TEST(LoadConfig, RefusesAFileThatIsNotThere) {
    EXPECT_THROW(
        static_cast<void>(load_config({"/nowhere/better-compute.toml", {}, {}})), ComputeError
    );
    EXPECT_THROW(static_cast<void>(load_config({"/tmp", {}, {}})), ComputeError);
}

TEST(LoadConfig, RefusesWhatDoesNotGoTogether) {
    EXPECT_THAT(
        refusal_of("[tls]\ncert = \"a.pem\"\n"),
        HasSubstr("better-compute.toml:2: tls.cert: needs tls.key as well")
    );
    EXPECT_THAT(refusal_of("[tls]\nkey = \"a.pem\"\n"), HasSubstr("needs tls.cert as well"));
    EXPECT_THAT(
        refusal_of("[iam]\nmode = \"better-iam\"\n"), HasSubstr("needs iam.better_iam.url")
    );
    EXPECT_THAT(
        refusal_of("listen = \"127.0.0.1:1\"\nadmin_listen = \"127.0.0.1:1\"\n"),
        HasSubstr("must differ from listen")
    );
}

TEST(LoadConfig, RefusesAPasswordOnTheCommandLineOnly) {
    const std::string url = "postgres://u:hunter2@h/d";

    const std::string refusal = refusal_of("", {}, {{"database.url", "--database", url}});

    EXPECT_THAT(refusal, HasSubstr("PGPASSFILE"));
    EXPECT_EQ(refusal.find("hunter2"), std::string::npos);
    EXPECT_EQ(load_text("", {{"BETTER_COMPUTE_DATABASE_URL", url}}).database.url, url);
}

TEST(LoadConfig, AnEmptyVariableCountsAsAbsent) {
    EXPECT_EQ(
        load_text("listen = \"127.0.0.1:1\"\n", {{"BETTER_COMPUTE_LISTEN", ""}}).listen,
        "127.0.0.1:1"
    );
}

TEST(LoadConfig, VariablesOpenAndCloseReceivers) {
    EXPECT_TRUE(load_text("", {{"BETTER_COMPUTE_EVENTS_ALLOW_PRIVATE", "1"}}).events.allow_private);
    EXPECT_FALSE(load_text(
                     "[events]\nallow_private = true\n",
                     {{"BETTER_COMPUTE_EVENTS_ALLOW_PRIVATE", "0"}}
    ).events.allow_private);
}

TEST(LoadConfig, ARefusedSecretIsNotRepeated) {
    const std::string refusal = refusal_of("secret = \"hunter2\"\n");

    EXPECT_THAT(refusal, HasSubstr("secret: must be a string of at least 32 characters"));
    EXPECT_EQ(refusal.find("hunter2"), std::string::npos);
}

TEST(EffectiveConfig, MasksSecretsAndPasswords) {
    const std::string secret(40, 'q');
    const Config config = load_text(
        "secret = \"" + secret + "\"\nprevious_secrets = [\"" + secret +
        "\"]\n[database]\nurl = \"postgres://u:hunter2@h/d\"\n"
    );

    const std::string dump = effective_config(config).dump();

    EXPECT_EQ(dump.find(secret), std::string::npos);
    EXPECT_EQ(dump.find("hunter2"), std::string::npos);
    EXPECT_EQ(effective_config(config).size(), keys().size());
}

TEST(UnknownVariables, AreToldWithTheNearest) {
    const auto remarks = unknown_variables(
        {{"BETTER_COMPUTE_LISTN", "x"},
         {"BETTER_COMPUTE_TOKEN", "t"},
         {"HOME", "/"},
         {"BETTER_COMPUTE_ROLES", "api"}}
    );

    EXPECT_THAT(
        remarks,
        ElementsAre("BETTER_COMPUTE_LISTN means nothing; did you mean BETTER_COMPUTE_LISTEN?")
    );
}

}  // namespace
}  // namespace compute::config
