// A checkpoint: the root over rows of one tenant, sealed together, signed and chained to the
// checkpoint before it and to the tenant's own one before it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "audit/record.h"
#include "core/clock.h"
#include "core/error.h"
#include "store/database.h"

namespace compute::audit {

struct Checkpoint {
    std::int64_t number = 0;  // 1, 2, ... over all tenants
    std::int64_t seal = 0;    // the number of the first one that was made together with it
    std::string tenant_id;
    std::int64_t tenant_number = 0;  // 1, 2, ... of the tenant
    Position from;                   // the seal's rows lie behind this place
    Position to;                     // up to this one
    EpochMs first_time = 0;          // of the tenant's rows in it
    EpochMs last_time = 0;
    EpochMs sealed_at = 0;
    std::int64_t rows = 0;
    std::string root;             // hex, as all hashes here
    std::string previous;         // the hash of checkpoint number - 1; empty for the first
    std::string tenant_previous;  // the hash of the tenant's one before
    std::string key_id;
    std::string signature;  // base64url

    // What is signed.
    [[nodiscard]] std::string bytes() const;
    // SHA-256 of bytes(), hex: what the next one names.
    [[nodiscard]] std::string hash() const;
};

// Those with numbers behind `after`, lowest first, at most `limit`.
[[nodiscard]] std::vector<Checkpoint> read_checkpoints(
    store::Transaction& tx, std::int64_t after, int limit
);
// The number of the first one sealed at or after `since`; nullopt when there is none.
[[nodiscard]] std::optional<std::int64_t> find_first_since(store::Transaction& tx, EpochMs since);
[[nodiscard]] std::optional<Checkpoint> find_last_of(
    store::Transaction& tx, const std::string& tenant_id
);
[[nodiscard]] std::optional<Checkpoint> find_of_tenant(
    store::Transaction& tx, const std::string& tenant_id, std::int64_t tenant_number
);
// The tenant's checkpoint whose seal spans `position`.
[[nodiscard]] std::optional<Checkpoint> find_spanning(
    store::Transaction& tx, const std::string& tenant_id, Position position
);
void insert_checkpoint(store::Transaction& tx, const Checkpoint& checkpoint);

// One part of a seal's leaves as text, and back; nullopt for a text that write_leaves() did not
// write.
[[nodiscard]] std::string write_leaves(const std::vector<Leaf>& leaves);
[[nodiscard]] std::optional<std::vector<Leaf>> find_leaves(std::string_view text);
// Part `part` of a seal, from 0; nullopt when there is none (any more).
[[nodiscard]] std::optional<std::string> find_leaves_text(
    store::Transaction& tx, std::int64_t seal, std::int64_t part
);
void insert_leaves(
    store::Transaction& tx, std::int64_t seal, std::int64_t part, const std::vector<Leaf>& leaves
);
// Of the oldest `limit` seals, those whose rows are all at or below `pruned`.
void delete_leaves_up_to(store::Transaction& tx, Position pruned, int limit);

// How far the trail is sealed and pruned.
struct SealState {
    std::int64_t checkpoint = 0;  // the last one's number and hash
    std::string hash;
    Position sealed;
    EpochMs hour = 0;  // the hour in which everything was last sealed
    Position pruned;   // rows at or below it are gone on purpose
    std::optional<std::string> pruned_key;
    std::optional<std::string> pruned_signature;

    // Behind which nothing is sealed.
    [[nodiscard]] Position end() const { return checkpoint == 0 ? kLowest : sealed; }
};

[[nodiscard]] SealState read_seal_state(store::Transaction& tx);
// What the signature of the pruned place covers.
[[nodiscard]] std::string prune_mark_bytes(Position pruned);

[[nodiscard]] Json checkpoint_json(const Checkpoint& checkpoint);
// INVALID_INPUT naming what is missing, unknown or of the wrong type.
[[nodiscard]] Checkpoint checkpoint_of_json(const Json& value);

}  // namespace compute::audit
