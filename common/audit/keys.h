// The Ed25519 keys that checkpoints are signed with, sealed under the deployment secret.
//
// Whoever can write the database could put a public key of his own beside checkpoints he has signed
// himself. So a stored public key is believed only when its sealed seed opens under the deployment
// secret and leads to it, or when the person who verifies names the key.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/clock.h"
#include "core/rng.h"
#include "crypto/secret_box.h"
#include "store/database.h"

namespace compute::audit {

// The box for these keys. INVALID_CONFIG when there is no deployment secret.
[[nodiscard]] crypto::SecretBox make_key_box(
    const crypto::Secret& deployment_secret, const std::vector<crypto::Secret>& previous_secrets
);

enum class KeyTrust {
    Vouched,     // the deployment secret opens its seed, which leads to the public key
    Previous,    // the same under a previous secret: `secrets rotate` is due
    Unreadable,  // no configured secret opens it
    Forged,      // it opens and leads to another public key
};

struct Key {
    std::string id;          // the first 16 hex digits of the public key's SHA-256
    std::string public_key;  // base64url
    EpochMs created_at = 0;
    KeyTrust trust = KeyTrust::Unreadable;
};

// Every key, oldest first; the last is in use. Without a box all are Unreadable.
[[nodiscard]] std::vector<Key> read_keys(store::Transaction& tx, const crypto::SecretBox* box);

struct SigningKey {
    std::string id;
    crypto::Secret seed;
};
// The key in use; nullopt when there is none yet. INVALID_CONFIG when no configured secret opens
// it.
[[nodiscard]] std::optional<SigningKey> find_signing_key(
    store::Transaction& tx, const crypto::SecretBox& box
);

// A new key, sealed and ready to be stored.
struct NewKey {
    Key key;
    std::string sealed_seed;
};
[[nodiscard]] NewKey make_key(const crypto::SecretBox& box, const Clock& clock, Rng& rng);
// Makes it the key in use from this transaction on. False when another process made one at the same
// moment: then that one is in use.
bool insert_key(store::Transaction& tx, const NewKey& key);

struct Resealed {
    std::int64_t resealed = 0;
    std::int64_t remaining = 0;   // a dry run's, and the unreadable one
    std::int64_t unreadable = 0;  // 1 when no configured secret opens the key in use
};
enum class ResealMode { Reseal, DryRun };
// Seals again, under the current secret, the seeds that only a previous one opens. All in `tx`.
Resealed reseal_keys(
    store::Transaction& tx, const crypto::SecretBox& box, ResealMode mode, Rng& rng
);

[[nodiscard]] std::string key_id_of(std::string_view public_key_bytes);

}  // namespace compute::audit
