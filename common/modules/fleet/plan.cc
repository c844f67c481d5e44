#include "modules/fleet/plan.h"

#include <algorithm>
#include <iterator>

#include "capacity/name_list.h"
#include "core/json.h"
#include "crypto/crypto.h"
#include "modules/fleet/changes.h"

namespace compute::fleet {
namespace {

constexpr const char* kPoolPrefix = "pool_";
constexpr const char* kProjectPrefix = "prj_";

class Planner {
public:
    Planner(store::Transaction& tx, const PlanRequest& request)
        : tx_(tx),
          request_(request),
          document_(request.document),
          now_has_(read_snapshot(tx, request.document.tenant_id)) {}

    // Projects and pools first, because quotas refer to them; what is taken away goes the other way
    // round, at the end.
    Plan run() {
        for (const Item& project : document_.projects) {
            plan_project(project);
        }
        for (const Item& pool : document_.pools) {
            plan_pool(pool);
        }
        for (const QuotaItem& quota : document_.quotas) {
            plan_quota(quota);
        }
        if (request_.prune) {
            prune_quotas();
            prune_pools();
            prune_projects();
        }
        if (plan_.calls.size() > kMaxCalls) {
            throw invalid_input(
                "document: takes " + std::to_string(plan_.calls.size()) + " calls; at most " +
                std::to_string(kMaxCalls) + " at once"
            );
        }
        plan_.hash = hash();
        return std::move(plan_);
    }

private:
    // Where a thing of the document is, or will be once the calls before have run.
    struct Place {
        std::string id;
        bool is_new = false;
    };

    Json input() const { return {{"tenantId", document_.tenant_id.str()}}; }

    // The number tells this thing from earlier ones of the same name, whose keys are used up.
    static std::string key_of(
        const std::string& name, const std::map<std::string, std::int64_t>& ever
    ) {
        const auto found = ever.find(name);
        return "fleet:" + name + ":" + std::to_string(found == ever.end() ? 0 : found->second);
    }

    void see(const char* kind, const std::string& id, std::int64_t version) {
        seen_.push_back(Json::array({kind, id, version}));
    }

    void plan_project(const Item& item) {
        const auto found = now_has_.projects.find(item.name);
        if (found == now_has_.projects.end()) {
            const std::string key = key_of(item.name, now_has_.projects_ever);
            Call call = create("projects/create", item, project_defaults());
            call.input["idempotencyKey"] = key;
            call.mark = {"project", request_.derive_id(kProjectPrefix, key)};
            projects_[item.name] = {.id = call.mark.key, .is_new = true};
            plan_.calls.push_back(std::move(call));
            return;
        }
        projects_[item.name] = {.id = found->second.id};
        see("project", found->second.id, found->second.version);
        update("projects/update", "projectId", item, found->second, project_defaults());
    }

    void plan_pool(const Item& item) {
        const auto found = now_has_.pools.find(item.name);
        if (found == now_has_.pools.end()) {
            const std::string key = key_of(item.name, now_has_.pools_ever);
            Call call = create("pools/create", item, pool_defaults());
            call.input["idempotencyKey"] = key;
            call.mark = {"pool", request_.derive_id(kPoolPrefix, key)};
            pools_[item.name] = {.id = call.mark.key, .is_new = true};
            plan_.calls.push_back(std::move(call));
            return;
        }
        pools_[item.name] = {.id = found->second.id};
        see("pool", found->second.id, found->second.version);
        if (const auto reason = find_orphans(item, found->second)) {
            plan_.blocked.push_back({"pools/update", item.name, *reason});
            return;
        }
        update("pools/update", "poolId", item, found->second, pool_defaults());
    }

    Call create(const char* path, const Item& item, const Json& defaults) const {
        Call call;
        call.path = path;
        call.name = item.name;
        call.input = input();
        call.input["name"] = item.name;
        call.input.update(item.fields);
        call.changes = changes_of_create(item, defaults);
        return call;
    }

