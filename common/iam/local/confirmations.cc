#include "iam/local/confirmations.h"

#include <nlohmann/json.hpp>

namespace compute::iam::local {
namespace {

#define COMPUTE_SAME_REQUEST                                                            \
    "delegation_id = $1 and tenant_id = $2 and action = $3 and resource_type = $4 and " \
    "resource_id = $5 "                                                                 \
    "and request_hash = $6 and agent = $7"

// The subselect may choose a row that another decision uses up first; the outer condition is looked
// at again under the row's lock, so that one loses.
constexpr store::Sql kUse(
    "update iam_confirmations set state = 'used' where state = 'approved' and id = ("
    "select id from iam_confirmations where " COMPUTE_SAME_REQUEST
    " and state = 'approved' and expires_at > $8 order by created_at, id limit 1) returning "
    "decided_by"
);
constexpr store::Sql kStanding(
    "select id, expires_at, state from iam_confirmations where " COMPUTE_SAME_REQUEST
    " and state <> 'used' and expires_at > $8 order by created_at desc, id desc limit 1"
);
#undef COMPUTE_SAME_REQUEST
constexpr store::Sql kLockDelegation(
    "select id from iam_delegations where id = $1",
    "select id from iam_delegations where id = $1 for update"
);
constexpr store::Sql kCountWaiting(
    "select count(*) from iam_confirmations where delegation_id = $1 and state = 'pending' and "
    "expires_at > $2"
);
constexpr store::Sql kInsert(
    "insert into iam_confirmations (id, tenant_id, delegation_id, agent, subject, action, "
    "resource_type, resource_id, "
    "request_hash, reason, state, created_at, expires_at) "
    "values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, 'pending', $11, $12)"
);

#define COMPUTE_CONFIRMATION_COLUMNS                                                            \
    "select id, tenant_id, delegation_id, agent, subject, action, resource_type, resource_id, " \
    "request_hash, "                                                                            \
    "reason, state, created_at, expires_at, decided_at, decided_by from iam_confirmations "
constexpr store::Sql kList(
    COMPUTE_CONFIRMATION_COLUMNS
    "where ($1 = '' or tenant_id = $1) and ($2 = '' or ($2 = 'expired' and expires_at <= $3) "
    "or ($2 = state and (expires_at > $3 or state in ('used', 'denied')))) "
    "order by created_at desc, id desc limit $4"
);
constexpr store::Sql kGet(
    COMPUTE_CONFIRMATION_COLUMNS "where id = $1",
    COMPUTE_CONFIRMATION_COLUMNS "where id = $1 for update"
);
#undef COMPUTE_CONFIRMATION_COLUMNS
constexpr store::Sql kRule(
    "update iam_confirmations set state = $2, decided_at = $3, decided_by = $4 where id = $1 and "
    "state = 'pending'"
);

store::Params request_params(const HeldRequest& held, EpochMs now) {
    return {
        held.delegation_id,
        held.tenant_id,
        held.action,
        held.resource.type,
        held.resource.id,
        held.request_hash,
        held.agent,
        now};
}

// Cuts at a character, not inside one.
std::string_view bounded_reason(std::string_view reason) {
    if (reason.size() <= kMaxReasonBytes) {
        return reason;
    }
    std::size_t size = kMaxReasonBytes;
    while (size > 0 && (static_cast<unsigned char>(reason[size]) & 0xC0U) == 0x80U) {
        --size;
    }
    return reason.substr(0, size);
}

ConfirmationRow read_row(const store::Row& row, EpochMs now) {
    ConfirmationRow out;
    out.id = row.get_text(0);
    out.held = {
        TenantId(row.get_text(1)),
        row.get_text(2),
        row.get_text(3),
        row.get_text(4),
        row.get_text(5),
        {row.get_text(6), row.get_text(7)},
        row.get_text(8)};
    out.reason = row.get_text(9);
    out.state = row.get_text(10);
    out.created_at = row.get_int(11);
    out.expires_at = row.get_int(12);
    out.decided_at = row.find_int(13);
    out.decided_by = row.find_text(14);
    if ((out.state == "pending" || out.state == "approved") && out.expires_at <= now) {
        out.state = "expired";
    }
    return out;
}

}  // namespace

HeldRequest held_request(const Caller& caller, const Question& question) {
    return {
        question.tenant_id,
        caller.delegation_id.value_or(""),
        caller.agent_id.value_or(""),
        caller.identity_id.str(),
        question.action,
        question.resource,
        question.request_hash};
}

std::optional<std::string> use_confirmation(
    store::Database& database, const Clock& clock, const HeldRequest& held
) {
    if (held.request_hash.empty()) {
        return std::nullopt;
    }
    return database.write(
        [&](store::Transaction& tx) -> std::optional<std::string> {
            const auto row = tx.find_row(kUse, request_params(held, clock.now_ms()));
            return row ? std::optional(row->find_text(0).value_or("")) : std::nullopt;
        },
        store::Purpose::Iam
    );
}

std::optional<Confirmation> open_confirmation(
    store::Database& database,
    const Clock& clock,
    Rng& rng,
    const HeldRequest& held,
    std::string_view reason
) {
    const EpochMs now = clock.now_ms();
    const std::string id = new_id("cnf_", clock, rng);
    return database.write(
        [&](store::Transaction& tx) -> std::optional<Confirmation> {
            // The same request asked twice at once must find one confirmation: they take turns at
            // the delegation.
            if (!tx.find_row(kLockDelegation, {held.delegation_id})) {
                return std::nullopt;
            }
            if (const auto row = tx.find_row(kStanding, request_params(held, now))) {
                if (row->get_text(2) == "denied") {
                    return std::nullopt;
                }
                return Confirmation{row->get_text(0), row->get_int(1)};
            }
            if (tx.get_row(kCountWaiting, {held.delegation_id, now}).get_int(0) >=
                kMaxOpenConfirmations) {
                throw ComputeError(
                    ErrorCode::RateLimited,
                    "too many confirmations of this delegation wait",
                    Json{{"retryAfterMs", 60'000}}
                );
            }
            tx.execute(
                kInsert,
                {id,
                 held.tenant_id,
                 held.delegation_id,
                 held.agent,
                 held.subject,
                 held.action,
                 held.resource.type,
                 held.resource.id,
                 held.request_hash,
                 bounded_reason(reason),
                 now,
                 now + kConfirmationMs}
            );
            return Confirmation{id, now + kConfirmationMs};
        },
        store::Purpose::Iam
    );
}

std::vector<ConfirmationRow> list_confirmations(
    store::Transaction& tx, EpochMs now, const ConfirmationFilter& filter
) {
    std::vector<ConfirmationRow> out;
    for (const store::Row& row : tx.query(
             kList, {filter.tenant_id.value_or(""), filter.state.value_or(""), now, filter.limit}
         )) {
        out.push_back(read_row(row, now));
    }
    return out;
}

ConfirmationRow rule_confirmation(
    store::Transaction& tx,
    EpochMs now,
    const std::string& id,
    Ruling ruling,
    const std::string& decided_by
) {
    const std::string state = ruling == Ruling::Approve ? "approved" : "denied";
    const auto row = tx.find_row(kGet, {id});
    if (!row) {
        throw not_found("confirmation " + id + " does not exist");
    }
    ConfirmationRow confirmation = read_row(*row, now);
    if (confirmation.state == state) {
        return confirmation;
    }
    if (confirmation.state != "pending") {
        throw ComputeError(
            ErrorCode::InvalidState, "confirmation " + id + " is " + confirmation.state
        );
    }
    tx.execute(kRule, {id, state, now, decided_by});
    confirmation.state = state;
    confirmation.decided_at = now;
    confirmation.decided_by = decided_by;
    return confirmation;
}

}  // namespace compute::iam::local
