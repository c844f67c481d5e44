// A remote IAM on a port of its own that follows the facts of the contract, and misbehaves on
// demand.
//
// Credentials: `user:<tenant>` and `agent:<tenant>`; every other is unknown. The service key is
// `service-key`. It allows what the rule says (everything at first), knows the resources that were
// registered, and holds what `set_held` says.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/guarded.h"

#include "tests/support/raw_receiver.h"

namespace compute::support {

// Thread-safe.
class FakeBetterIam {
public:
    // `question` is the body of /authorize, `attributes` those registered for its resource (null
    // when it is unknown).
    using Rule = std::function<bool(const Json& question, const Json& attributes)>;

    FakeBetterIam();

    [[nodiscard]] std::string url() const { return receiver_.url(""); }  // without /api/iam
    void set_rule(Rule rule);
    void set_held(bool is_held);
    void set_budget(Json verdict);
    void forget_credential(const std::string& credential);
    void set_service_key(std::string key);
    // From now on these bytes answer every call of `path` ("authorize"), until told otherwise.
    void answer_with(const std::string& path, int status, const std::string& body);
    // From now on the script runs instead, after the request was read.
    void misbehave(const std::string& path, Script script);
    void behave(const std::string& path);

    // The requests of `path` so far.
    [[nodiscard]] std::vector<RecordedRequest> requests(const std::string& path) const;
    [[nodiscard]] std::optional<Json> registered(const std::string& type, const std::string& id)
        const;

private:
    struct State {
        Rule rule = [](const Json&, const Json&) { return true; };
        bool is_held = false;
        Json budget = Json{{"allowed", true}};
        std::string service_key = "service-key";
        std::vector<std::string> forgotten;
        std::map<std::string, Script> scripts;
        std::map<std::string, Json> resources;  // type/id
        int confirmations = 0;
    };
    struct Reply {
        int status = 200;
        Json body;
    };
    void serve(RawConnection& connection);
    [[nodiscard]] Reply reply(
        const std::string& path, const std::string& credential, const Json& body
    );
    [[nodiscard]] static Reply serve_resource(
        State& state, const std::string& path, const Json& body
    );

    Guarded<State> state_;
    RawReceiver receiver_;  // last: its threads use the state
};

}  // namespace compute::support
