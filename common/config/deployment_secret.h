// The deployment secret: from the configuration, else from `<database>.secret` beside an embedded
// database, which the first `serve` makes. Every process of a deployment must have the same one.
#pragma once

#include <optional>
#include <string>

#include "config/config.h"
#include "core/rng.h"

namespace compute::config {

enum class SecretNeed {
    Optional,  // commands: none is an answer, config.secret stays empty
    Required,  // commands that seal or open: none is INVALID_CONFIG
    Serve,     // like Required, but makes the file on an embedded database
};

struct ResolvedSecret {
    std::string origin;  // "BETTER_COMPUTE_SECRET", "better-compute.toml:3",
                         // "./better-compute.db.secret", "" when there is none
    bool was_created = false;
};

// Fills config.secret. INVALID_CONFIG when there is none and one is needed, when it is shorter than
// 32 characters, or when the file is no plain file, not ours, or open to others than its owner.
//
// The file is written whole under another name, synced, and then linked to its own: a process that
// dies on the way leaves no half secret, and of two that start at once one links and the other
// reads what it linked.
ResolvedSecret resolve_secret(Config& config, SecretNeed need, Rng& rng);

// `<database>.secret`; nullopt on PostgreSQL, whose processes share one secret, and in memory.
[[nodiscard]] std::optional<std::string> find_secret_file(const Config& config);
// `<database>.root-token`, beside the file of an embedded database; on PostgreSQL, which has none,
// in the working directory and after the database's name. nullopt in memory.
[[nodiscard]] std::optional<std::string> find_root_token_file(const Config& config);

// A secret from a file that only its owner may read, without trailing line breaks; nullopt when
// there is no such file. INVALID_CONFIG naming path and reason for any other fault.
[[nodiscard]] std::optional<crypto::Secret> find_secret_in_file(const std::string& path);

// Writes `secret` and a line break to a new file of mode 0600, all or nothing; false when the file
// was there already.
[[nodiscard]] bool create_secret_file(
    const std::string& path, const crypto::Secret& secret, Rng& rng
);

}  // namespace compute::config
