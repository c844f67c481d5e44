// reservations.get and reservations.list.
#include <utility>

#include <nlohmann/json.hpp>

#include "modules/capacity/methods.h"
#include "modules/capacity/page.h"
#include "modules/capacity/pool_fields.h"
#include "modules/capacity/reservation_fields.h"
#include "modules/capacity/reservation_rows.h"
#include "modules/capacity/reservation_view.h"

namespace compute::capacity {
namespace {

struct ListInput {
    TenantId tenant_id;
    std::optional<std::string> state;
    std::optional<PoolId> pool_id;
    std::optional<ProjectId> project_id;
    std::optional<EpochMs> from;
    std::optional<EpochMs> to;
    std::int64_t limit = kDefaultLimit;
    std::optional<std::string> cursor;
};

// The page behind the reservation made at `created` with this id.
struct Place {
    EpochMs created = 0;
    std::string id;
};
Place decode_place(const std::string& cursor) {
    const auto key = decode_cursor(cursor, 2);
    try {
        std::size_t read = 0;
        const EpochMs created = std::stoll(key[0], &read);
        if (read == key[0].size()) {
            return {created, key[1]};
        }
    } catch (const std::exception&) {  // not a number, or none that fits
    }
    throw invalid_input("cursor: is not a cursor of this list");
}

schema::Manifest<ListInput> list_manifest() {
    schema::Manifest<ListInput> manifest;
    manifest.required("tenantId", &ListInput::tenant_id, schema::tenant_id())
        .optional(
            "state",
            &ListInput::state,
            schema::one_of(
                {"draft",
                 "awaiting-confirmation",
                 "denied",
                 "pending",
                 "placed",
                 "active",
                 "ended",
                 "released",
                 "failed"}
            ),
            "absent: all but draft, awaiting-confirmation and denied"
        )
        .optional("poolId", &ListInput::pool_id, pool_id_shape())
        .optional("projectId", &ListInput::project_id, project_id_shape())
        .optional("from", &ListInput::from, time_shape(), "epoch ms; those that end after it")
        .optional("to", &ListInput::to, time_shape(), "epoch ms; those that start before it")
        .defaulted("limit", &ListInput::limit, limit_shape(), "default 50")
        .optional("cursor", &ListInput::cursor, cursor_shape(), "nextCursor of the page before")
        .rule([](const ListInput& input) {
            if (input.from && input.to && *input.to <= *input.from) {
                throw invalid_input("to: must be after from");
            }
            if (input.cursor) {
                (void)decode_place(*input.cursor);
            }
        });
    return manifest;
}

Json list(method::Context& context, ListInput& input) {
    ReservationFilter filter;
    if (input.state) {
        filter.state = state_of_name(*input.state);
    }
    filter.pool_id = input.pool_id;
    filter.project_id = input.project_id;
    filter.from = input.from;
    filter.to = input.to;
    filter.limit = input.limit + 1;  // one more tells whether there is a next page
    if (input.cursor) {
        Place place = decode_place(*input.cursor);
        filter.before_created = place.created;
        filter.before_id = std::move(place.id);
    }
    auto found = list_reservations(context.transaction(), input.tenant_id, filter);
    Json answer{{"items", Json::array()}};
    if (std::cmp_greater(found.size(), input.limit)) {
        found.pop_back();
        answer["nextCursor"] =
            encode_cursor({std::to_string(found.back().created_at), found.back().id.str()});
    }
    for (const Reservation& reservation : found) {
        answer["items"].push_back(reservation_json(reservation));
    }
    return answer;
}

Json get(method::Context& context, ReservationIdInput& input) {
    store::Transaction& tx = context.transaction();
    const Reservation reservation = get_reservation(tx, input.tenant_id, input.reservation_id);
    return reservation_json(reservation, read_extras(tx, reservation));
}

}  // namespace

method::MethodEntry reservations_get() {
    method::Method<ReservationIdInput> method;
    method.action = "compute:reservations:read";
    method.kind = method::Kind::Read;
    method.resource = [](const ReservationIdInput& input) {
        return method::Resource{kReservationType, input.reservation_id.str(), std::nullopt};
    };
    method.input(reservation_manifest());
    method.handler = get;
    return {
        "reservations",
        "get",
        method::define_method(std::move(method)),
        method::MethodRow{
            .action = "compute:reservations:read",
            .resource_type = kReservationType,
            .alternatives = {},
            .phase = 2}};
}

method::MethodEntry reservations_list() {
    method::Method<ListInput> method;
    method.action = "compute:reservations:list";
    method.kind = method::Kind::Read;
    method.resource = [](const ListInput& input) {
        return method::Resource::tenant(input.tenant_id.str());
    };
    method.input(list_manifest());
    method.handler = list;
    return {
        "reservations",
        "list",
        method::define_method(std::move(method)),
        method::MethodRow{
            .action = "compute:reservations:list",
            .resource_type = "tenant",
            .alternatives = {},
            .phase = 2}};
}

}  // namespace compute::capacity
