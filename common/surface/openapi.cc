#include <map>
#include <set>

#include <nlohmann/json.hpp>

#include "surface/surface.h"
#include "surface/words.h"

namespace compute::surface {
namespace {

std::string decision_text(const method::RegisteredMethod& method) {
    if (!method.definition.action) {
        return "Needs no credential.";
    }
    std::string text = "Decided as `" + *method.definition.action + "`";
    if (method.row) {
        text += " on " + method.row->resource_type;
        for (const auto& alternative : method.row->alternatives) {
            text += ", or as `" + alternative.action + "` on " + alternative.resource_type;
        }
    }
    return text + ".";
}

std::string identifier(std::string path, char separator) {
    for (char& c : path) {
        if (c == '/') {
            c = separator;
        }
    }
    return path;
}

std::string group_of(const std::string& path) {
    return path.substr(0, path.rfind('/'));
}

Json input_schema(const method::RegisteredMethod& method) {
    return method.definition.json_schema ? *method.definition.json_schema
                                         : Json{{"type", "object"}};
}

Json operation(const method::RegisteredMethod& method) {
    Json json{
        {"operationId", identifier(method.path, '_')},
        {"tags", Json::array({group_of(method.path)})},
        {"summary",
         std::string(kind_word(method.definition.kind)) + " " + identifier(method.path, '.')},
        {"description", decision_text(method)},
        {"parameters",
         Json::array(
             {Json{{"$ref", "#/components/parameters/Csrf"}},
              Json{{"$ref", "#/components/parameters/RequestId"}}}
         )},
        {"requestBody",
         {{"required", true},
          {"content", {{"application/json", {{"schema", input_schema(method)}}}}}}},
        {"responses",
         {{"200", {{"$ref", "#/components/responses/Success"}}},
          {"4XX", {{"$ref", "#/components/responses/Failure"}}},
          {"5XX", {{"$ref", "#/components/responses/Failure"}}}}},
        {"x-kind", kind_word(method.definition.kind)}};
    if (method.definition.action) {
        json["x-action"] = *method.definition.action;
    } else {
        json["security"] = Json::array();
    }
    if (method.row) {
        json["x-resource"] = method.row->resource_type;
    }
    return json;
}

Json error_schema() {
    Json codes = Json::array();
    Json statuses = Json::object();
    for (const ErrorInfo& info : error_table()) {
        codes.push_back(info.name);
        statuses[std::string(info.name)] = info.http_status;
    }
    const Json inner{
        {"type", "object"},
        {"required", {"code", "message"}},
        {"properties",
         {{"code", {{"type", "string"}, {"enum", std::move(codes)}}},
          {"message", {{"type", "string"}}},
          {"retryAfterMs", {{"type", "integer"}, {"minimum", 0}}},
          {"details", {{"type", "object"}}}}},
        {"x-http-status", std::move(statuses)}};
    return Json{
        {"type", "object"},
        {"required", Json::array({"error"})},
        {"properties", {{"error", inner}}}};
}

Json components() {
    const Json csrf{
        {"name", "X-Better-Compute"},
        {"in", "header"},
        {"required", true},
        {"schema", {{"type", "string"}, {"const", "1"}}}};
    const Json request_id{
        {"name", "X-Request-Id"},
        {"in", "header"},
        {"required", false},
        {"schema", {{"type", "string"}, {"pattern", "^[A-Za-z0-9._:-]{1,128}$"}}}};
    const Json success{
        {"type", "object"},
        {"required", Json::array({"data"})},
        {"properties", {{"data", Json::object()}}}};
    const auto response = [](const char* description, const char* schema) {
        return Json{
            {"description", description},
            {"content", {{"application/json", {{"schema", {{"$ref", schema}}}}}}}};
    };
    return Json{
        {"parameters", {{"Csrf", csrf}, {"RequestId", request_id}}},
        {"schemas", {{"Success", success}, {"Failure", error_schema()}}},
        {"responses",
         {{"Success", response("The method's output.", "#/components/schemas/Success")},
          {"Failure",
           response(
               "A refusal or a fault; the status is the code's.", "#/components/schemas/Failure"
           )}}},
        {"securitySchemes", {{"bearer", {{"type", "http"}, {"scheme", "bearer"}}}}}};
}

}  // namespace

Json openapi_document(const method::Registry& registry, const Product& product) {
    Json paths = Json::object();
    for (const auto& [path, method] : registry.methods()) {
        paths[product.base_path + "/" + path] = Json{{"post", operation(method)}};
    }
    return Json{
        {"openapi", "3.1.0"},
        {"info", {{"title", "better-compute"}, {"version", product.version}}},
        // Where `serve` listens by default; a client names its own.
        {"servers", Json::array({Json{{"url", "http://127.0.0.1:8420"}}})},
        {"paths", std::move(paths)},
        {"components", components()},
        {"security", Json::array({Json{{"bearer", Json::array()}}})}};
}

Json tool_schemas(const method::Registry& registry) {
    Json tools = Json::array();
    for (const auto& [path, method] : registry.methods()) {
        tools.push_back(Json{
            {"name", identifier(path, '_')},
            {"description",
             "Calls " + identifier(path, '.') + ", a " +
                 std::string(kind_word(method.definition.kind)) + " method. " +
                 decision_text(method)},
            {"inputSchema", input_schema(method)}});
    }
    return tools;
}

}  // namespace compute::surface
