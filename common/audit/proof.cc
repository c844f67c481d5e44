#include "audit/proof.h"

#include <algorithm>
#include <iterator>

#include <nlohmann/json.hpp>

#include "audit/keys.h"
#include "audit/merkle.h"
#include "audit/record.h"
#include "crypto/crypto.h"

namespace compute::audit {
namespace {

constexpr std::int64_t kVersion = 1;
constexpr std::size_t kMaxPath = 64;  // a tree of 2^64 leaves
constexpr std::size_t kPublicKeyBytes = 32;

ComputeError refusal(const std::string& message, std::string hint) {
    return {ErrorCode::InvalidState, message, ErrorExtra{nullptr, "", std::move(hint)}};
}

struct Place {
    std::int64_t index = -1;
    Leaf leaf;
    std::vector<std::string> hashes;  // of all leaves of the tree
};

Place find_place(store::Transaction& tx, const Checkpoint& checkpoint, const Record& record) {
    Place place;
    for (std::int64_t part = 0;; ++part) {
        const auto text = find_leaves_text(tx, checkpoint.seal, part);
        const auto leaves = text ? find_leaves(*text) : std::nullopt;
        if (!leaves) {
            return place;
        }
        for (const Leaf& leaf : *leaves) {
            if (leaf.tree != checkpoint.number - checkpoint.seal) {
                continue;
            }
            if (leaf.id == record.id()) {
                place.index = static_cast<std::int64_t>(place.hashes.size());
                place.leaf = leaf;
            }
            place.hashes.push_back(leaf.hash());
        }
    }
}

// The member `name` of a proof, of the type that `is_right` asks for.
const Json& get(const Json& proof, const char* name, bool (Json::*is_right)() const noexcept) {
    const auto found = proof.find(name);
    if (found == proof.end() || !((*found).*is_right)()) {
        throw invalid_input(std::string(name) + ": is missing or of the wrong type");
    }
    return *found;
}

std::vector<std::string> path_of(const Json& proof) {
    const Json& hashes = get(proof, "path", &Json::is_array);
    std::vector<std::string> path;
    for (const Json& hash : hashes) {
        auto bytes =
            hash.is_string() ? crypto::from_hex(hash.get_ref<const std::string&>()) : std::nullopt;
        if (!bytes || bytes->size() != crypto::kSha256Bytes || path.size() == kMaxPath) {
            throw invalid_input("path: must be at most 64 hashes in hex");
        }
        path.push_back(std::move(*bytes));
    }
    return path;
}

std::string key_bytes(const std::string& text, const char* name) {
    auto bytes = crypto::from_base64url(text);
    if (!bytes || bytes->size() != kPublicKeyBytes) {
        throw invalid_input(std::string(name) + ": must be the base64url of an Ed25519 public key");
    }
    return std::move(*bytes);
}

void check_members(const Json& proof) {
    constexpr const char* kMembers[] = {
        "version", "row", "checkpoint", "index", "path", "publicKey"};
    if (!proof.is_object()) {
        throw invalid_input("proof: must be an object");
    }
    for (const auto& [name, value] : proof.items()) {
        if (std::find(std::begin(kMembers), std::end(kMembers), name) == std::end(kMembers)) {
            throw invalid_input("proof: unknown member " + name);
        }
    }
    if (get(proof, "version", &Json::is_number_integer) != Json(kVersion)) {
        throw invalid_input("version: this is not a proof of version 1");
    }
}

}  // namespace

Json prove(store::Database& database, const std::string& row_id) {
    return database.read([&](store::Transaction& tx) -> Json {
        const auto record = find_record(tx, row_id);
        if (!record) {
            throw not_found("row: there is no audit row " + row_id);
        }
        if (record->position > read_seal_state(tx).end()) {
            throw refusal(
                "row: it is in no checkpoint yet",
                "rows are sealed every hour; better-compute audit seal does it now"
            );
        }
        const auto checkpoint = find_spanning(tx, record->tenant_id(), record->position);
        const Place place = checkpoint ? find_place(tx, *checkpoint, *record) : Place();
        if (place.index < 0 || place.leaf.digest != digest_of(*record)) {
            throw refusal(
                "row: it is not as it was sealed", "better-compute audit verify says what is wrong"
            );
        }
        Json path = Json::array();
        for (const std::string& hash :
             inclusion_path(place.hashes, static_cast<std::size_t>(place.index))) {
            path.push_back(crypto::to_hex(hash));
        }
        std::string public_key;
        for (const Key& key : read_keys(tx, nullptr)) {
            public_key = key.id == checkpoint->key_id ? key.public_key : public_key;
        }
        return Json{
            {"version", kVersion},
            {"row", record_json(*record)},
            {"checkpoint", checkpoint_json(*checkpoint)},
            {"index", place.index},
            {"path", std::move(path)},
            {"publicKey", public_key}};
    });
}

ProofVerdict judge_proof(const Json& proof, const std::optional<std::string>& public_key) {
    check_members(proof);
    const Record record = record_of_json(get(proof, "row", &Json::is_object));
    const Checkpoint checkpoint = checkpoint_of_json(get(proof, "checkpoint", &Json::is_object));
    const auto index = get(proof, "index", &Json::is_number_integer).get<std::int64_t>();
    const std::string brought = get(proof, "publicKey", &Json::is_string).get<std::string>();
    const std::string key = key_bytes(brought, "publicKey");
    const std::string judge = public_key ? key_bytes(*public_key, "key") : key;

    ProofVerdict verdict;
    verdict.row = record.id();
    verdict.tenant_id = record.tenant_id();
    verdict.checkpoint = checkpoint.number;
    verdict.checkpoint_hash = checkpoint.hash();
    verdict.sealed_at = checkpoint.sealed_at;
    verdict.public_key = crypto::to_base64url(judge);
    const Leaf leaf{record.position, 0, record.id(), digest_of(record)};
    const bool has_place = index >= 0 && checkpoint.rows > 0;
    const std::string root = has_place ? root_of_path(
                                             leaf.hash(),
                                             static_cast<std::uint64_t>(index),
                                             static_cast<std::uint64_t>(checkpoint.rows),
                                             path_of(proof)
                                         )
                                       : std::string();
    if (root.empty() || crypto::to_hex(root) != checkpoint.root) {
        verdict.faults.emplace_back("the row does not lead to the checkpoint's root");
    }
    if (record.tenant_id() != checkpoint.tenant_id) {
        verdict.faults.emplace_back("the row is not of the checkpoint's tenant");
    }
    const auto signature = crypto::from_base64url(checkpoint.signature);
    if (!signature || !crypto::ed25519_verify(judge, checkpoint.bytes(), *signature)) {
        verdict.faults.emplace_back(
            public_key ? "the checkpoint is not signed by the key you named"
                       : "the checkpoint's signature does not fit"
        );
    }
    return verdict;
}

}  // namespace compute::audit
