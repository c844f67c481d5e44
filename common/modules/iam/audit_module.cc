#include "modules/iam/audit_module.h"

#include <limits>

#include <nlohmann/json.hpp>

#include "audit/audit.h"
#include "audit/prune.h"

namespace compute::iam_methods {
namespace {

using method::CheckContext;
using method::Finding;
using method::Severity;
using Again = std::optional<std::chrono::milliseconds>;

constexpr const char* kCheck = "core.audit-seals";
// Often, so that a new hour is noticed soon; what is due is judged by the hour.
constexpr std::chrono::milliseconds kSealInterval{60'000};
constexpr std::chrono::milliseconds kPruneInterval{3'600'000};
constexpr std::chrono::milliseconds kPruneAgain{1'000};
constexpr double kDayMs = 86'400'000;

constexpr audit::Position kHighest{
    std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::max()};

EpochMs days(double count) {
    return static_cast<EpochMs>(count * kDayMs);
}

Again run_seal(const method::Runtime& runtime) {
    Again again;
    with_seal_tools(runtime, [&](const audit::SealTools& tools) {
        if (audit::seal_due(tools).is_full) {
            again = std::chrono::milliseconds(0);
        }
    });
    return again;
}

Again run_prune(const method::Runtime& runtime) {
    Again again;
    if (const auto keep = runtime.config.audit_retention_days) {
        with_seal_tools(runtime, [&](const audit::SealTools& tools) {
            const EpochMs before = runtime.clock.now_ms() - days(*keep);
            if (audit::prune_rows(tools, before) >= audit::kPruneRows) {
                again = kPruneAgain;
            }
        });
    }
    return again;
}

// What the check looks at, of one moment.
struct Seen {
    std::optional<EpochMs> oldest_unsealed;
    std::optional<EpochMs> oldest_kept;
    std::vector<audit::Key> keys;
};

Seen look(CheckContext& context) {
    std::optional<crypto::SecretBox> box;
    if (!context.config.secret.empty()) {
        box.emplace(audit::make_key_box(context.config.secret, context.config.previous_secrets));
    }
    return context.database.read([&](store::Transaction& tx) {
        Seen seen;
        const audit::SealState state = audit::read_seal_state(tx);
        for (const auto& record : audit::read_records(tx, {state.end(), kHighest, 1})) {
            seen.oldest_unsealed = record.time();
        }
        for (const auto& record : audit::read_records(tx, {state.pruned, state.end(), 1})) {
            seen.oldest_kept = record.time();
        }
        if (box) {  // without a secret core.secret has its say
            seen.keys = audit::read_keys(tx, &*box);
        }
        return seen;
    });
}

Finding unreadable_key(const std::string& id) {
    return {
        kCheck,
        Severity::Error,
        "no configured secret opens key " + id + " of the audit trail; nothing is sealed",
        "list the secret it was sealed under in previous_secrets; when that is lost: "
        "better-compute audit key --replace",
        {},
        {}};
}

Finding lost_key(const std::string& id) {
    return {
        kCheck,
        Severity::Info,
        "no configured secret opens key " + id +
            " of the audit trail, which was replaced; only its public key vouches for what it "
            "signed",
        "name it when you verify: better-compute audit verify --key KEY",
        {},
        {}};
}

void judge_keys(const std::vector<audit::Key>& keys, std::vector<Finding>& findings) {
    for (const audit::Key& key : keys) {
        const bool is_in_use = &key == &keys.back();
        switch (key.trust) {
            case audit::KeyTrust::Vouched:
                break;
            case audit::KeyTrust::Previous:
                findings.push_back(
                    {kCheck,
                     Severity::Warning,
                     "key " + key.id + " of the audit trail is sealed under a previous secret",
                     "better-compute secrets rotate",
                     {},
                     {}}
                );
                break;
            case audit::KeyTrust::Unreadable:
                findings.push_back(is_in_use ? unreadable_key(key.id) : lost_key(key.id));
                break;
            case audit::KeyTrust::Forged:
                findings.push_back(
                    {kCheck,
                     Severity::Error,
                     "the public key of key " + key.id + " of the audit trail was changed",
                     "better-compute audit verify",
                     {},
                     {}}
                );
                break;
        }
    }
}

std::vector<Finding> check_seals(CheckContext& context) {
    const Seen seen = look(context);
    const EpochMs now = context.clock.now_ms();
    std::vector<Finding> findings;
    judge_keys(seen.keys, findings);
    if (seen.oldest_unsealed && now - *seen.oldest_unsealed > kSealLagMs) {
        findings.push_back(
            {kCheck,
             Severity::Warning,
             "an audit row of " + iso_time(*seen.oldest_unsealed) + " is in no checkpoint yet",
             "start a process with the controllers role, or look for a long transaction: "
             "better-compute doctor --check core.long-transactions",
             {},
             {}}
        );
    }
    const auto keep = context.config.audit_retention_days;
    if (keep && seen.oldest_kept && now - *seen.oldest_kept > days(*keep) + kAuditPruneBehindMs) {
        findings.push_back(
            {kCheck,
             Severity::Warning,
             "audit rows are two days past audit.retention_days",
             "usually no process runs audit.prune: start better-compute serve --roles controllers",
             {},
             {}}
        );
    }
    return findings;
}

}  // namespace

void with_seal_tools(
    const method::Runtime& runtime, const std::function<void(const audit::SealTools&)>& use
) {
    const crypto::SecretBox box =
        audit::make_key_box(runtime.config.secret, runtime.config.previous_secrets);
    use({runtime.database, box, runtime.clock, runtime.rng, runtime.log});
}

audit::Resealed rotate_audit_keys(
    const method::Runtime& runtime, const iam::Caller& caller, audit::ResealMode mode
) {
    const crypto::SecretBox box =
        audit::make_key_box(runtime.config.secret, runtime.config.previous_secrets);
    return runtime.database.write([&](store::Transaction& tx) {
        const audit::Resealed report = audit::reseal_keys(tx, box, mode, runtime.rng);
        if (report.resealed > 0) {
            audit::Entry entry;
            entry.caller = &caller;
            entry.tenant_id = TenantId(runtime.config.iam.root_tenant);
            entry.method = "secrets/rotate";
            entry.action = "compute:secrets:rotate";
            entry.resource = {runtime.config.iam.resource_prefix + iam::kFleetType, iam::kFleetId};
            entry.decision_reason = "operator of the deployment";
            entry.admission = std::make_shared<const Json>(Json{{"auditKeys", report.resealed}});
            entry.request_id = new_id("cli_", runtime.clock, runtime.rng);
            audit::append(tx, entry, runtime.clock, runtime.rng);
        }
        return report;
    });
}

method::Module audit_module() {
    method::Module module;
    module.id = "audit";
    module.reconcilers = {
        {"audit.seal", kSealInterval, {}, run_seal},
        {"audit.prune", kPruneInterval, {}, run_prune},
    };
    module.checks = {{kCheck, check_seals}};
    return module;
}

}  // namespace compute::iam_methods
