// webhooks.deliveries: the history of a tenant's webhooks, newest first.
#include <nlohmann/json.hpp>

#include "crypto/crypto.h"
#include "modules/events/history.h"
#include "modules/events/methods/methods.h"

namespace compute::events {
namespace {

struct DeliveriesInput {
    TenantId tenant_id;
    std::optional<std::string> webhook_id;
    std::optional<std::string> state;
    std::int64_t limit = kDefaultPageItems;
    std::optional<std::string> cursor;
};

// A cursor is the place of the last item shown: "<event>.<webhook>", base64url, opaque to the
// caller.
std::string cursor_of(const Delivery& last) {
    return crypto::to_base64url(std::to_string(last.event) + "." + std::to_string(last.webhook));
}

HistoryPlace place_of(const std::string& cursor) {
    const auto fail = [] { return invalid_input("cursor: not one that deliveries returned"); };
    const auto text = crypto::from_base64url(cursor);
    if (!text || text->size() > 40) {
        throw fail();
    }
    HistoryPlace place;
    std::int64_t* const parts[] = {&place.event, &place.webhook};
    std::size_t part = 0;
    int digits = 0;
    for (const char c : *text) {
        if (c == '.' && part == 0 && digits > 0) {
            part = 1;
            digits = 0;
        } else if (c >= '0' && c <= '9' && ++digits <= 18) {
            *parts[part] = *parts[part] * 10 + (c - '0');
        } else {
            throw fail();
        }
    }
    if (part != 1 || digits == 0) {
        throw fail();
    }
    return place;
}

Json deliveries(method::Context& context, DeliveriesInput& input) {
    HistoryQuery query;
    query.tenant_id = input.tenant_id;
    query.webhook_id = input.webhook_id;
    query.limit = static_cast<int>(input.limit) + 1;  // one more tells whether there is a next page
    if (input.state) {
        query.state = find_state(*input.state);
    }
    if (input.cursor) {
        query.before = place_of(*input.cursor);
    }
    std::vector<Delivery> found = read_history(context.transaction(), query);
    Json out = {{"items", Json::array()}};
    if (found.size() > static_cast<std::size_t>(input.limit)) {
        found.resize(static_cast<std::size_t>(input.limit));
        out["nextCursor"] = cursor_of(found.back());
    }
    for (const Delivery& delivery : found) {
        out["items"].push_back(delivery_json(delivery));
    }
    return out;
}

}  // namespace

method::MethodEntry deliveries_method() {
    schema::Manifest<DeliveriesInput> manifest;
    manifest.required("tenantId", &DeliveriesInput::tenant_id, schema::tenant_id())
        .optional("webhookId", &DeliveriesInput::webhook_id, schema::id_of("whk_"))
        .optional(
            "state",
            &DeliveriesInput::state,
            schema::one_of({"pending", "delivered", "dead", "cancelled"})
        )
        .defaulted(
            "limit", &DeliveriesInput::limit, schema::integer({.min = 1, .max = kMaxPageItems})
        )
        .optional(
            "cursor",
            &DeliveriesInput::cursor,
            schema::string({.pattern = "", .min_length = 1, .max_length = 64})
        );
    return manage_method<DeliveriesInput>("deliveries", method::Kind::Read, manifest, deliveries);
}

}  // namespace compute::events
