#include "tests/contract/authz/pairs.h"

#include "daemon/modules.h"

namespace compute::contract {
namespace {

Json statement(const char* effect, const Pair& pair) {
    return {
        {"effect", effect},
        {"actions", Json::array({pair.action})},
        {"resources", Json::array({"compute-" + pair.type + "/*"})}};
}

Json everything() {
    return {
        {"effect", "allow"},
        {"actions", Json::array({"compute:*"})},
        {"resources", Json::array({"*"})}};
}

class Document {
public:
    void add(const std::string& tenant, const std::string& name, Json statements) {
        policies_.push_back(
            {{"tenant", tenant},
             {"name", name},
             {"document", {{"version", 1}, {"statements", std::move(statements)}}}}
        );
        identities_.push_back(
            {{"tenant", tenant}, {"id", name}, {"kind", "user"}, {"policies", Json::array({name})}}
        );
    }
    void add_nobody() {
        identities_.push_back(
            {{"tenant", "acme"}, {"id", "nobody"}, {"kind", "user"}, {"policies", Json::array()}}
        );
    }
    [[nodiscard]] Json json() const {
        return {
            {"version", 1},
            {"tenants", {{{"id", "acme"}}, {{"id", "globex"}}}},
            {"policies", policies_},
            {"identities", identities_}};
    }

private:
    Json policies_ = Json::array();
    Json identities_ = Json::array();
};

}  // namespace

method::Registry api_registry(const config::Config& config) {
    method::Registry registry;
    for (const method::Module& module : daemon::built_in_modules(config)) {
        registry.add(module);
    }
    return registry;
}

Pairs pairs_of(const method::Registry& registry) {
    Pairs pairs;
    const auto add = [&](const method::MethodRow& row, const std::string& name) {
        pairs[{row.action, row.resource_type}].insert(name);
        for (const auto& alternative : row.alternatives) {
            pairs[{alternative.action, alternative.resource_type}].insert(name);
        }
    };
    for (const auto& [path, method] : registry.methods()) {
        if (method.row) {
            add(*method.row, path);
        }
    }
    for (const method::PlannedMethod& planned : registry.planned()) {
        add(planned.row, planned.path + " (planned)");
    }
    return pairs;
}

std::string tenant_of(const Pair& pair) {
    return pair.type == iam::kFleetType ? "root" : "acme";
}

iam::Question question_about(const Pair& pair) {
    std::string id = "x-1";
    if (pair.type == iam::kFleetType) {
        id = iam::kFleetId;
    } else if (pair.type == "tenant") {
        id = tenant_of(pair);
    }
    iam::Question question;
    question.tenant_id = TenantId(tenant_of(pair));
    question.action = pair.action;
    question.resource = {"compute-" + pair.type, id};
    return question;
}

Json matrix_document(const Pairs& pairs) {
    Document document;
    int number = 0;
    for (const auto& [pair, methods] : pairs) {
        const std::string suffix = std::to_string(number++);
        Json rest = Json::array();
        for (const auto& [other, unused] : pairs) {
            if (other != pair) {
                rest.push_back(statement("allow", other));
            }
        }
        const std::string tenant = tenant_of(pair);
        document.add(tenant, "only-" + suffix, Json::array({statement("allow", pair)}));
        document.add(tenant, "rest-" + suffix, std::move(rest));
        document.add(tenant, "but-" + suffix, Json::array({everything(), statement("deny", pair)}));
    }
    document.add_nobody();
    document.add("globex", "all", Json::array({everything()}));
    document.add("root", "all", Json::array({everything()}));
    return document.json();
}

}  // namespace compute::contract
