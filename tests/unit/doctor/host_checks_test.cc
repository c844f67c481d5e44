// Checks that need no database.
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "crypto/certificate.h"
#include "doctor/disk.h"
#include "doctor/doctor.h"
#include "doctor/transactions.h"

#include "tests/support/fake_clock.h"
#include "tests/support/temp_folder.h"
#include "tests/support/test_certificates.h"

namespace compute::doctor {
namespace {

using method::Finding;
using method::Severity;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<Finding> findings_of(
    const std::string& id, const config::Config& config, EpochMs now = 0
) {
    support::FakeClock clock;
    clock.set(now);
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

TEST(ListenerCheck, ACertificateIsToldOfFourteenDaysBeforeItsEnd) {
    const support::TempFolder folder;
    config::Config config = sound();
    config.tls = {folder.path() + "/cert.pem", folder.path() + "/key.pem"};
    const support::TestAuthority authority;
    std::ofstream(config.tls.cert) << authority.issue().chain;
    const EpochMs end = *crypto::find_certificate_expiry(config.tls.cert) * 1000;
    constexpr EpochMs kFourteenDays = 14LL * 86'400'000;

    EXPECT_THAT(findings_of("core.listener", config, end - kFourteenDays), IsEmpty());
    EXPECT_THAT(
        findings_of("core.listener", config, end - kFourteenDays + 1000).at(0).message,
        HasSubstr("expires in 13 days")
    );
    EXPECT_THAT(
        findings_of("core.listener", config, end - 1000).at(0).message,
        HasSubstr("expires in 0 days")
    );
    EXPECT_THAT(findings_of("core.listener", config, end).at(0).message, HasSubstr("has expired"));
}

TEST(SwitchCheck, EachOpenSwitchIsAWarning) {
    config::Config config = sound();
    EXPECT_THAT(findings_of("core.insecure-switches", config), IsEmpty());

    config.events.allow_insecure = true;
    config.events.allow_private = true;
    EXPECT_EQ(findings_of("core.insecure-switches", config).size(), 2U);
}

TEST(DiskCheck, RoomIsShortBelowAGibibyteAndATenth) {
    const auto judged = [](std::uintmax_t free_bytes, std::uintmax_t all_bytes) {
        return judge_disk(Disk{"/srv", free_bytes, all_bytes, 0}).size();
    };

    EXPECT_EQ(judged(kMinFreeBytes, kMinFreeBytes * 100), 0U);
    EXPECT_EQ(judged(kMinFreeBytes - 1, kMinFreeBytes * 100), 1U);
    EXPECT_EQ(judged(100, 1000), 0U) << "a tenth of a small disk";
    EXPECT_EQ(judged(99, 1000), 1U);
}

TEST(DiskCheck, AWriteAheadLogIsLargeAbove256Mebibytes) {
    const support::TempFolder folder;
    config::Config config = sound();
    config.database.url = "sqlite:" + folder.path() + "/compute.db";
    const std::string wal = folder.path() + "/compute.db-wal";
    std::ofstream(wal).put('w');

    std::filesystem::resize_file(wal, kMaxWalBytes);
    EXPECT_THAT(findings_of("core.disk", config), IsEmpty());
    std::filesystem::resize_file(wal, kMaxWalBytes + 1);
    EXPECT_THAT(findings_of("core.disk", config).at(0).message, HasSubstr("256 MiB"));
}

TEST(TransactionCheck, OneIsLongAfterFiveMinutes) {
    const auto judged = [](std::int64_t age_ms) {
        return judge_transactions({{42, age_ms, "fleet", "psql", "idle in transaction"}});
    };

    EXPECT_THAT(judged(299'000), IsEmpty());
    EXPECT_THAT(judged(kLongTransactionMs), IsEmpty());
    const auto findings = judged(301'000);
    ASSERT_EQ(findings.size(), 1U);
    EXPECT_EQ(findings[0].severity, Severity::Warning);
    EXPECT_THAT(
        findings[0].message, HasSubstr("pid 42 (psql, idle in transaction, database fleet)")
    );
    EXPECT_THAT(findings[0].fix, HasSubstr("pg_terminate_backend(42)"));
}

TEST(DiskCheck, PostgresHasItsOwnHost) {
    EXPECT_THAT(findings_of("core.disk", sound()), IsEmpty());
}

}  // namespace
}  // namespace compute::doctor
