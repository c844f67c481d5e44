// What is settled before `serve` listens: whether the listener is safe, who holds the database, the
// secret and the first root token.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "config/config.h"
#include "daemon/compute.h"
#include "store/process_lock.h"

namespace compute::daemon {

// A listener that is not loopback needs an explicit secret, and TLS or a proxy in front.
// INVALID_CONFIG naming what is missing. Call it before the secret is resolved.
void check_listener(const config::Config& config);

// The lock on an embedded database's file; null for other databases. INVALID_STATE naming the
// process that holds it.
[[nodiscard]] std::unique_ptr<store::ProcessLock> lock_database(const config::Config& config);

struct RootToken {
    std::string path;
    bool was_created = false;
};
// With no identity in the embedded IAM, makes the root identity and writes its token to
// config::find_root_token_file() (0600). Returns where the token is when there is such a file;
// nullopt with a remote IAM. Of several processes on one PostgreSQL the first makes it, where it
// runs; one that may not write there starts without and says so in the log.
[[nodiscard]] std::optional<RootToken> ensure_root_token(Compute& compute);

// Replaces `path` by a file with this text, all or nothing.
void write_file_atomically(const std::string& path, const std::string& text);

}  // namespace compute::daemon
