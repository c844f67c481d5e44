// What an agent knows of its machine beside the GPUs, and where it keeps who it is.
#pragma once

#include <optional>
#include <string>

#include "agent/session.h"

namespace compute::agent {

[[nodiscard]] std::int64_t machine_cpu_milli();
[[nodiscard]] std::int64_t machine_memory_mib();
[[nodiscard]] agent_protocol::Abilities machine_abilities();
[[nodiscard]] std::string boot_id();
// /etc/machine-id, else one that is made once and kept in `data`.
[[nodiscard]] std::string machine_id(const std::string& data, Rng& rng);
// The first label of the host name as a node's name.
[[nodiscard]] std::string host_node_name();

struct StoredCredential {
    std::string node_id;
    crypto::Secret credential;
};
// INVALID_CONFIG when the file is there and is none; nullopt when it is not there.
[[nodiscard]] std::optional<StoredCredential> read_credential(const std::string& path);
// Whole or not at all, on disk before it returns, mode 0600.
void write_credential(const std::string& path, const StoredCredential& credential);

// The first line of a file with a token; INVALID_CONFIG when it cannot be read or is empty.
[[nodiscard]] crypto::Secret read_token(const std::string& path);

}  // namespace compute::agent