    void update(
        const char* path,
        const char* id_member,
        const Item& item,
        const Row& row,
        const Json& defaults
    ) {
        if (item.fields == row.fields) {
            return;
        }
        Call call;
        call.path = path;
        call.verb = Verb::Update;
        call.name = item.name;
        call.input = input();
        call.input[id_member] = row.id;
        call.input["version"] = row.version;
        for (const auto& [field, fallback] : defaults.items()) {
            const Json& before = member_or(row.fields, field, fallback);
            const Json& after = member_or(item.fields, field, fallback);
            if (before != after) {
                call.input[field] = after;
            }
        }
        call.changes = changes_between(row.fields, item.fields, defaults);
        plan_.calls.push_back(std::move(call));
    }

    // Nodes that joined and would no longer be declared.
    std::optional<std::string> find_orphans(const Item& item, const Row& row) {
        const Json& groups = member_or(item.fields, "nodeGroups", pool_defaults().at("nodeGroups"));
        if (groups.empty() ||
            groups == member_or(row.fields, "nodeGroups", pool_defaults().at("nodeGroups"))) {
            return std::nullopt;
        }
        std::vector<std::string> declared;
        for (const Json& group : groups) {
            auto names = capacity::expand_names(
                group.at("names").get_ref<const std::string&>(), "nodeGroups"
            );
            std::move(names.begin(), names.end(), std::back_inserter(declared));
        }
        std::sort(declared.begin(), declared.end());
        const auto joined = joined_nodes(tx_, document_.tenant_id, row.id);
        std::vector<std::string> orphans;
        std::set_difference(
            joined.begin(),
            joined.end(),
            declared.begin(),
            declared.end(),
            std::back_inserter(orphans)
        );
        if (orphans.empty()) {
            return std::nullopt;
        }
        return "nodes that have joined would no longer be declared: " +
               capacity::compress_names(orphans).front() + " (" + std::to_string(orphans.size()) +
               " in all)";
    }

    std::optional<Place> find_project(const std::string& name) const {
        return find_place(projects_, now_has_.projects, name);
    }
    std::optional<Place> find_pool(const std::string& name) const {
        if (const auto shared = now_has_.shared_pools.find(name);
            shared != now_has_.shared_pools.end()) {
            return Place{.id = shared->second};
        }
        return find_place(pools_, now_has_.pools, name);
    }
    static std::optional<Place> find_place(
        const std::map<std::string, Place>& planned,
        const std::map<std::string, Row>& rows,
        const std::string& name
    ) {
        if (name.empty()) {
            return Place{};
        }
        if (const auto found = planned.find(name); found != planned.end()) {
            return found->second;
        }
        const auto row = rows.find(name);
        return row == rows.end() ? std::nullopt : std::optional(Place{.id = row->second.id});
    }

    void plan_quota(const QuotaItem& item) {
        const auto project = find_project(item.project);
        const auto pool = find_pool(item.pool);
        if (!project || !pool) {
            const std::string what = project ? "pool " + item.pool : "project " + item.project;
            plan_.blocked.push_back({"quotas/set", item.name(), "there is no " + what});
            return;
        }
        const QuotaRow* row = now_has_.find_quota(item.name());
        if (row != nullptr) {
            see("quota", quota_key(row->project_id, row->pool_id, item.gpu_model), row->version);
        }
        const Json before = row == nullptr ? Json::object() : row->item.limits;
        if (before != item.limits) {
            put_quota(item, *project, *pool, row, before);
        }
    }

    void put_quota(
        const QuotaItem& item,
        const Place& project,
        const Place& pool,
        const QuotaRow* row,
        const Json& before
    ) {
        Call call;
        call.path = "quotas/set";
        call.verb = before.empty()        ? Verb::Create
                    : item.limits.empty() ? Verb::Delete
                                          : Verb::Update;
        call.name = item.name();
        call.input = input();
        for (const auto& [member, place] :
             {std::pair("projectId", &project), std::pair("poolId", &pool)}) {
            if (!place->id.empty()) {
                call.input[member] = place->id;
            }
        }
        if (!item.gpu_model.empty()) {
            call.input["gpuModel"] = item.gpu_model;
        }
        call.input["limits"] = item.limits;
        call.input["version"] = row == nullptr ? 0 : row->version;
        call.changes = changes_of_limits(before, item.limits);
        call.mark = {"quota", quota_key(project.id, pool.id, item.gpu_model)};
        // Whoever plans, the things that are still to be made have the same names, not the same
        // ids.
        if (project.is_new) {
            new_names_[project.id] = "project " + item.project;
        }
        if (pool.is_new) {
            new_names_[pool.id] = "pool " + item.pool;
        }
        plan_.calls.push_back(std::move(call));
    }

