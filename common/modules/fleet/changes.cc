#include "modules/fleet/changes.h"

namespace compute::fleet {
namespace {

const Json kAbsent;

void add(Json& changes, const std::string& field, const Json& before, const Json& after) {
    if (before != after) {
        changes.push_back({{"field", field}, {"before", before}, {"after", after}});
    }
}

void add_keys(Json& changes, const std::string& field, const Json& before, const Json& after) {
    Json keys = before;
    keys.update(after);
    for (const auto& [key, unused] : keys.items()) {
        add(changes,
            field + "." + key,
            member_or(before, key, kAbsent),
            member_or(after, key, kAbsent));
    }
}

void add_named(Json& changes, const char* member, const std::string& name) {
    Json change{{"field", "name"}, {"before", nullptr}, {"after", nullptr}};
    change[member] = name;
    changes.push_back(std::move(change));
}

}  // namespace

Json changes_between(const Json& before, const Json& after, const Json& defaults) {
    Json changes = Json::array();
    for (const auto& [field, fallback] : defaults.items()) {
        const Json& from = member_or(before, field, fallback);
        const Json& to = member_or(after, field, fallback);
        if (fallback.is_object()) {
            add_keys(changes, field, from, to);
        } else {
            add(changes, field, from, to);
        }
    }
    return changes;
}

// What has its default is not worth a line.
Json changes_of_create(const Item& item, const Json& defaults) {
    Json changes = Json::array();
    add_named(changes, "after", item.name);
    for (Json change : changes_between(Json::object(), item.fields, defaults)) {
        change["before"] = nullptr;
        changes.push_back(std::move(change));
    }
    return changes;
}

Json changes_of_delete(const Item& item, const Json& defaults) {
    Json changes = Json::array();
    add_named(changes, "before", item.name);
    for (Json change : changes_between(item.fields, Json::object(), defaults)) {
        change["after"] = nullptr;
        changes.push_back(std::move(change));
    }
    return changes;
}

Json changes_of_limits(const Json& before, const Json& after) {
    Json changes = Json::array();
    add_keys(changes, "limits", before, after);
    return changes;
}

}  // namespace compute::fleet
