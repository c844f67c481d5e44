#include "audit/keys.h"

#include "core/error.h"
#include "crypto/crypto.h"

namespace compute::audit {
namespace {

constexpr std::string_view kInfo = "better-compute/audit-key/v1";
constexpr std::size_t kSeedBytes = 32;
constexpr std::size_t kIdDigits = 16;

constexpr store::Sql kRead =
    "select id, public_key, seed, created_at from audit_keys order by number";
constexpr store::Sql kNewest = "select id, seed from audit_keys order by number desc limit 1";
constexpr store::Sql kInsert =
    "insert into audit_keys (number, id, public_key, seed, created_at) "
    "select coalesce(max(number), 0) + 1, $1, $2, $3, $4 from audit_keys where true "
    "on conflict (number) do nothing";
// Compares what was read, so that of two that seal again the second changes nothing.
constexpr store::Sql kReseal = "update audit_keys set seed = $3 where id = $1 and seed = $2";

std::string place_of(std::string_view id) {
    return "audit-key:" + std::string(id);
}

KeyTrust trust_of(
    const std::string& id,
    const std::string& public_key,
    const std::string& sealed,
    const crypto::SecretBox* box
) {
    const auto seed = box != nullptr ? box->open(sealed, place_of(id)) : std::nullopt;
    if (!seed || seed->size() != kSeedBytes) {
        return KeyTrust::Unreadable;
    }
    const std::string bytes = crypto::ed25519_from_seed(*seed).public_key;
    if (crypto::to_base64url(bytes) != public_key || key_id_of(bytes) != id) {
        return KeyTrust::Forged;
    }
    return box->is_sealed_with_previous(sealed, place_of(id)) ? KeyTrust::Previous
                                                              : KeyTrust::Vouched;
}

}  // namespace

crypto::SecretBox make_key_box(
    const crypto::Secret& deployment_secret, const std::vector<crypto::Secret>& previous_secrets
) {
    if (deployment_secret.empty()) {
        throw invalid_config("secret: the audit trail's key needs a deployment secret");
    }
    return {kInfo, deployment_secret, previous_secrets};
}

std::string key_id_of(std::string_view public_key_bytes) {
    return crypto::to_hex(crypto::sha256(public_key_bytes)).substr(0, kIdDigits);
}

std::vector<Key> read_keys(store::Transaction& tx, const crypto::SecretBox* box) {
    std::vector<Key> keys;
    for (const store::Row& row : tx.query(kRead)) {
        keys.push_back(
            {.id = row.get_text(0),
             .public_key = row.get_text(1),
             .created_at = row.get_int(3),
             .trust = trust_of(row.get_text(0), row.get_text(1), row.get_text(2), box)}
        );
    }
    return keys;
}

std::optional<SigningKey> find_signing_key(store::Transaction& tx, const crypto::SecretBox& box) {
    const auto row = tx.find_row(kNewest);
    if (!row) {
        return std::nullopt;
    }
    const std::string& id = row->get_text(0);
    auto seed = box.open(row->get_text(1), place_of(id));
    if (!seed || seed->size() != kSeedBytes) {
        throw invalid_config(
            "secret: it does not open the audit trail's key " + id,
            "list the secret it was sealed under in previous_secrets; when that is lost: "
            "better-compute audit key --replace"
        );
    }
    return SigningKey{id, std::move(*seed)};
}

NewKey make_key(const crypto::SecretBox& box, const Clock& clock, Rng& rng) {
    std::string bytes(kSeedBytes, '\0');
    rng.fill(bytes.data(), bytes.size());
    const crypto::Secret seed(std::move(bytes));
    const std::string public_key = crypto::ed25519_from_seed(seed).public_key;
    NewKey made;
    made.key.id = key_id_of(public_key);
    made.key.public_key = crypto::to_base64url(public_key);
    made.key.created_at = clock.now_ms();
    made.key.trust = KeyTrust::Vouched;
    made.sealed_seed = box.seal(seed, place_of(made.key.id), rng);
    return made;
}

bool insert_key(store::Transaction& tx, const NewKey& key) {
    return tx.execute(
               kInsert, {key.key.id, key.key.public_key, key.sealed_seed, key.key.created_at}
           ) == 1;
}

Resealed reseal_keys(
    store::Transaction& tx, const crypto::SecretBox& box, ResealMode mode, Rng& rng
) {
    Resealed report;
    const store::Rows rows = tx.query(kRead);
    for (const store::Row& row : rows) {
        const std::string& id = row.get_text(0);
        const std::string& sealed = row.get_text(2);
        const auto seed = box.open(sealed, place_of(id));
        if (!seed) {
            // One that was replaced because its secret is lost stays so, and nothing waits for it.
            const bool is_in_use = &row == &rows.back();
            report.unreadable += is_in_use ? 1 : 0;
            report.remaining += is_in_use ? 1 : 0;
        } else if (box.is_sealed_with_previous(sealed, place_of(id))) {
            if (mode == ResealMode::DryRun) {
                ++report.remaining;
            } else {
                report.resealed +=
                    tx.execute(kReseal, {id, sealed, box.seal(*seed, place_of(id), rng)});
            }
        }
    }
    return report;
}

}  // namespace compute::audit
