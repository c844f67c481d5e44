#include <nlohmann/json.hpp>

#include "surface/surface.h"
#include "surface/words.h"

namespace compute::surface {
namespace {

Json row_json(const method::MethodRow& row) {
    Json alternatives = Json::array();
    for (const auto& alternative : row.alternatives) {
        alternatives.push_back(Json{
            {"action", alternative.action}, {"resource", alternative.resource_type}});
    }
    return Json{
        {"action", row.action},
        {"resource", row.resource_type},
        {"alternatives", std::move(alternatives)},
        {"list", row.is_list_per_item},
        {"status", status_word(row.status)},
        {"phase", row.phase}};
}

Json served_json(const method::RegisteredMethod& method) {
    Json json = method.row ? row_json(*method.row)
                           : Json{
                                 {"resource", nullptr},
                                 {"alternatives", Json::array()},
                                 {"list", false},
                                 {"status", "served"},
                                 {"phase", 1}};
    json["kind"] = kind_word(method.definition.kind);
    json["action"] = method.definition.action ? Json(*method.definition.action) : Json();
    json["input"] = method.definition.json_schema ? *method.definition.json_schema : Json();
    return json;
}

}  // namespace

std::string_view kind_word(method::Kind kind) {
    switch (kind) {
        case method::Kind::Read:
            return "read";
        case method::Kind::Mutation:
            return "mutation";
        case method::Kind::Public:
            return "public";
    }
    return "";
}

std::string_view status_word(method::MethodStatus status) {
    switch (status) {
        case method::MethodStatus::Served:
            return "served";
        case method::MethodStatus::Planned:
            return "planned";
    }
    return "";
}

Json dump_surface(const method::Registry& registry) {
    Json methods = Json::object();
    for (const method::PlannedMethod& planned : registry.planned()) {
        methods[planned.path] = row_json(planned.row);
        methods[planned.path]["kind"] = kind_word(planned.kind);
    }
    // A method that is served replaces a planned row of the same path.
    for (const auto& [path, method] : registry.methods()) {
        methods[path] = served_json(method);
    }
    Json errors = Json::object();
    for (const ErrorInfo& info : error_table()) {
        errors[std::string(info.name)] = info.http_status;
    }
    return Json{
        {"version", kSurfaceVersion},
        {"methods", std::move(methods)},
        {"errors", std::move(errors)}};
}

std::string surface_text(const Json& document) {
    return document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace compute::surface
