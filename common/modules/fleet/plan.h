// The plan: which calls turn what a tenant has into what a document says. Pure, but for the few
// questions that tell why something is blocked.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "modules/fleet/document.h"
#include "modules/fleet/snapshot.h"

namespace compute::fleet {

inline constexpr std::size_t kMaxCalls = 500;

enum class Verb { Create, Update, Delete };

struct Call {
    std::string path;  // "pools/create"
    Verb verb = Verb::Create;
    std::string name;
    Json input;
    Json changes = Json::array();  // [{field, before, after}]
    Mark mark;                     // what the call creates or takes away
};

struct Blocked {
    std::string path;
    std::string name;
    std::string reason;
};

struct Plan {
    std::string hash;
    std::vector<Call> calls;  // in the order they run
    std::vector<Blocked> blocked;

    [[nodiscard]] Json json() const;
};

// The id that a create by the caller with this key gives its thing.
using DeriveId = std::function<std::string(std::string_view prefix, std::string_view key)>;

struct PlanRequest {
    const Document& document;
    bool prune = false;  // takes away what an apply created and the document no longer has
    DeriveId derive_id;
};

// INVALID_INPUT when it takes more than kMaxCalls calls. The hash covers document, prune, calls and
// the versions of every row looked at; things that are still to be created stand in it by name, so
// it does not depend on who plans.
[[nodiscard]] Plan make_plan(store::Transaction& tx, const PlanRequest& request);

}  // namespace compute::fleet
