#include "modules/events/operator/rotate_secrets.h"

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

}  // namespace

RotateReport rotate_webhook_secrets(
    const method::Runtime& runtime,
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
                }
                return written;
            });
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
