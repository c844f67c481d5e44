#include "modules/fleet/document.h"

#include <algorithm>
#include <set>

#include "core/json.h"

namespace compute::fleet {
namespace {

using capacity::PoolSettings;

constexpr std::int64_t kVersion = 1;
constexpr const char* kPoolReference = "^([A-Za-z0-9._:-]{1,128}/)?[a-z][a-z0-9-]{0,62}$";

struct PoolEntry : PoolSettings {
    std::string name;
};

const schema::Manifest<PoolEntry>& pool_manifest() {
    static const auto kManifest = [] {
        schema::Manifest<PoolEntry> manifest;
        manifest.required("name", &PoolEntry::name, schema::name());
        capacity::add_pool_settings(manifest);
        (void)manifest.shape();
        return manifest;
    }();
    return kManifest;
}

struct ProjectEntry {
    std::string name;
    std::optional<std::string> description;
    std::map<std::string, std::string> labels;
};

const schema::Manifest<ProjectEntry>& project_manifest() {
    static const auto kManifest = [] {
        schema::Manifest<ProjectEntry> manifest;
        manifest.required("name", &ProjectEntry::name, schema::name())
            .optional("description", &ProjectEntry::description, capacity::description_shape())
            .defaulted("labels", &ProjectEntry::labels, schema::labels());
        (void)manifest.shape();
        return manifest;
    }();
    return kManifest;
}

schema::Shape quota_shape() {
    return schema::object({
        {"project", schema::name(), false, "absent: the tenant's own"},
        {"pool",
         schema::string({.pattern = kPoolReference, .max_length = 192}),
         false,
         "a pool's name, or tenant/name of one that is shared"},
        {"gpuModel", capacity::gpu_model_shape(), false, ""},
        {"limits", capacity::limits_shape(), true, ""},
    });
}

// Runs `check` on one item, whose errors name a field of it.
template <class Check>
void at(const std::string& path, Check&& check) {
    try {
        check();
    } catch (const ComputeError& error) {
        throw invalid_input(path + "." + error.message());
    }
}

std::string path_of(const char* list, std::size_t index) {
    return std::string(list) + "[" + std::to_string(index) + "]";
}

void check_unique(
    std::map<std::string, std::size_t>& seen,
    const std::string& key,
    const char* list,
    std::size_t index
) {
    const auto [at, is_new] = seen.try_emplace(key, index);
    if (!is_new) {
        throw invalid_input(path_of(list, index) + ": is the same as " + path_of(list, at->second));
    }
}

std::vector<Item> decode_pools(const Json& list, const TenantId& tenant) {
    std::vector<Item> pools;
    std::map<std::string, std::size_t> seen;
    std::size_t nodes = 0;
    for (std::size_t i = 0; i < list.size(); ++i) {
        at(path_of("pools", i), [&] {
            PoolEntry pool = pool_manifest().parse(list[i]);
            capacity::check_limits(pool);
            capacity::check_shares(pool.shared_with, tenant);
            capacity::check_node_groups(pool.node_groups);
            for (const capacity::NodeGroup& group : pool.node_groups) {
                nodes += group.expanded.size();
            }
            pools.push_back({.name = pool.name, .fields = pool_fields(pool)});
        });
        if (nodes > kMaxDocumentNodes) {
            throw invalid_input(
                "pools: must declare at most " + std::to_string(kMaxDocumentNodes) + " nodes in all"
            );
        }
        check_unique(seen, pools.back().name, "pools", i);
    }
    return pools;
}

std::vector<Item> decode_projects(const Json& list) {
    std::vector<Item> projects;
    std::map<std::string, std::size_t> seen;
    for (std::size_t i = 0; i < list.size(); ++i) {
        const ProjectEntry project = project_manifest().parse(list[i]);
        projects.push_back(
            {.name = project.name, .fields = project_fields(project.description, project.labels)}
        );
        check_unique(seen, project.name, "projects", i);
    }
    return projects;
}

std::vector<QuotaItem> decode_quotas(const Json& list, const TenantId& tenant) {
    std::vector<QuotaItem> quotas;
    std::map<std::string, std::size_t> seen;
    for (std::size_t i = 0; i < list.size(); ++i) {
        QuotaItem quota{
            .project = list[i].value("project", ""),
            .pool = list[i].value("pool", ""),
            .gpu_model = list[i].value("gpuModel", ""),
            .limits = Json::object()};
        at(path_of("quotas", i), [&] {
            if (!quota.pool.empty() && !quota.gpu_model.empty()) {
                throw invalid_input("gpuModel: cannot be combined with pool");
            }
            const capacity::Limits limits = capacity::decode_limits(list[i].at("limits"));
            capacity::check_resources(limits, !quota.gpu_model.empty());
            quota.limits = limits;
        });
        // One's own pool by its full name is the same pool.
        if (const std::string own = tenant.str() + "/"; quota.pool.starts_with(own)) {
            quota.pool.erase(0, own.size());
        }
        check_unique(seen, quota.name(), "quotas", i);
        quotas.push_back(std::move(quota));
    }
    return quotas;
}

template <class T, class Key>
void sort_by(std::vector<T>& list, Key key) {
    std::sort(list.begin(), list.end(), [&](const T& a, const T& b) { return key(a) < key(b); });
}

// What is in `fields` and not its default.
Json without_defaults(Json fields, const Json& defaults) {
    for (auto at = fields.begin(); at != fields.end();) {
        at = at.value() == defaults.at(at.key()) ? fields.erase(at) : std::next(at);
    }
    return fields;
}

Json settings_json(const PoolSettings& settings) {
    return {
        {"description", settings.description ? Json(*settings.description) : Json()},
        {"labels", settings.labels},
        {"packing", settings.packing},
        {"sharing", settings.sharing},
        {"fractionStepMilli", settings.fraction_step_milli},
        {"maxDurationSeconds", settings.max_duration_seconds},
        {"cleanupSeconds", settings.cleanup_seconds},
        {"sharedWith", settings.shared_with},
        {"disconnectedAfterSeconds", settings.disconnected_after_seconds},
        {"lostAfterSeconds", settings.lost_after_seconds},
        {"queue", settings.queue},
        {"nodeGroups", capacity::node_groups_json(settings.node_groups)}};
}

}  // namespace

std::string QuotaItem::name() const {
    return (project.empty() ? "tenant" : "project " + project) +
           (pool.empty() ? "" : " in pool " + pool) + (gpu_model.empty() ? "" : " on " + gpu_model);
}

const Json& pool_defaults() {
    static const Json kDefaults = settings_json({});
    return kDefaults;
}

const Json& project_defaults() {
    static const Json kDefaults{{"description", nullptr}, {"labels", Json::object()}};
    return kDefaults;
}

Json pool_fields(const PoolSettings& settings) {
    return without_defaults(settings_json(settings), pool_defaults());
}

Json project_fields(
    const std::optional<std::string>& description, const std::map<std::string, std::string>& labels
) {
    return without_defaults(
        {{"description", description ? Json(*description) : Json()}, {"labels", labels}},
        project_defaults()
    );
}

Json Document::json() const {
    Json out{
        {"version", kVersion},
        {"tenantId", tenant_id.str()},
        {"pools", Json::array()},
        {"projects", Json::array()},
        {"quotas", Json::array()},
        {"volumes", Json::array()},
        {"sandboxTemplates", Json::array()}};
    const auto add = [&](const char* list, const Item& item) {
        Json entry = item.fields;
        entry["name"] = item.name;
        out[list].push_back(std::move(entry));
    };
    for (const Item& pool : pools) {
        add("pools", pool);
    }
    for (const Item& project : projects) {
        add("projects", project);
    }
    for (const QuotaItem& quota : quotas) {
        Json entry{{"limits", quota.limits}};
        for (const auto& [member, value] :
             {std::pair("project", quota.project),
              std::pair("pool", quota.pool),
              std::pair("gpuModel", quota.gpu_model)}) {
            if (!value.empty()) {
                entry[member] = value;
            }
        }
        out["quotas"].push_back(std::move(entry));
    }
    return out;
}

schema::Shape document_shape() {
    constexpr schema::ArrayRules kList{.min_items = 0, .max_items = 1000, .unique = false};
    return schema::object({
        {"version", schema::integer({.min = kVersion, .max = kVersion}), true, ""},
        {"tenantId", schema::tenant_id(), true, "whose fleet this is"},
        {"pools", schema::array(pool_manifest().shape(), kList), false, ""},
        {"projects", schema::array(project_manifest().shape(), kList), false, ""},
        {"quotas", schema::array(quota_shape(), kList), false, ""},
        {"volumes", schema::array(schema::any_object(), kList), false, "must be empty"},
        {"sandboxTemplates", schema::array(schema::any_object(), kList), false, "must be empty"},
    });
}

Document Document::decode(const Json& value) {
    if (dump_json(value).size() > kMaxDocumentBytes) {
        throw invalid_input(
            "document: must be at most " + std::to_string(kMaxDocumentBytes) + " bytes"
        );
    }
    for (const char* member : {"volumes", "sandboxTemplates"}) {
        if (const auto list = value.find(member); list != value.end() && !list->empty()) {
            throw ComputeError(
                ErrorCode::Unsupported,
                std::string(member) + ": are not served; leave the list empty"
            );
        }
    }
    static const Json kNothing = Json::array();
    const auto list = [&](const char* member) -> const Json& {
        const auto found = value.find(member);
        return found == value.end() ? kNothing : *found;
    };
    Document document;
    document.tenant_id = TenantId(value.at("tenantId").get<std::string>());
    document.pools = decode_pools(list("pools"), document.tenant_id);
    document.projects = decode_projects(list("projects"));
    document.quotas = decode_quotas(list("quotas"), document.tenant_id);
    sort_by(document.pools, [](const Item& item) { return item.name; });
    sort_by(document.projects, [](const Item& item) { return item.name; });
    sort_by(document.quotas, [](const QuotaItem& item) { return item.name(); });
    return document;
}

}  // namespace compute::fleet
