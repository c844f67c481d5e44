#include "modules/events/operator/rotate_secrets.h"

#include <nlohmann/json.hpp>

#include "audit/audit.h"
#include "core/fail_point.h"
#include "modules/events/sealing.h"
#include "store/database.h"

namespace compute::events {
namespace {

constexpr int kBatch = 200;
constexpr const char* kRead =
    "select num, id, secret, previous_secret from webhooks where num > $1 order by num limit $2";
// Compares what was read, so that a rotation by the tenant in between wins.
constexpr const char* kWriteCurrent =
    "update webhooks set secret = $3 where num = $1 and secret = $2";
constexpr const char* kWritePrevious =
    "update webhooks set previous_secret = $3 where num = $1 and previous_secret = $2";

struct Change {
    const char* sql;
    std::int64_t num;
    std::string from;
    std::string to;
};

// Together with the rows it tells of: a process that dies before the commit has neither.
void write_audit(
    store::Transaction& tx,
    const method::Runtime& runtime,
    const iam::Caller& caller,
    std::int64_t resealed
) {
    audit::Entry entry;
    entry.caller = &caller;
    entry.tenant_id = TenantId(runtime.config.iam.root_tenant);
    entry.method = "secrets/rotate";
    entry.action = "compute:secrets:rotate";
    entry.resource = {runtime.config.iam.resource_prefix + iam::kFleetType, iam::kFleetId};
    entry.decision_reason = "operator of the deployment";
    entry.admission = std::make_shared<const Json>(Json{{"resealed", resealed}});
    entry.request_id = new_id("cli_", runtime.clock, runtime.rng);
    audit::append(tx, entry, runtime.clock, runtime.rng);
}

}  // namespace

RotateReport rotate_webhook_secrets(
    const method::Runtime& runtime,
    const iam::Caller& caller,
    RotateMode mode,
    const std::function<void(const RotateReport&)>& on_batch
) {
    if (runtime.config.secret.empty()) {
        throw invalid_config("secret: there is none to seal with");
    }
    const Sealer sealer(runtime.config.secret, runtime.config.previous_secrets);
    RotateReport report;
    std::int64_t last = 0;
    while (true) {
        const store::Rows rows = runtime.database.query(kRead, {last, kBatch});
        std::vector<Change> changes;
        const auto look_at = [&](const char* sql, const store::Row& row, const std::string& sealed
                             ) {
            const std::string& id = row.get_text(1);
            const auto secret = sealer.open(sealed, id);
            if (!secret) {
                ++report.unreadable;
                ++report.remaining;
            } else if (sealer.is_sealed_with_previous(sealed, id)) {
                if (mode == RotateMode::DryRun) {
                    ++report.remaining;
                } else {
                    changes.push_back(
                        {sql, row.get_int(0), sealed, sealer.seal(*secret, id, runtime.rng)}
                    );
                }
            }
        };
        for (const store::Row& row : rows) {
            last = row.get_int(0);
            look_at(kWriteCurrent, row, row.get_text(2));
            if (const auto previous = row.find_text(3)) {
                look_at(kWritePrevious, row, *previous);
            }
        }
        if (!changes.empty()) {
            report.resealed += runtime.database.write([&](store::Transaction& tx) {
                std::int64_t written = 0;
                for (const Change& change : changes) {
                    written += tx.execute(change.sql, {change.num, change.from, change.to});
                    fail_point("rotate-after-row");
                }
                if (written > 0) {
                    write_audit(tx, runtime, caller, written);
                }
                fail_point("rotate-before-commit");
                return written;
            });
            // Batches are apart. What a process that dies here has not reached still opens with
            // the previous secret, and the next run begins anew and passes over what is done.
            fail_point("rotate-after-commit");
        }
        if (on_batch) {
            on_batch(report);
        }
        if (rows.size() < kBatch) {
            return report;
        }
    }
}

}  // namespace compute::events
