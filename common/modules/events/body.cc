#include "modules/events/body.h"

#include <nlohmann/json.hpp>

#include "core/json.h"

namespace compute::events {
namespace {

void add(std::string& out, std::string_view name, std::string_view value) {
    out += out.empty() ? "{\"" : ",\"";
    out += name;
    out += "\":";
    out += dump_json(Json(value));
}

}  // namespace

std::string event_body(const BodyParts& parts) {
    std::string out;
    out.reserve(parts.data.size() + 256);
    add(out, "id", parts.id);
    add(out, "type", parts.type);
    add(out, "tenantId", parts.tenant_id);
    add(out, "subject", parts.subject);
    add(out, "time", iso_time(parts.time));
    add(out, "sequence", parts.sequence);
    out += ",\"data\":";
    out += parts.data;
    out += '}';
    return out;
}

std::string why_unqueueable(const outbox::StoredEvent& event, const std::string& body) {
    if (body.size() > kMaxBodyBytes) {
        return "the body would be " + std::to_string(body.size()) + " bytes; at most " +
               std::to_string(kMaxBodyBytes) + " are sent";
    }
    if (!event.data.starts_with('{') || !Json::accept(event.data)) {
        return "its data is no JSON object";
    }
    if (event.type.empty() || event.id.empty() || event.tenant_id.empty()) {
        return "its type, id or tenant is empty";
    }
    return {};
}

}  // namespace compute::events
