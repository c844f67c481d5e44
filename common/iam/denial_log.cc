#include "iam/denial_log.h"

#include <iterator>
#include <utility>

namespace compute::iam {
namespace {

constexpr store::Sql kInsert(
    "insert into iam_denials (at, tenant_id, identity_tenant_id, identity_id, session_id, action, "
    "resource_type, resource_id, "
    "reason, source_ip) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)"
);
constexpr store::Sql kTrim(
    "delete from iam_denials where seq <= (select seq from iam_denials order by seq desc limit 1 "
    "offset $1)"
);
constexpr store::Sql kList(
    "select at, tenant_id, identity_tenant_id, identity_id, session_id, action, resource_type, "
    "resource_id, reason, source_ip "
    "from iam_denials where ($1 = '' or tenant_id = $1) order by seq desc limit $2"
);

}  // namespace

void DenialLog::record(
    const Session& session, const Question& question, const std::string& reason
) {
    Denial denial{
        clock_.now_ms(),
        question.tenant_id.str(),
        session.caller.tenant_id.str(),
        session.caller.identity_id.str(),
        session.caller.session_id.str(),
        question.action,
        question.resource,
        reason,
        question.source_ip};
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
                    tx.defer(
                        kInsert,
                        {denial.at,
                         denial.tenant_id,
                         denial.identity_tenant_id,
                         denial.identity_id,
                         denial.session_id,
                         denial.action,
                         denial.resource.type,
                         denial.resource.id,
                         denial.reason,
                         denial.source_ip}
                    );
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
        out.push_back(
            {row.get_int(0),
             row.get_text(1),
             row.get_text(2),
             row.get_text(3),
             row.get_text(4),
             row.get_text(5),
             {row.get_text(6), row.get_text(7)},
             row.get_text(8),
             row.find_text(9)}
        );
    }
    return out;
}

}  // namespace compute::iam
