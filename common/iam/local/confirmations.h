// Confirmations: a person admits what an agent asked for. One belongs to a delegation and to
// exactly one request (action, resource, hash of the input), is used up by the first decision that
// needs it, and expires.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/clock.h"
#include "core/rng.h"
#include "iam/port.h"
#include "store/database.h"

namespace compute::iam::local {

inline constexpr std::int64_t kConfirmationMs =
    3'600'000;  // how long one waits for a person, and an approval for its use
inline constexpr int kMaxOpenConfirmations = 100;  // waiting ones of a delegation
inline constexpr std::size_t kMaxReasonBytes = 1024;

// What a delegation holds back.
struct HeldRequest {
    TenantId tenant_id;
    std::string delegation_id;
    std::string agent;
    std::string subject;
    std::string action;
    ResourceRef resource;
    std::string request_hash;
};
// `caller` is delegated.
[[nodiscard]] HeldRequest held_request(const Caller& caller, const Question& question);

// Uses up the oldest approval of the request and returns who gave it; nullopt when there is none.
// Of two decisions at once only one gets it. If the process dies right after, the approval is gone
// and the person is asked again.
[[nodiscard]] std::optional<std::string> use_confirmation(
    store::Database& database, const Clock& clock, const HeldRequest& held
);

// The confirmation that waits for this request (or is approved and not yet used), else a new one;
// nullopt while one stands that a person refused. RATE_LIMITED when too many wait.
[[nodiscard]] std::optional<Confirmation> open_confirmation(
    store::Database& database,
    const Clock& clock,
    Rng& rng,
    const HeldRequest& held,
    std::string_view reason
);

struct ConfirmationRow {
    std::string id;
    HeldRequest held;
    std::string reason;
    std::string state;  // pending, approved, denied, used, expired
    EpochMs created_at = 0;
    EpochMs expires_at = 0;
    std::optional<EpochMs> decided_at;
    std::optional<std::string> decided_by;
};
struct ConfirmationFilter {
    std::optional<std::string> tenant_id;
    std::optional<std::string> state;
    int limit = 100;
};
// Newest first.
[[nodiscard]] std::vector<ConfirmationRow> list_confirmations(
    store::Transaction& tx, EpochMs now, const ConfirmationFilter& filter = {}
);

enum class Ruling { Approve, Deny };
// NOT_FOUND for an unknown id, INVALID_STATE for one that waits no more. The same ruling twice is
// no error.
ConfirmationRow rule_confirmation(
    store::Transaction& tx,
    EpochMs now,
    const std::string& id,
    Ruling ruling,
    const std::string& decided_by
);

}  // namespace compute::iam::local
