#include <algorithm>
#include <utility>

#include "core/json.h"
#include "iam/local/document.h"

namespace compute::iam::local {
namespace {

// Held to the end of the transaction: two documents are applied one after the other.
constexpr store::Sql kLockState(
    "select revision from iam_state where id = 1",
    "select revision from iam_state where id = 1 for update"
);
// A dry run reads in a read-only transaction, which may not lock.
constexpr store::Sql kReadState("select revision from iam_state where id = 1");
constexpr store::Sql kBumpRevision("update iam_state set revision = revision + 1 where id = 1");

// What pruning leaves alone: without them a document that forgets them would shut everybody out.
bool is_kept(const std::string& section, const ItemKey& key, const std::string& root) {
    if (section == "tenants") {
        return key[0] == root;
    }
    return (section == "identities" || section == "policies") && key == ItemKey{root, "root"};
}

Contents merged(const Contents& current, const Contents& document, const ApplyOptions& options) {
    Contents target = current;
    if (options.is_prune) {
        for (auto& [section, items] : target) {
            for (auto item = items.begin(); item != items.end();) {
                item = is_kept(section, item->first, options.root_tenant) ? std::next(item)
                                                                          : items.erase(item);
            }
        }
    }
    for (const auto& [section, items] : document) {
        for (const auto& [key, item] : items) {
            target[section][key] = item;
        }
    }
    return target;
}

class ReferenceCheck {
public:
    explicit ReferenceCheck(const Contents& contents) : contents_(contents) {}

    void run() const {
        for (const auto& [section, items] : contents_) {
            for (const auto& [key, item] : items) {
                check_item(section, key, item);
            }
        }
    }

private:
    void check_item(const std::string& section, const ItemKey& key, const Json& item) const {
        if (section == "tenants") {
            return;
        }
        const std::string path = section + " " + item_name(key);
        const auto tenant = item["tenant"].get<std::string>();
        need("tenants", {tenant}, path + ".tenant");
        for (const auto& [member, target] :
             {std::pair("policies", "policies"), std::pair("roles", "roles")}) {
            for (const Json& name : item.value(member, Json::array())) {
                need(target, {tenant, name.get<std::string>()}, path + "." + member);
            }
        }
        if (section == "delegations") {
            need("identities", {tenant, item["agent"].get<std::string>()}, path + ".agent");
            need("identities", {tenant, item["subject"].get<std::string>()}, path + ".subject");
        }
    }

    void need(const char* section, const ItemKey& key, const std::string& path) const {
        if (!contents_.find(section)->second.contains(key)) {
            throw invalid_input(path + ": there is no " + item_name(key) + " in " + section);
        }
    }

    const Contents& contents_;
};

std::vector<Change> differences(const Contents& current, const Contents& target) {
    std::vector<Change> changes;
    for (const char* section : kSections) {
        const Items& before = current.find(section)->second;
        const Items& after = target.find(section)->second;
        for (const auto& [key, item] : after) {
            const auto old = before.find(key);
            if (old == before.end()) {
                changes.push_back({section, item_name(key), "added"});
            } else if (canonical_json(old->second) != canonical_json(item)) {
                changes.push_back({section, item_name(key), "changed"});
            }
        }
        for (const auto& [key, item] : before) {
            if (!after.contains(key)) {
                changes.push_back({section, item_name(key), "removed"});
            }
        }
    }
    return changes;
}

void write_differences(
    store::Transaction& tx, const Contents& current, const Contents& target, EpochMs now
) {
    for (const char* section : kSections) {
        const Items& before = current.find(section)->second;
        const Items& after = target.find(section)->second;
        for (const auto& [key, item] : before) {
            if (!after.contains(key)) {
                remove_item(tx, section, key, now);
            }
        }
        for (const auto& [key, item] : after) {
            const auto old = before.find(key);
            if (old == before.end() || canonical_json(old->second) != canonical_json(item)) {
                put_item(tx, section, key, item, now);
            }
        }
    }
}

}  // namespace

// Everything happens in the caller's transaction: a process that dies anywhere in here leaves the
// old state whole.
ApplyResult apply_document(
    store::Transaction& tx, const Contents& document, const ApplyOptions& options, EpochMs now
) {
    ApplyResult result;
    result.revision = tx.get_row(options.is_dry_run ? kReadState : kLockState).get_int(0);
    const Contents current = load_contents(tx);
    const Contents target = merged(current, document, options);
    ReferenceCheck(target).run();
    result.changes = differences(current, target);
    if (options.is_dry_run || result.changes.empty()) {
        return result;
    }
    write_differences(tx, current, target, now);
    tx.execute(kBumpRevision);
    ++result.revision;
    return result;
}

Json to_json(const ApplyResult& result) {
    Json changes = Json::array();
    for (const Change& change : result.changes) {
        changes.push_back(Json{
            {"section", change.section}, {"name", change.name}, {"change", change.what}});
    }
    return Json{{"changes", std::move(changes)}, {"revision", result.revision}};
}

Json export_document(store::Transaction& tx) {
    return write_document(load_contents(tx));
}

}  // namespace compute::iam::local
