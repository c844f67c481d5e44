// A composite of the shape of fleet.apply, whose handler each test states, and things/put for it to
// call.
#pragma once

#include "core/json.h"

#include "tests/contract/methods/lab.h"

namespace compute::contract {

inline const std::string kRoot = TestPlane::root();
inline const Json kAcme{{"tenantId", "acme"}};

using Body = std::function<Json(Context&)>;

// A composite whose handler is the test's.
inline Method<Plain> composite(Body body) {
    Method<Plain> method = plain(Kind::Mutation, "compute:fleet:admin");
    method.resource = [](const Plain&) -> std::optional<Resource> { return Resource::fleet(); };
    method.transaction = method::TransactionMode::Manual;
    method.handler = [body = std::move(body)](Context& context, Plain&) { return body(context); };
    return method;
}

// things/put inserts {id, text}; it throws when the text says so.
inline Method<Plain> put_method() {
    Method<Plain> method = plain(Kind::Mutation, "compute:lab:put");
    method.handler = [](Context& context, Plain& input) {
        insert_row(context.transaction(), input.id.value_or("?"), input.text.value_or(""));
        if (input.text == "throw") {
            throw ComputeError(ErrorCode::Conflict, "no");
        }
        return Json{{"id", input.id.value_or("?")}};
    };
    return method;
}

inline Module with(Body body, std::vector<MethodEntry> more = {}) {
    std::vector<MethodEntry> methods{
        entry("fleet", "apply", composite(std::move(body))), entry("things", "put", put_method())};
    methods.insert(methods.end(), more.begin(), more.end());
    return lab(std::move(methods));
}

inline Json put(const std::string& id, const std::string& text = "") {
    return Json{{"tenantId", "acme"}, {"id", id}, {"text", text}};
}

inline ErrorCode code_of(const std::function<void()>& function) {
    try {
        function();
    } catch (const ComputeError& error) {
        return error.code();
    }
    ADD_FAILURE() << "nothing was thrown";
    return ErrorCode::InternalError;
}

inline Json run(LabPlane& plane) {
    return plane.call("fleet/apply", kRoot, Json::object());
}

}  // namespace compute::contract
