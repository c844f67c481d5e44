// What can be judged from the configuration and the host alone.
#include <filesystem>
#include <set>

#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "config/checks.h"
#include "config/deployment_secret.h"
#include "crypto/certificate.h"
#include "crypto/crypto.h"
#include "doctor/disk.h"
#include "doctor/doctor.h"

namespace compute::doctor {

namespace {

using method::Finding;
using method::Severity;

constexpr std::size_t kMinDistinctCharacters = 8;
constexpr std::int64_t kDaySeconds = 86400;
constexpr std::int64_t kRenewSeconds = 14 * kDaySeconds;

// The same few characters again and again give no 32 characters of secret, whatever its length.
bool is_weak(std::string_view secret) {
    return std::set<char>(secret.begin(), secret.end()).size() < kMinDistinctCharacters;
}

bool is_open_to_others(const std::string& path) {
    struct stat info {};
    return ::stat(path.c_str(), &info) == 0 && (info.st_mode & (S_IRWXG | S_IRWXO)) != 0;
}

std::vector<Finding> check_secret(const config::Config& given, Clock& /*clock*/) {
    constexpr const char* kId = "core.secret";
    config::Config config = given;
    // Throws for a file that is too open or a secret that is too short: that is the finding.
    const auto resolved =
        config::resolve_secret(config, config::SecretNeed::Optional, crypto::system_rng());
    std::vector<Finding> findings;
    if (config.secret.empty()) {
        if (!config::find_database_file(config.database.url)) {
            findings.push_back(
                {kId,
                 Severity::Error,
                 "there is no deployment secret",
                 "set BETTER_COMPUTE_SECRET to at least 32 characters, the same for every process",
                 {},
                 {}}
            );
        }
        return findings;
    }
    std::size_t weak = is_weak(config.secret.reveal()) ? 1 : 0;
    for (const crypto::Secret& previous : config.previous_secrets) {
        weak += crypto::equal_constant_time(previous.reveal(), config.secret.reveal()) ? 1 : 0;
    }
    if (is_weak(config.secret.reveal())) {
        findings.push_back(
            {kId,
             Severity::Warning,
             "the deployment secret repeats few characters",
             "make another (openssl rand -hex 32), list this one in previous_secrets, then run "
             "better-compute secrets rotate",
             {},
             {}}
        );
    } else if (weak > 0) {
        findings.push_back(
            {kId,
             Severity::Warning,
             "the deployment secret is also listed as a previous one",
             "take it out of previous_secrets",
             {},
             {}}
        );
    }
    const std::string file = resolved.origin.substr(0, resolved.origin.rfind(':'));
    if (file != resolved.origin && is_open_to_others(file)) {
        findings.push_back(
            {kId,
             Severity::Warning,
             file + " holds the deployment secret and is open to other users",
             "run: chmod 600 " + file,
             {},
             {}}
        );
    }
    return findings;
}

std::vector<Finding> check_disk(const config::Config& config, Clock& /*clock*/) {
    const auto file = config::find_database_file(config.database.url);
    if (!file) {
        return {};
    }
    const std::filesystem::path folder = std::filesystem::path(*file).parent_path();
    Disk disk{.folder = folder.empty() ? "." : folder.string()};
    struct statvfs info {};
    if (::statvfs(disk.folder.c_str(), &info) == 0) {
        disk.free_bytes = static_cast<std::uintmax_t>(info.f_bavail) * info.f_frsize;
        disk.all_bytes = static_cast<std::uintmax_t>(info.f_blocks) * info.f_frsize;
    }
    std::error_code error;
    const std::uintmax_t wal_bytes = std::filesystem::file_size(*file + "-wal", error);
    disk.wal_bytes = error ? 0 : wal_bytes;
    return judge_disk(disk);
}

void check_certificate(const config::Config& config, Clock& clock, std::vector<Finding>& findings) {
    constexpr const char* kId = "core.listener";
    const auto expiry = crypto::find_certificate_expiry(config.tls.cert);
    if (!expiry) {
        findings.push_back(
            {kId,
             Severity::Warning,
             config.tls.cert + ": holds no certificate that can be read",
             "look at tls.cert",
             {},
             {}}
        );
        return;
    }
    const std::int64_t left = *expiry - clock.now_ms() / 1000;
    if (left <= 0) {
        findings.push_back(
            {kId,
             Severity::Warning,
             "the TLS certificate has expired on " + iso_time(*expiry * 1000),
             "renew it and send SIGHUP to serve",
             {},
             {}}
        );
    } else if (left < kRenewSeconds) {
        findings.push_back(
            {kId,
             Severity::Warning,
             "the TLS certificate expires in " + std::to_string(left / kDaySeconds) + " days",
             "renew it and send SIGHUP to serve",
             {},
             {}}
        );
    }
}

std::vector<Finding> check_listener(const config::Config& config, Clock& clock) {
    std::vector<Finding> findings;
    if (!config.tls.cert.empty()) {
        check_certificate(config, clock, findings);
    }
    const auto address = config::find_host_port(config.listen);
    if (config.tls.cert.empty() && !config.behind_proxy && address &&
        !config::is_loopback_host(address->host)) {
        findings.push_back(
            {"core.listener",
             Severity::Warning,
             config.listen + " is not loopback and has no TLS",
             "set tls.cert and tls.key, or behind_proxy when something in front ends TLS",
             {},
             {}}
        );
    }
    return findings;
}

std::vector<Finding> check_switches(const config::Config& config, Clock& /*clock*/) {
    constexpr const char* kId = "core.insecure-switches";
    std::vector<Finding> findings;
    if (config.events.allow_insecure) {
        findings.push_back(
            {kId,
             Severity::Warning,
             "events.allow_insecure is on: webhooks may go over plain http",
             "turn it off outside development",
             {},
             {}}
        );
    }
    if (config.events.allow_private) {
        findings.push_back(
            {kId,
             Severity::Warning,
             "events.allow_private is on: webhooks may reach private and loopback addresses",
             "turn it off outside development; open single networks with events.allow_cidrs",
             {},
             {}}
        );
    }
    if (!config.events.check_catalog) {
        findings.push_back(
            {kId,
             Severity::Info,
             "events.extra_events is false: mistyped event patterns are accepted",
             "list the families instead",
             {},
             {}}
        );
    }
    return findings;
}

}  // namespace

const std::vector<HostCheck>& host_checks() {
    static const std::vector<HostCheck> kChecks = {
        {"core.secret", check_secret},
        {"core.disk", check_disk},
        {"core.listener", check_listener},
        {"core.insecure-switches", check_switches},
    };
    return kChecks;
}

}  // namespace compute::doctor
