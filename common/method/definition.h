// A method: a typed function behind one route. It declares what it needs; the envelope does the security work around it.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "iam/resource.h"
#include "schema/described.h"
#include "schema/manifest.h"
#include "store/database.h"

namespace compute::method {

class Context;

enum class Kind { Read, Mutation, Public };
enum class TransactionMode { Auto, Manual };

// What a call is decided on: the type without the IAM prefix, and for rows that list alternatives another action.
struct Resource {
    std::string type;
    std::string id;
    std::optional<std::string> action;

    [[nodiscard]] static Resource tenant(std::string id) { return {"tenant", std::move(id), std::nullopt}; }
    [[nodiscard]] static Resource fleet() { return {iam::kFleetType, iam::kFleetId, std::nullopt}; }
    friend bool operator==(const Resource&, const Resource&) = default;
};

// What prepare() found.
struct Prepared {
    enum class Status { Decide, Replay };
    Status status = Status::Decide;
    Resource resource;                    // when Decide
    std::optional<std::string> draft_id;  // when Decide, and there is a draft
    std::shared_ptr<const Json> context;  // when Decide: what the audit row keeps of the admission
    Json result;                          // when Replay

    [[nodiscard]] static Prepared decide(Resource resource) { return {Status::Decide, std::move(resource), {}, {}, {}}; }
    [[nodiscard]] static Prepared replay(Json result) { return {Status::Replay, {}, {}, {}, std::move(result)}; }
};

// What prepare does in its transaction. One that only looks for what a repeated call would answer, and keeps no draft, gets a
// read-only transaction: it waits for no other writer, and for no disk.
enum class Prepares { Drafts, Lookup };

// A create that is decided on what it asks for. The functions and their transactions: see envelope.h.
template <class I>
struct Admission {
    Prepares prepares = Prepares::Drafts;
    std::function<Prepared(Context&, I&, store::Transaction&)> prepare;
    std::function<void(Context&, I&, store::Transaction&, const ComputeError&)> denied;
    std::function<std::string(const I&)> describe;
    std::function<void(Context&, I&, const Resource&)> check;
    std::function<void(Context&, I&, store::Transaction&, const std::exception&)> abandoned;
};

// Waiting for work that finishes after the call. `done` judges an answer, `refresh` makes a newer one (read-only transaction).
template <class I>
struct Poll {
    std::function<bool(const Json&)> done;
    std::function<Json(Context&, I&, const Json&)> refresh;
};

// Input as the envelope holds it: the very object validate() made, shared so that what `check` records in it reaches the handler.
using Input = std::shared_ptr<void>;

// A definition as the registry keeps it, its input type erased. Immutable once registered.
struct MethodDefinition {
    std::optional<std::string> action;  // null exactly for public methods
    Kind kind = Kind::Read;
    std::function<std::optional<Resource>(const Input&)> resource;
    std::function<Input(const Json& raw)> validate;
    std::shared_ptr<const Json> json_schema;  // of the input; null when validate carries none
    std::function<Json(Context&, const Input&)> handler;
    std::optional<Admission<const Input>> admission;
    TransactionMode transaction = TransactionMode::Auto;
    std::optional<Poll<const Input>> poll;
};

// The typed form that modules write. `handler`, `validate` and `resource` are required.
template <class I>
struct Method {
    std::optional<std::string> action;
    Kind kind = Kind::Read;
    std::function<std::optional<Resource>(const I&)> resource;
    std::function<I(const Json&)> validate;
    std::optional<Json> json_schema;
    std::function<Json(Context&, I&)> handler;
    std::optional<Admission<I>> admission;
    TransactionMode transaction = TransactionMode::Auto;
    std::optional<Poll<I>> poll;

    // Takes validator and schema from a manifest.
    Method& input(const schema::Manifest<I>& manifest) {
        json_schema = manifest.json_schema();
        validate = [manifest](const Json& raw) { return manifest.parse(raw); };
        return *this;
    }
    // Takes them from a validator written by hand.
    Method& input(schema::Described<I> described) {
        json_schema = std::move(described.json_schema);
        validate = std::move(described.validate);
        return *this;
    }
};

// Freezes a typed definition. Empty functions stay empty, so that the registry can name them.
template <class I>
[[nodiscard]] MethodDefinition define_method(Method<I> method) {
    const auto in = [](const Input& input) -> I& { return *static_cast<I*>(input.get()); };
    MethodDefinition out;
    out.action = std::move(method.action);
    out.kind = method.kind;
    out.transaction = method.transaction;
    if (method.json_schema) {
        out.json_schema = std::make_shared<const Json>(std::move(*method.json_schema));
    }
    if (method.resource) {
        out.resource = [in, f = std::move(method.resource)](const Input& input) { return f(in(input)); };
    }
    if (method.validate) {
        out.validate = [f = std::move(method.validate)](const Json& raw) -> Input { return std::make_shared<I>(f(raw)); };
    }
    if (method.handler) {
        out.handler = [in, f = std::move(method.handler)](Context& context, const Input& input) { return f(context, in(input)); };
    }
    if (method.admission) {
        Admission<I>& from = *method.admission;
        auto& to = out.admission.emplace();
        to.prepares = from.prepares;
        if (from.prepare) {
            to.prepare = [in, f = std::move(from.prepare)](Context& c, const Input& i, store::Transaction& tx) { return f(c, in(i), tx); };
        }
        if (from.denied) {
            to.denied = [in, f = std::move(from.denied)](Context& c, const Input& i, store::Transaction& tx, const ComputeError& e) { f(c, in(i), tx, e); };
        }
        if (from.describe) {
            to.describe = [in, f = std::move(from.describe)](const Input& i) { return f(in(i)); };
        }
        if (from.check) {
            to.check = [in, f = std::move(from.check)](Context& c, const Input& i, const Resource& r) { f(c, in(i), r); };
        }
        if (from.abandoned) {
            to.abandoned = [in, f = std::move(from.abandoned)](Context& c, const Input& i, store::Transaction& tx, const std::exception& e) { f(c, in(i), tx, e); };
        }
    }
    if (method.poll) {
        auto& to = out.poll.emplace();
        to.done = std::move(method.poll->done);
        if (method.poll->refresh) {
            to.refresh = [in, f = std::move(method.poll->refresh)](Context& c, const Input& i, const Json& o) { return f(c, in(i), o); };
        }
    }
    return out;
}

}  // namespace compute::method
