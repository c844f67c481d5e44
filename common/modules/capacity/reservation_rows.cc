#include "modules/capacity/reservation_rows.h"

#include <nlohmann/json.hpp>

#include "core/json.h"

namespace compute::capacity {
namespace {

#define RESERVATION_COLUMNS                                                                    \
    "id, tenant_id, identity_id, pool_tenant_id, state, request, request_hash, "               \
    "duration_seconds, cleanup_seconds, starts_at, ends_at, place_by, queued_at, skipped_at, " \
    "placed_at, closed_at, reason, explanation, degraded, extending, confirmation_id, "        \
    "confirmation_expires_at, version, created_at, updated_at "

constexpr store::Sql kSelect("select " RESERVATION_COLUMNS
                             "from reservations where tenant_id = $1 and id = $2");
constexpr store::Sql kSelectToChange(
    "select " RESERVATION_COLUMNS "from reservations where tenant_id = $1 and id = $2",
    "select " RESERVATION_COLUMNS "from reservations where tenant_id = $1 and id = $2 for update"
);
constexpr store::Sql kSelectByName(
    "select id from reservations where tenant_id = $1 and name = $2 and state in ('pending', "
    "'placed', 'active')"
);
constexpr store::Sql kCountAliveInProject(
    "select count(*) from reservations where tenant_id = $1 and project_id = $2 and state in "
    "('pending', 'placed', 'active')"
);
constexpr store::Sql kSelectPage(
    "select " RESERVATION_COLUMNS
    "from reservations where tenant_id = $1 "
    "and (case when cast($2 as text) is null then state not in ('draft', 'awaiting-confirmation', "
    "'denied') else state = $2 end) "
    "and (cast($3 as text) is null or pool_id = $3) "
    "and (cast($4 as text) is null or project_id = $4) "
    "and (cast($5 as bigint) is null or coalesce(closed_at, ends_at, requested_start + "
    "duration_seconds * 1000, $5 + 1) > $5) "
    "and (cast($6 as bigint) is null or coalesce(starts_at, requested_start, $6 - 1) < $6) "
    "and (cast($7 as bigint) is null or created_at < $7 or (created_at = $7 and id < $8)) "
    "order by created_at desc, id desc limit $9"
);
constexpr store::Sql kInsert(
    "insert into reservations (id, tenant_id, identity_id, pool_id, pool_tenant_id, project_id, "
    "name, state, request, request_hash, gpu_count, gpu_milli, duration_seconds, cleanup_seconds, "
    "requested_start, next_timer_at, version, created_at, updated_at) values ($1, $2, $3, $4, $5, "
    "$6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19) on conflict do nothing"
);
constexpr store::Sql kUpdate(
    "update reservations set state = $4, duration_seconds = $5, cleanup_seconds = $6, starts_at = "
    "$7, ends_at = $8, place_by = $9, queued_at = $10, skipped_at = $11, placed_at = $12, "
    "closed_at = $13, reason = $14, explanation = $15, degraded = $16, extending = $17, "
    "confirmation_id = $18, confirmation_expires_at = $19, next_timer_at = $20, updated_at = $21, "
    "version = version + 1 where tenant_id = $1 and id = $2 and version = $3"
);
constexpr store::Sql kRemove(
    "delete from reservations where tenant_id = $1 and id = $2 and version = $3 and state in "
    "('draft', 'awaiting-confirmation', 'denied')"
);
constexpr store::Sql kClaimDue(
    "select tenant_id, id, next_timer_at from reservations where next_timer_at <= $1 "
    "order by next_timer_at, id limit $2",
    "select tenant_id, id, next_timer_at from reservations where next_timer_at <= $1 "
    "order by next_timer_at, id limit $2 for update skip locked"
);
constexpr store::Sql kFirstTimer(
    "select next_timer_at from reservations where next_timer_at is not null order by "
    "next_timer_at limit 1"
);
constexpr store::Sql kPending(
    "select " RESERVATION_COLUMNS
    "from reservations where pool_id = $1 and state = 'pending' "
    "and (cast($2 as bigint) is null or queued_at > $2 or (queued_at = $2 and id > $3)) "
    "order by queued_at, id limit $4"
);
constexpr store::Sql kPoolsWithPending(
    "select distinct pool_id from reservations where state = 'pending' order by pool_id"
);
constexpr store::Sql kLastTurn(
    "select max(queued_at) from reservations where pool_id = $1 and state in ('placed', 'active')"
);
constexpr store::Sql kNoteAttempt(
    "update reservations set explanation = $3, skipped_at = $4 where tenant_id = $1 and id = $2 "
    "and state = 'pending'"
);
constexpr store::Sql kPosition(
    "select count(*) from reservations where pool_id = $1 and state = 'pending' and (queued_at < "
    "$2 or (queued_at = $2 and id < $3))"
);

std::optional<std::string> staged_text(const Reservation& reservation) {
    if (!reservation.extending) {
        return std::nullopt;
    }
    const StagedExtend& staged = *reservation.extending;
    return dump_json(
        {{"identityId", staged.identity_id.str()},
         {"key", staged.key},
         {"endsAt", staged.ends_at},
         {"stagedAt", staged.staged_at}}
    );
}

StagedExtend read_staged(const Json& value) {
    return {
        .identity_id = IdentityId(value.at("identityId").get<std::string>()),
        .key = value.at("key").get<std::string>(),
        .ends_at = value.at("endsAt").get<EpochMs>(),
        .staged_at = value.at("stagedAt").get<EpochMs>()};
}

std::optional<std::string> degraded_text(const Reservation& reservation) {
    if (reservation.missing_gpus == 0) {
        return std::nullopt;
    }
    return dump_json({{"missingGpus", reservation.missing_gpus}});
}

Reservation read_reservation(const store::Row& row) {
    Reservation out;
    std::size_t at = 0;
    out.id = ReservationId(row.get_text(at++));
    out.tenant_id = TenantId(row.get_text(at++));
    out.identity_id = IdentityId(row.get_text(at++));
    out.pool_tenant_id = TenantId(row.get_text(at++));
    out.state = state_of_name(row.get_text(at++));
    out.request = ReservationRequest::decode(Json::parse(row.get_text(at++)));
    out.request_hash = row.get_text(at++);
    out.duration_seconds = row.get_int(at++);
    out.cleanup_seconds = row.get_int(at++);
    out.starts_at = row.find_int(at++);
    out.ends_at = row.find_int(at++);
    out.place_by = row.find_int(at++);
    out.queued_at = row.find_int(at++);
    out.skipped_at = row.find_int(at++);
    out.placed_at = row.find_int(at++);
    out.closed_at = row.find_int(at++);
    out.reason = row.find_text(at++);
    out.explanation = row.find_text(at++);
    if (const auto degraded = row.find_text(at++)) {
        out.missing_gpus = Json::parse(*degraded).at("missingGpus").get<std::int64_t>();
    }
    if (const auto staged = row.find_text(at++)) {
        out.extending = read_staged(Json::parse(*staged));
    }
    out.confirmation_id = row.find_text(at++);
    out.confirmation_expires_at = row.find_int(at++);
    out.version = row.get_int(at++);
    out.created_at = row.get_int(at++);
    out.updated_at = row.get_int(at++);
    return out;
}

std::vector<Reservation> read_reservations(const store::Rows& rows) {
    std::vector<Reservation> out;
    out.reserve(rows.size());
    for (const store::Row& row : rows) {
        out.push_back(read_reservation(row));
    }
    return out;
}

std::optional<Reservation> find_with(
    store::Transaction& tx,
    const store::Sql& statement,
    const TenantId& tenant,
    const ReservationId& id
) {
    const auto row = tx.find_row(statement, {tenant, id});
    return row ? std::optional(read_reservation(*row)) : std::nullopt;
}

Reservation found(std::optional<Reservation> reservation) {
    if (!reservation) {
        throw not_found("reservationId: there is no such reservation");
    }
    return *std::move(reservation);
}

store::Params update_params(const Reservation& reservation) {
    return {
        reservation.tenant_id,
        reservation.id,
        reservation.version,
        state_name(reservation.state),
        reservation.duration_seconds,
        reservation.cleanup_seconds,
        reservation.starts_at,
        reservation.ends_at,
        reservation.place_by,
        reservation.queued_at,
        reservation.skipped_at,
        reservation.placed_at,
        reservation.closed_at,
        reservation.reason,
        reservation.explanation,
        degraded_text(reservation),
        staged_text(reservation),
        reservation.confirmation_id,
        reservation.confirmation_expires_at,
        next_timer(reservation),
        reservation.updated_at};
}

}  // namespace

std::optional<Reservation> find_reservation(
    store::Transaction& tx, const TenantId& tenant, const ReservationId& id
) {
    return find_with(tx, kSelect, tenant, id);
}

std::optional<Reservation> find_reservation_to_change(
    store::Transaction& tx, const TenantId& tenant, const ReservationId& id
) {
    return find_with(tx, kSelectToChange, tenant, id);
}

Reservation get_reservation(
    store::Transaction& tx, const TenantId& tenant, const ReservationId& id
) {
    return found(find_reservation(tx, tenant, id));
}

Reservation get_reservation_to_change(
    store::Transaction& tx, const TenantId& tenant, const ReservationId& id
) {
    return found(find_reservation_to_change(tx, tenant, id));
}

std::optional<ReservationId> find_alive_by_name(
    store::Transaction& tx, const TenantId& tenant, const std::string& name
) {
    const auto row = tx.find_row(kSelectByName, {tenant, name});
    return row ? std::optional(ReservationId(row->get_text(0))) : std::nullopt;
}

std::int64_t count_alive_in_project(
    store::Transaction& tx, const TenantId& tenant, const ProjectId& project
) {
    return tx.get_row(kCountAliveInProject, {tenant, project}).get_int(0);
}

std::vector<Reservation> list_reservations(
    store::Transaction& tx, const TenantId& tenant, const ReservationFilter& filter
) {
    return read_reservations(tx.query(
        kSelectPage,
        {tenant,
         filter.state ? std::optional(state_name(*filter.state)) : std::nullopt,
         filter.pool_id,
         filter.project_id,
         filter.from,
         filter.to,
         filter.before_created,
         filter.before_id,
         filter.limit}
    ));
}

bool insert_reservation(store::Transaction& tx, const Reservation& reservation) {
    const ReservationRequest& request = reservation.request;
    const store::Params params{
        reservation.id,
        reservation.tenant_id,
        reservation.identity_id,
        request.pool_id,
        reservation.pool_tenant_id,
        request.project_id,
        request.name,
        state_name(reservation.state),
        dump_json(request.json()),
        reservation.request_hash,
        request.gpu_count,
        request.milli(),
        reservation.duration_seconds,
        reservation.cleanup_seconds,
        request.starts_at,
        next_timer(reservation),
        reservation.version,
        reservation.created_at,
        reservation.updated_at};
    return tx.execute(kInsert, params) == 1;
}

bool update_reservation(store::Transaction& tx, Reservation& reservation) {
    if (tx.execute(kUpdate, update_params(reservation)) == 0) {
        return false;
    }
    ++reservation.version;
    return true;
}

void save_reservation(store::Transaction& tx, Reservation& reservation) {
    if (!update_reservation(tx, reservation)) {
        throw ComputeError(
            ErrorCode::Conflict,
            "the reservation has changed meanwhile",
            Json{{"reason", "concurrent-change"}}
        );
    }
}

void save_locked_reservation(store::Transaction& tx, Reservation& reservation) {
    tx.defer(kUpdate, update_params(reservation));
    ++reservation.version;
}

bool remove_reservation(store::Transaction& tx, const Reservation& reservation) {
    return tx.execute(kRemove, {reservation.tenant_id, reservation.id, reservation.version}) == 1;
}

std::vector<ReservationRef> claim_due(store::Transaction& tx, EpochMs now, int limit) {
    std::vector<ReservationRef> due;
    for (const store::Row& row : tx.query(kClaimDue, {now, limit})) {
        due.push_back(
            {.tenant_id = TenantId(row.get_text(0)),
             .id = ReservationId(row.get_text(1)),
             .due_at = row.get_int(2)}
        );
    }
    return due;
}

std::optional<EpochMs> first_timer(store::Transaction& tx) {
    const auto row = tx.find_row(kFirstTimer);
    return row ? row->find_int(0) : std::nullopt;
}

std::vector<Reservation> pending_in(
    store::Transaction& tx, const PoolId& pool, const Reservation* after, int limit
) {
    return read_reservations(tx.query(
        kPending,
        {pool,
         after != nullptr ? after->queued_at : std::nullopt,
         after != nullptr ? std::optional(after->id) : std::nullopt,
         limit}
    ));
}

std::vector<PoolId> pools_with_pending(store::Transaction& tx) {
    std::vector<PoolId> pools;
    for (const store::Row& row : tx.query(kPoolsWithPending)) {
        pools.emplace_back(row.get_text(0));
    }
    return pools;
}

std::optional<EpochMs> last_placed_turn(store::Transaction& tx, const PoolId& pool) {
    return tx.get_row(kLastTurn, {pool}).find_int(0);
}

void note_attempt(
    store::Transaction& tx,
    const Reservation& reservation,
    const std::optional<std::string>& explanation,
    const std::optional<EpochMs>& skipped_at
) {
    tx.defer(kNoteAttempt, {reservation.tenant_id, reservation.id, explanation, skipped_at});
}

std::int64_t queue_position(store::Transaction& tx, const Reservation& reservation) {
    return tx.get_row(
                 kPosition, {reservation.request.pool_id, reservation.queued_at, reservation.id}
           )
               .get_int(0) +
           1;
}

}  // namespace compute::capacity
