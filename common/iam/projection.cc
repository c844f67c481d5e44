#include "iam/projection.h"

#include <memory>
#include <utility>

#include <nlohmann/json.hpp>

#include "core/json.h"

namespace compute::iam {
namespace {

// `updated_at` grows with every write of a row, also within one millisecond: the mirror of a remote
// IAM tells versions apart by it. A row never changes its tenant: the case leaves null, which the
// not-null constraint refuses.
constexpr store::Sql kUpsert(
    "insert into authz_resources (type, id, tenant_id, attributes, pending, owner_id, updated_at) "
    "values ($1, $2, $3, $4, $5, $6, $7) "
    "on conflict (type, id) do update set "
    "tenant_id = case when authz_resources.tenant_id = excluded.tenant_id then excluded.tenant_id "
    "end, "
    "attributes = excluded.attributes, pending = excluded.pending, owner_id = excluded.owner_id, "
    "updated_at = case when excluded.updated_at > authz_resources.updated_at then "
    "excluded.updated_at "
    "else authz_resources.updated_at + 1 end"
);
constexpr store::Sql kRemove("delete from authz_resources where type = $1 and id = $2");
constexpr store::Sql kFind(
    "select tenant_id, attributes, pending, owner_id from authz_resources where type = $1 and id = "
    "$2"
);

bool is_attribute(const Json& value) {
    if (value.is_array()) {
        for (const Json& item : value) {
            if (!item.is_string()) {
                return false;
            }
        }
        return true;
    }
    return value.is_string() || value.is_number() || value.is_boolean() || value.is_null();
}

void check_attributes(const ProjectionRow& row, const Json& attributes) {
    if (!attributes.is_object()) {
        throw internal_error(
            "authz row " + row.resource.type + "/" + row.resource.id + ": attributes are no object"
        );
    }
    for (const auto& [name, value] : attributes.items()) {
        if (!is_attribute(value)) {
            throw internal_error(
                "authz row of type " + row.resource.type + ": attribute " + name +
                " has a type no policy can read"
            );
        }
    }
}

}  // namespace

void upsert_projection(store::Transaction& tx, const ProjectionRow& row, std::int64_t now_ms) {
    std::string attributes = "{}";
    if (row.attributes != nullptr) {
        check_attributes(row, *row.attributes);
        attributes = canonical_json(*row.attributes);
    }
    std::optional<std::string> pending;
    if (row.pending != nullptr) {
        check_attributes(row, *row.pending);
        pending = canonical_json(*row.pending);
    }
    tx.defer(
        kUpsert,
        {row.resource.type,
         row.resource.id,
         row.tenant_id,
         attributes,
         pending,
         row.owner_id,
         now_ms}
    );
}

void remove_projection(store::Transaction& tx, const ResourceRef& resource) {
    tx.defer(kRemove, {resource.type, resource.id});
}

std::optional<ProjectionRow> find_projection(store::Transaction& tx, const ResourceRef& resource) {
    const auto row = tx.find_row(kFind, {resource.type, resource.id});
    if (!row) {
        return std::nullopt;
    }
    const auto read = [](const std::string& text) {
        return std::make_shared<const Json>(Json::parse(text));
    };
    const auto pending = row->find_text(2);
    return ProjectionRow{
        .resource = resource,
        .tenant_id = TenantId(row->get_text(0)),
        .attributes = read(row->get_text(1)),
        .owner_id = row->find_text(3),
        .pending = pending ? read(*pending) : nullptr};
}

}  // namespace compute::iam
