#include "iam/denial_log.h"

#include <iterator>
#include <utility>

#include "core/redact.h"

namespace compute::iam {
namespace {

constexpr store::Sql kInsert(
    "insert into iam_denials (at, code, path, request_id, tenant_id, identity_id, action, "
    "resource_type, resource_id, reason, source_ip) "
    "values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)"
);
constexpr store::Sql kTrim(
    "delete from iam_denials where seq <= (select seq from iam_denials order by seq desc limit 1 "
    "offset $1)"
);
constexpr store::Sql kList(
    "select at, code, path, request_id, tenant_id, identity_id, action, resource_type, "
    "resource_id, "
    "reason, source_ip from iam_denials where ($1 = '' or tenant_id = $1) order by seq desc limit "
    "$2"
);

store::Params row_of(const Denial& denial) {
    return {
        denial.at,
        denial.code,
        denial.path,
        denial.request_id,
        redact_secrets(denial.tenant_id),
        denial.identity_id,
        denial.action,
        denial.resource.type,
        redact_secrets(denial.resource.id),
        redact_secrets(denial.reason),
        denial.source_ip};
}

}  // namespace

void DenialLog::record(Denial denial) {
    ring_.with([&](Ring& ring) {
        if (ring.waiting.size() >= kDenialRing) {
            ring.waiting.pop_front();
            ++ring.lost;
        }
        ring.waiting.push_back(std::move(denial));
    });
}

int DenialLog::flush(store::Database& database) {
    std::deque<Denial> taken =
        ring_.with([](Ring& ring) { return std::exchange(ring.waiting, {}); });
    if (taken.empty()) {
        return 0;
    }
    try {
        database.write(
            [&](store::Transaction& tx) {
                for (const Denial& denial : taken) {
                    tx.defer(kInsert, row_of(denial));
                }
                tx.defer(kTrim, {kDenialRows});
            },
            store::Purpose::Iam
        );
    } catch (...) {
        ring_.with([&](Ring& ring) {
            taken.insert(
                taken.end(),
                std::make_move_iterator(ring.waiting.begin()),
                std::make_move_iterator(ring.waiting.end())
            );
            ring.waiting = std::move(taken);
            while (ring.waiting.size() > kDenialRing) {
                ring.waiting.pop_front();
                ++ring.lost;
            }
        });
        throw;
    }
    return static_cast<int>(taken.size());
}

std::uint64_t DenialLog::lost() const {
    return ring_.with([](const Ring& ring) { return ring.lost; });
}

std::vector<Denial> list_denials(
    store::Transaction& tx, const std::optional<std::string>& tenant_id, int limit
) {
    std::vector<Denial> out;
    for (const store::Row& row : tx.query(kList, {tenant_id.value_or(""), limit})) {
        out.push_back({
            .at = row.get_int(0),
            .code = row.get_text(1),
            .path = row.get_text(2),
            .request_id = row.get_text(3),
            .tenant_id = row.get_text(4),
            .identity_id = row.get_text(5),
            .action = row.get_text(6),
            .resource = {row.get_text(7), row.get_text(8)},
            .reason = row.get_text(9),
            .source_ip = row.get_text(10),
        });
    }
    return out;
}

}  // namespace compute::iam
