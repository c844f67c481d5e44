#include "modules/capacity/extend_rows.h"

namespace compute::capacity {
namespace {

constexpr store::Sql kSelect(
    "select reservation_id, request_hash, ends_at, expires_at, done_at from reservation_extends "
    "where tenant_id = $1 and identity_id = $2 and idempotency_key = $3"
);
constexpr store::Sql kPut(
    "insert into reservation_extends (tenant_id, identity_id, idempotency_key, reservation_id, "
    "request_hash, ends_at, created_at, expires_at, done_at) values ($1, $2, $3, $4, $5, $6, $7, "
    "$8, $9) on conflict (tenant_id, identity_id, idempotency_key) do update set expires_at = "
    "excluded.expires_at, done_at = excluded.done_at"
);
constexpr store::Sql kRemoveExpired(
    "delete from reservation_extends where expires_at <= $1 and done_at is null"
);
constexpr store::Sql kFirstExpiry(
    "select min(expires_at) from reservation_extends where expires_at is not null"
);

}  // namespace

std::optional<ExtendRow> find_extend(store::Transaction& tx, const ExtendKey& key) {
    const auto row = tx.find_row(kSelect, {key.tenant_id, key.identity_id, key.key});
    if (!row) {
        return std::nullopt;
    }
    return ExtendRow{
        .key = key,
        .reservation_id = ReservationId(row->get_text(0)),
        .request_hash = row->get_text(1),
        .ends_at = row->get_int(2),
        .expires_at = row->find_int(3),
        .done_at = row->find_int(4)};
}

void put_extend(store::Transaction& tx, const ExtendRow& row, EpochMs now) {
    tx.defer(
        kPut,
        {row.key.tenant_id,
         row.key.identity_id,
         row.key.key,
         row.reservation_id,
         row.request_hash,
         row.ends_at,
         now,
         row.done_at ? std::nullopt : row.expires_at,
         row.done_at}
    );
}

std::int64_t remove_expired_extends(store::Transaction& tx, EpochMs now) {
    return tx.execute(kRemoveExpired, {now});
}

std::optional<EpochMs> first_extend_expiry(store::Transaction& tx) {
    return tx.get_row(kFirstExpiry).find_int(0);
}

}  // namespace compute::capacity
