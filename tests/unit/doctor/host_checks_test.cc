// Checks that need no database.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "doctor/doctor.h"

#include "tests/support/fake_clock.h"

namespace compute::doctor {
namespace {

using method::Finding;
using method::Severity;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<Finding> findings_of(const std::string& id, const config::Config& config) {
    support::FakeClock clock;
    for (const HostCheck& check : host_checks()) {
        if (check.id == id) {
            return check.run(config, clock);
        }
    }
    throw std::runtime_error("no check " + id);
}

config::Config sound() {
    config::Config config;
    config.database.url = "postgres://h/d";
    config.secret = crypto::Secret("0123456789abcdef0123456789abcdef");
    return config;
}

TEST(SecretCheck, TellsAMissingAWeakAndADoubleOne) {
    config::Config config = sound();
    EXPECT_THAT(findings_of("core.secret", config), IsEmpty());

    config.previous_secrets = {config.secret};
    EXPECT_THAT(findings_of("core.secret", config).at(0).message, HasSubstr("also listed"));

    config.secret = crypto::Secret(std::string(64, 'a'));
    EXPECT_THAT(findings_of("core.secret", config).at(0).message, HasSubstr("repeats few"));

    config.secret = crypto::Secret();
    EXPECT_EQ(findings_of("core.secret", config).at(0).severity, Severity::Error);
}

TEST(SecretCheck, AnEmbeddedDatabaseBeforeItsFirstServeNeedsNone) {
    config::Config config = sound();
    config.secret = crypto::Secret();
    config.database.url = "sqlite:/nowhere/compute.db";

    EXPECT_THAT(findings_of("core.secret", config), IsEmpty());
}

TEST(ListenerCheck, OffLoopbackNeedsTlsOrAProxy) {
    config::Config config = sound();
    EXPECT_THAT(findings_of("core.listener", config), IsEmpty());

    config.listen = "0.0.0.0:8420";
    EXPECT_THAT(findings_of("core.listener", config).at(0).message, HasSubstr("not loopback"));

    config.behind_proxy = true;
    EXPECT_THAT(findings_of("core.listener", config), IsEmpty());
}

TEST(ListenerCheck, ACertificateThatCannotBeReadIsTold) {
    config::Config config = sound();
    config.tls = {"/nowhere/cert.pem", "/nowhere/key.pem"};

    EXPECT_THAT(findings_of("core.listener", config).at(0).message, HasSubstr("no certificate"));
}

TEST(SwitchCheck, EachOpenSwitchIsAWarning) {
    config::Config config = sound();
    EXPECT_THAT(findings_of("core.insecure-switches", config), IsEmpty());

    config.events.allow_insecure = true;
    config.events.allow_private = true;
    EXPECT_EQ(findings_of("core.insecure-switches", config).size(), 2U);
}

TEST(DiskCheck, PostgresHasItsOwnHost) {
    EXPECT_THAT(findings_of("core.disk", sound()), IsEmpty());
}

}  // namespace
}  // namespace compute::doctor