    template <class Items>
    static bool has(const Items& items, const std::string& name) {
        return std::any_of(items.begin(), items.end(), [&](const auto& item) {
            return item.name == name;
        });
    }

    void prune_quotas() {
        for (const QuotaRow& row : now_has_.quotas) {
            const bool is_in_document = std::any_of(
                document_.quotas.begin(),
                document_.quotas.end(),
                [&](const QuotaItem& item) { return item.name() == row.item.name(); }
            );
            if (!row.is_ours || is_in_document || row.item.limits.empty()) {
                continue;
            }
            see("quota", quota_key(row.project_id, row.pool_id, row.item.gpu_model), row.version);
            QuotaItem none = row.item;
            none.limits = Json::object();
            put_quota(none, {.id = row.project_id}, {.id = row.pool_id}, &row, row.item.limits);
        }
    }

    void prune_pools() {
        for (const auto& [name, row] : now_has_.pools) {
            if (!row.is_ours || has(document_.pools, name)) {
                continue;
            }
            prune(
                "pools/delete",
                name,
                row,
                {"poolId", "pool", &pool_defaults()},
                find_reason_to_keep_pool(tx_, document_.tenant_id, row.id)
            );
        }
    }

    void prune_projects() {
        for (const auto& [name, row] : now_has_.projects) {
            if (!row.is_ours || has(document_.projects, name)) {
                continue;
            }
            prune(
                "projects/archive",
                name,
                row,
                {"projectId", "project", &project_defaults()},
                find_reason_to_keep_project(tx_, document_.tenant_id, row.id)
            );
        }
    }

    struct Kind {
        const char* id_member;
        const char* mark;
        const Json* defaults;
    };
    void prune(
        const char* path,
        const std::string& name,
        const Row& row,
        const Kind& kind,
        const std::optional<std::string>& reason
    ) {
        see(kind.mark, row.id, row.version);
        if (reason) {
            plan_.blocked.push_back({path, name, *reason});
            return;
        }
        Call call;
        call.path = path;
        call.verb = Verb::Delete;
        call.name = name;
        call.input = input();
        call.input[kind.id_member] = row.id;
        call.changes = changes_of_delete({.name = name, .fields = row.fields}, *kind.defaults);
        call.mark = {kind.mark, row.id};
        plan_.calls.push_back(std::move(call));
    }

    [[nodiscard]] std::string hash() const {
        Json calls = Json::array();
        for (const Call& call : plan_.calls) {
            Json shown = call.input;
            for (const char* member : {"projectId", "poolId"}) {
                if (const auto id = shown.find(member); id != shown.end()) {
                    const auto name = new_names_.find(id->get_ref<const std::string&>());
                    if (name != new_names_.end()) {
                        *id = name->second;
                    }
                }
            }
            calls.push_back({{"path", call.path}, {"input", std::move(shown)}});
        }
        return crypto::to_hex(crypto::sha256(canonical_json(
            {{"document", document_.json()},
             {"prune", request_.prune},
             {"calls", std::move(calls)},
             {"versions", seen_}}
        )));
    }

    store::Transaction& tx_;
    const PlanRequest& request_;
    const Document& document_;
    Snapshot now_has_;
    Plan plan_;
    std::map<std::string, Place> projects_;
    std::map<std::string, Place> pools_;
    std::map<std::string, std::string> new_names_;  // by the id they will have
    Json seen_ = Json::array();
};

}  // namespace

Json Plan::json() const {
    Json out{{"planHash", hash}, {"calls", Json::array()}, {"blocked", Json::array()}};
    for (const Call& call : calls) {
        out["calls"].push_back(
            {{"path", call.path},
             {"name", call.name},
             {"input", call.input},
             {"changes", call.changes}}
        );
    }
    for (const Blocked& item : blocked) {
        out["blocked"].push_back({{"path", item.path}, {"name", item.name}, {"reason", item.reason}}
        );
    }
    return out;
}

Plan make_plan(store::Transaction& tx, const PlanRequest& request) {
    return Planner(tx, request).run();
}

}  // namespace compute::fleet
