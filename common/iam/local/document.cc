#include "iam/local/document.h"

#include <algorithm>
#include <array>
#include <set>

#include "core/json.h"
#include "iam/local/facts.h"
#include "iam/local/policy.h"
#include "schema/manifest.h"

namespace compute::iam::local {
namespace {

using schema::Shape;

constexpr std::int64_t kMaxDelegationSeconds = 366LL * 24 * 3600;
constexpr std::size_t kMaxItems = 100'000;  // of one section

Shape id() {
    return schema::tenant_id();
}
Shape ids() {
    return schema::array(id(), {.max_items = 128, .unique = true});
}
Shape action_patterns() {
    return schema::array(
        schema::string({.pattern = "^[A-Za-z0-9:*?._-]{1,256}$", .min_length = 1, .max_length = 256}
        ),
        {.max_items = 128}
    );
}
Shape list_of(Shape item) {
    return schema::array(std::move(item), {.max_items = kMaxItems});
}
schema::Field required(std::string name, Shape shape) {
    return {std::move(name), std::move(shape), true, {}};
}
schema::Field optional(std::string name, Shape shape) {
    return {std::move(name), std::move(shape), false, {}};
}

Shape document_shape() {
    const Shape text = schema::string({.pattern = {}, .min_length = 0, .max_length = 256});
    return schema::object({
        required("version", schema::integer({.min = 1, .max = 1})),
        optional(
            "tenants", list_of(schema::object({required("id", id()), optional("name", text)}))
        ),
        optional(
            "policies",
            list_of(schema::object(
                {required("tenant", id()),
                 required("name", id()),
                 required("document", schema::any_object())}
            ))
        ),
        optional(
            "identities",
            list_of(schema::object(
                {required("tenant", id()),
                 required("id", id()),
                 required("kind", schema::one_of({"user", "service", "agent"})),
                 optional("policies", ids()),
                 optional("roles", ids()),
                 optional("attributes", schema::any_object())}
            ))
        ),
        optional(
            "roles",
            list_of(schema::object(
                {required("tenant", id()), required("name", id()), required("policies", ids())}
            ))
        ),
        optional(
            "boundaries",
            list_of(schema::object(
                {required("tenant", id()), required("document", schema::any_object())}
            ))
        ),
        optional(
            "budgets",
            list_of(schema::object(
                {required("tenant", id()),
                 required("name", id()),
                 required("limitGpuHours", schema::number()),
                 required("window", schema::one_of({"day", "month"})),
                 required("enforce", schema::boolean())}
            ))
        ),
        optional(
            "delegations",
            list_of(schema::object(
                {required("id", id()),
                 required("tenant", id()),
                 required("agent", id()),
                 required("subject", id()),
                 required("scopes", action_patterns()),
                 optional("confirm", action_patterns()),
                 required("maxSeconds", schema::integer({.min = 1, .max = kMaxDelegationSeconds}))}
            ))
        ),
    });
}

const Shape& shape() {
    static const Shape kShape = document_shape();
    return kShape;
}

// Names that the IAM fills in itself.
constexpr std::array<std::string_view, 7> kReserved{
    "id", "tenantId", "kind", "sessionId", "mfa", "agentId", "delegationId"};

void check_attributes(const Json& attributes, const std::string& path) {
    for (const auto& [name, value] : attributes.items()) {
        const std::string at = path + "." + name;
        if (!is_attribute_name(name)) {
            throw invalid_input(at + ": is no name for an attribute");
        }
        if (std::find(kReserved.begin(), kReserved.end(), name) != kReserved.end()) {
            throw invalid_input(at + ": is a name the IAM fills in itself");
        }
        const bool is_list =
            value.is_array() && std::all_of(value.begin(), value.end(), [](const Json& item) {
                return item.is_string();
            });
        if (!is_list && !value.is_string() && !value.is_number() && !value.is_boolean()) {
            throw invalid_input(
                at + ": must be a string, a number, a boolean or a list of strings"
            );
        }
    }
}

Json sorted(const Json& list) {
    std::set<std::string> names;
    for (const Json& item : list) {
        names.insert(item.get<std::string>());
    }
    return Json(names);
}

Json normal_identity(Json item, const std::string& path) {
    if (item["id"].get_ref<const std::string&>().starts_with("os:")) {
        throw invalid_input(path + ".id: os: is kept for users of the operating system");
    }
    item["policies"] = sorted(item.value("policies", Json::array()));
    if (Json roles = sorted(item.value("roles", Json::array())); !roles.empty()) {
        item["roles"] = std::move(roles);
    } else {
        item.erase("roles");
    }
    if (const auto attributes = item.find("attributes"); attributes != item.end()) {
        check_attributes(*attributes, path + ".attributes");
        if (attributes->empty()) {
            item.erase(attributes);
        }
    }
    return item;
}

Json normal_item(const std::string& section, Json item, const std::string& path) {
    if (section == "policies") {
        (void)Policy::compile(item["document"], path + ".document");
    } else if (section == "roles") {
        item["policies"] = sorted(item["policies"]);
    } else if (section == "identities") {
        return normal_identity(std::move(item), path);
    } else if (section == "delegations") {
        item["confirm"] = sorted(item.value("confirm", Json::array()));
        item["scopes"] = sorted(item["scopes"]);
        if (item["agent"] == item["subject"]) {
            throw invalid_input(path + ".agent: must be another identity than the subject");
        }
    }
    return item;
}

ItemKey key_of(const std::string& section, const Json& item) {
    if (section == "tenants" || section == "delegations") {
        return {item["id"].get<std::string>()};
    }
    return {
        item["tenant"].get<std::string>(),
        item[section == "identities" ? "id" : "name"].get<std::string>()};
}

void add_boundary(Items& items, const Json& boundary, const std::string& path) {
    (void)Policy::compile(boundary["document"], path + ".document");
    Json& item = items[{boundary["tenant"].get<std::string>()}];
    item["tenant"] = boundary["tenant"];
    item["documents"].push_back(boundary["document"]);
}

}  // namespace

std::string item_name(const ItemKey& key) {
    return key.size() == 1 ? key.front() : key.front() + "/" + key.back();
}

Contents parse_document(const Json& raw) {
    const Json document = shape().check(raw, "");
    Contents contents;
    for (const char* section : kSections) {
        Items& items = contents[section];
        const Json& list = document.contains(section) ? document[section] : Json::array();
        for (std::size_t i = 0; i < list.size(); ++i) {
            const std::string path = std::string(section) + "[" + std::to_string(i) + "]";
            if (std::string_view(section) == "boundaries") {
                add_boundary(items, list[i], path);
                continue;
            }
            Json item = normal_item(section, list[i], path);
            const ItemKey key = key_of(section, item);
            if (!items.emplace(key, std::move(item)).second) {
                throw invalid_input(path + ": " + item_name(key) + " is named twice");
            }
        }
    }
    return contents;
}

Json write_document(const Contents& contents) {
    Json document{{"version", 1}};
    for (const char* section : kSections) {
        Json list = Json::array();
        const auto found = contents.find(section);
        for (const auto& [key, item] : found == contents.end() ? Items() : found->second) {
            if (std::string_view(section) != "boundaries") {
                list.push_back(item);
                continue;
            }
            for (const Json& boundary : item["documents"]) {
                list.push_back(Json{{"tenant", item["tenant"]}, {"document", boundary}});
            }
        }
        document[section] = std::move(list);
    }
    return document;
}

Json document_schema() {
    return shape().json_schema();
}

}  // namespace compute::iam::local
