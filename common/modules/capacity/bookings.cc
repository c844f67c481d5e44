#include "modules/capacity/bookings.h"

#include <algorithm>

namespace compute::capacity {
namespace {

#define BOOKING_COLUMNS                                                                    \
    "id, tenant_id, pool_id, node_id, gpu_uuid, milli, cpu_milli, memory_mib, starts_at, " \
    "ends_at, holder_type, holder_id, parent_id "

constexpr store::Sql kInsert("insert into bookings (" BOOKING_COLUMNS
                             ") values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)");
constexpr store::Sql kSelectOfHolder(
    "select " BOOKING_COLUMNS
    "from bookings where tenant_id = $1 and holder_id = $2 and ends_at > $3 "
    "order by node_id, gpu_uuid, starts_at"
);
constexpr store::Sql kRemoveOfHolder(
    "delete from bookings where tenant_id = $1 and holder_id = $2 and starts_at >= $3"
);
constexpr store::Sql kEndOfHolder(
    "update bookings set ends_at = $3 where tenant_id = $1 and holder_id = $2 and starts_at < $3 "
    "and ends_at > $3"
);
constexpr store::Sql kMoveEnd(
    "update bookings set ends_at = $4 where tenant_id = $1 and holder_id = $2 and ends_at = $3"
);
constexpr store::Sql kSelectOnNode(
    "select " BOOKING_COLUMNS
    "from bookings where node_id = $1 and ends_at > $2 order by starts_at, gpu_uuid, id"
);
constexpr store::Sql kSelectOnNodeWithin(
    "select " BOOKING_COLUMNS
    "from bookings where node_id = $1 and ends_at > $2 and starts_at < $3 "
    "order by starts_at, gpu_uuid, id"
);
constexpr store::Sql kCountOnNode(
    "select count(*) from bookings where node_id = $1 and ends_at > $2"
);
constexpr store::Sql kRemoveOnNode(
    "delete from bookings where node_id = $1 and ends_at > $2 and starts_at >= $2"
);
constexpr store::Sql kEndOnNode(
    "update bookings set ends_at = $2 where node_id = $1 and starts_at < $2 and ends_at > $2"
);
constexpr store::Sql kRemoveFutureOnNode(
    "delete from bookings where node_id = $1 and ends_at > $2 and starts_at > $2"
);
constexpr store::Sql kHoldersOnNode(
    "select distinct tenant_id, holder_type, holder_id from bookings where node_id = $1 and "
    "ends_at > $2 and (cast($3 as text) is null or gpu_uuid = $3) order by tenant_id, holder_id"
);

Booking read_booking(const store::Row& row) {
    Booking booking;
    std::size_t at = 0;
    booking.id = row.get_text(at++);
    booking.tenant_id = TenantId(row.get_text(at++));
    booking.pool_id = PoolId(row.get_text(at++));
    booking.node_id = NodeId(row.get_text(at++));
    booking.gpu_uuid = row.find_text(at++);
    booking.milli = row.get_int(at++);
    booking.cpu_milli = row.get_int(at++);
    booking.memory_mib = row.get_int(at++);
    booking.starts_at = row.get_int(at++);
    booking.ends_at = row.get_int(at++);
    booking.holder_type = row.get_text(at++);
    booking.holder_id = row.get_text(at++);
    booking.parent_id = row.find_text(at++);
    return booking;
}

std::vector<Booking> read_bookings(const store::Rows& rows) {
    std::vector<Booking> bookings;
    bookings.reserve(rows.size());
    for (const store::Row& row : rows) {
        bookings.push_back(read_booking(row));
    }
    return bookings;
}

}  // namespace

void insert_bookings(store::Transaction& tx, const std::vector<Booking>& bookings) {
    for (const Booking& booking : bookings) {
        tx.defer(
            kInsert,
            {booking.id,
             booking.tenant_id,
             booking.pool_id,
             booking.node_id,
             booking.gpu_uuid,
             booking.milli,
             booking.cpu_milli,
             booking.memory_mib,
             booking.starts_at,
             booking.ends_at,
             booking.holder_type,
             booking.holder_id,
             booking.parent_id}
        );
    }
}

std::vector<Booking> bookings_of(
    store::Transaction& tx, const TenantId& tenant, const std::string& holder_id, EpochMs after
) {
    return read_bookings(tx.query(kSelectOfHolder, {tenant, holder_id, after}));
}

void close_bookings(
    store::Transaction& tx, const TenantId& tenant, const std::string& holder_id, EpochMs at
) {
    tx.execute(kRemoveOfHolder, {tenant, holder_id, at});
    tx.execute(kEndOfHolder, {tenant, holder_id, at});
}

std::int64_t move_bookings_end(
    store::Transaction& tx,
    const TenantId& tenant,
    const std::string& holder_id,
    EpochMs from,
    EpochMs to
) {
    return tx.execute(kMoveEnd, {tenant, holder_id, from, to});
}

std::vector<Booking> bookings_on(store::Transaction& tx, const NodeId& node, EpochMs after) {
    return read_bookings(tx.query(kSelectOnNode, {node, after}));
}

std::vector<Booking> bookings_within(
    store::Transaction& tx, const NodeId& node, EpochMs from, EpochMs to
) {
    return read_bookings(tx.query(kSelectOnNodeWithin, {node, from, to}));
}

std::int64_t count_bookings_on(store::Transaction& tx, const NodeId& node, EpochMs after) {
    return tx.get_row(kCountOnNode, {node, after}).get_int(0);
}

void close_bookings_on(store::Transaction& tx, const NodeId& node, EpochMs at) {
    tx.execute(kRemoveOnNode, {node, at});
    tx.execute(kEndOnNode, {node, at});
}

void remove_future_bookings_on(store::Transaction& tx, const NodeId& node, EpochMs after) {
    tx.execute(kRemoveFutureOnNode, {node, after});
}

std::vector<Holder> holders_on(
    store::Transaction& tx,
    const NodeId& node,
    EpochMs after,
    const std::optional<std::string>& gpu_uuid
) {
    std::vector<Holder> holders;
    for (const store::Row& row : tx.query(kHoldersOnNode, {node, after, gpu_uuid})) {
        holders.push_back(
            {.tenant_id = TenantId(row.get_text(0)), .type = row.get_text(1), .id = row.get_text(2)}
        );
    }
    return holders;
}

}  // namespace compute::capacity
