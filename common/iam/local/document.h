// The IAM document: who and what the embedded IAM knows, as one JSON text. `iam apply` brings the
// database to it in one transaction, `iam export` prints it. Applying is an upsert; what the
// document does not name stays, unless it is told to prune.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/clock.h"
#include "core/error.h"
#include "store/database.h"

namespace compute::iam::local {

// The items of a document by section and key (tenant, then name or id), each in its canonical form.
// Sections are named as in the document, but a tenant's boundaries form one item.
using ItemKey = std::vector<std::string>;
using Items = std::map<ItemKey, Json>;
using Contents = std::map<std::string, Items, std::less<>>;

inline constexpr const char* kSections[] = {
    "tenants", "policies", "roles", "identities", "boundaries", "budgets", "delegations"};

// Reads and checks a document by itself: structure, names, every policy compiled. Throws
// INVALID_INPUT `path: reason`. Pure.
[[nodiscard]] Contents parse_document(const Json& document);

// The document that describes `contents`.
[[nodiscard]] Json write_document(const Contents& contents);

// The JSON Schema of the document.
[[nodiscard]] Json document_schema();

struct ApplyOptions {
    std::string root_tenant = "root";
    bool is_dry_run = false;  // says what would change, changes nothing
    bool is_prune = false;    // removes what is not named; never the root tenant, nor the identity
                              // and policy `root` in it
};
struct Change {
    std::string section;
    std::string name;  // "acme/admin"
    std::string what;  // added, changed, removed
};
struct ApplyResult {
    std::vector<Change> changes;
    std::int64_t revision = 0;  // of the policies, after
};

// Applies a parsed document in `tx`. Throws INVALID_INPUT when a reference leads nowhere; nothing
// is written then. Tokens of a removed identity or delegation are revoked, so that making it anew
// does not bring them back. Applying twice changes nothing.
ApplyResult apply_document(
    store::Transaction& tx, const Contents& document, const ApplyOptions& options, EpochMs now
);
[[nodiscard]] Json to_json(const ApplyResult& result);

// What the database holds, as a document that applies to the same.
[[nodiscard]] Json export_document(store::Transaction& tx);

// Rows of the database; for apply and export.
[[nodiscard]] Contents load_contents(store::Transaction& tx);
void put_item(
    store::Transaction& tx,
    const std::string& section,
    const ItemKey& key,
    const Json& item,
    EpochMs now
);
void remove_item(
    store::Transaction& tx, const std::string& section, const ItemKey& key, EpochMs now
);
// "acme/admin"
[[nodiscard]] std::string item_name(const ItemKey& key);

}  // namespace compute::iam::local
