#include "tests/support/fake_better_iam.h"

#include <algorithm>
#include <utility>

namespace compute::support {
namespace {

constexpr std::string_view kBase = "/api/iam/";

std::string http(int status, const std::string& body) {
    return "HTTP/1.1 " + std::to_string(status) +
           " X\r\nContent-Type: application/json\r\nContent-Length: " +
           std::to_string(body.size()) + "\r\n\r\n" + body;
}

std::string resource_key(const Json& body) {
    return body.value("type", "") + "/" + body.value("id", "");
}

Json error(const char* code) {
    return Json{{"error", Json{{"code", code}, {"message", "told so"}, {"retryAfterMs", 700}}}};
}

std::string path_of(const RecordedRequest& request) {
    return request.target.starts_with(kBase) ? request.target.substr(kBase.size())
                                             : "?" + request.target;
}

}  // namespace

FakeBetterIam::FakeBetterIam()
    : receiver_([this](RawConnection& connection) { serve(connection); }) {}

void FakeBetterIam::set_rule(Rule rule) {
    state_.with([&](State& state) { state.rule = std::move(rule); });
}
void FakeBetterIam::set_held(bool is_held) {
    state_.with([&](State& state) { state.is_held = is_held; });
}
void FakeBetterIam::set_budget(Json verdict) {
    state_.with([&](State& state) { state.budget = std::move(verdict); });
}
void FakeBetterIam::forget_credential(const std::string& credential) {
    state_.with([&](State& state) { state.forgotten.push_back(credential); });
}
void FakeBetterIam::set_service_key(std::string key) {
    state_.with([&](State& state) { state.service_key = std::move(key); });
}
void FakeBetterIam::answer_with(const std::string& path, int status, const std::string& body) {
    misbehave(path, [bytes = http(status, body)](RawConnection& connection) {
        connection.send(bytes);
    });
}
void FakeBetterIam::misbehave(const std::string& path, Script script) {
    state_.with([&](State& state) { state.scripts[path] = std::move(script); });
}
void FakeBetterIam::behave(const std::string& path) {
    state_.with([&](State& state) { state.scripts.erase(path); });
}

std::vector<RecordedRequest> FakeBetterIam::requests(const std::string& path) const {
    std::vector<RecordedRequest> out = receiver_.requests();
    std::erase_if(out, [&](const RecordedRequest& request) { return path_of(request) != path; });
    return out;
}

std::optional<Json> FakeBetterIam::registered(const std::string& type, const std::string& id)
    const {
    return state_.with([&](const State& state) -> std::optional<Json> {
        const auto found = state.resources.find(type + "/" + id);
        return found == state.resources.end() ? std::nullopt : std::optional(found->second);
    });
}

void FakeBetterIam::serve(RawConnection& connection) {
    while (connection.read_request()) {
        const std::vector<RecordedRequest> all = receiver_.requests();
        const auto own =
            std::find_if(all.rbegin(), all.rend(), [&](const RecordedRequest& request) {
                return request.connection == connection.number();
            });
        const std::string path = path_of(*own);
        const auto script = state_.with([&](State& state) {
            const auto found = state.scripts.find(path);
            return found == state.scripts.end() ? Script() : found->second;
        });
        if (script) {
            script(connection);
            continue;
        }
        const std::string authorization = own->header("authorization");
        const std::string credential =
            authorization.starts_with("Bearer ") ? authorization.substr(7) : std::string();
        const bool is_proper = own->method == "POST" && own->header("x-better-iam") == "1" &&
                               own->header("content-type") == "application/json" &&
                               own->header("origin").empty() && own->header("cookie").empty();
        const Reply answer = is_proper ? reply(path, credential, Json::parse(own->body))
                                       : Reply{403, error("CSRF_REJECTED")};
        connection.send(http(answer.status, answer.body.dump()));
    }
}

FakeBetterIam::Reply FakeBetterIam::serve_resource(
    State& state, const std::string& path, const Json& body
) {
    const std::string key = resource_key(body);
    const bool is_known = state.resources.contains(key);
    if (path == "resources/register" && is_known) {
        return {409, error("CONFLICT")};
    }
    if (path == "resources/update" && !is_known) {
        return {404, error("NOT_FOUND")};
    }
    state.resources[key] = body;
    return {200, Json::object()};
}

FakeBetterIam::Reply FakeBetterIam::reply(
    const std::string& path, const std::string& credential, const Json& body
) {
    return state_.with([&](State& state) -> Reply {
        const bool is_service = path.starts_with("resources/");
        const bool is_gone =
            std::find(state.forgotten.begin(), state.forgotten.end(), credential) !=
            state.forgotten.end();
        const bool is_known =
            is_service ? credential == state.service_key
                       : credential.starts_with("user:") || credential.starts_with("agent:");
        if (!is_known || is_gone) {
            return {401, error("UNAUTHENTICATED")};
        }
        if (is_service) {
            return serve_resource(state, path, body);
        }
        if (path == "sts/getCallerIdentity") {
            Json caller{
                {"identityId", "id-" + credential},
                {"tenantId", credential.substr(credential.find(':') + 1)},
                {"identityKind", "user"},
                {"sessionId", "ses-" + credential}};
            if (credential.starts_with("agent:")) {
                caller["delegationId"] = "dlg1";
                caller["agentId"] = "bot";
            }
            return {200, caller};
        }
        if (path == "authorize") {
            const auto known = state.resources.find(
                body["resource"].value("type", "") + "/" + body["resource"].value("id", "")
            );
            const Json attributes =
                known == state.resources.end() ? Json() : known->second["attributes"];
            const bool is_allowed = !state.is_held && state.rule(body, attributes);
            return {200, Json{{"allowed", is_allowed}, {"reason", "by rule"}}};
        }
        if (path == "delegations/requestConfirmation") {
            if (!state.is_held) {
                return {400, error("INVALID_INPUT")};
            }
            return {
                200,
                Json{
                    {"confirmationId", "cnf-" + std::to_string(++state.confirmations)},
                    {"expiresAt", 1'790'245'802'000}}};
        }
        return path == "billing/check" ? Reply{200, state.budget} : Reply{404, error("NOT_FOUND")};
    });
}

}  // namespace compute::support
