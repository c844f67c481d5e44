// The delivery queue as statements: what an engine does to lanes and rows inside one transaction.
// All of it holds only against the lease token that the lane carries, so a holder whose lane was
// taken over changes nothing.
//
// Lock order: the webhook's row, then lanes (ascending), then deliveries. lock_lanes() comes first
// in a transaction that gives lanes back: on PostgreSQL a statement sees only what was committed
// before it began, and a fan-out that is adding rows to a lane holds that lane's row. Settling
// takes no lanes; should it meet a pause halfway, PostgreSQL ends one of them and the store runs it
// again.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "modules/events/model.h"

namespace compute::events {

// Which sending loop a webhook belongs to; the numbers stand in webhook_lanes.slow.
enum class LaneClass { Fast = 0, Slow = 1, Unproven = 2 };
inline constexpr std::size_t kLaneClasses = 3;

// A lane that was picked, with what its webhook needs to be sent to.
struct LaneRow {
    std::int64_t webhook = 0;
    bool had_holder = false;  // its lease ran out
    bool is_careful = false;
    bool is_known = false;  // false: the webhook is deleted
    bool is_active = false;
    std::string id;
    std::string url;
    std::string secret;  // sealed
    std::optional<std::string> previous_secret;
    std::optional<EpochMs> previous_expires_at;
    std::int64_t revision = 0;
};

struct ClaimedRow {
    std::int64_t seq = 0;
    std::int64_t webhook = 0;
    std::int64_t event = 0;
    std::string id;
    std::string type;
    std::string body;
    int attempt = 0;  // this claim counted
    int round = 0;
    EpochMs next_at = 0;
};

// Rows of one lane to claim: at most `room`, behind (after_next_at, after_seq).
struct ClaimLane {
    std::int64_t webhook = 0;
    int room = 0;
    EpochMs after_next_at = -1;
    std::int64_t after_seq = -1;
};

// What becomes of a claimed row. `is_handed_back`: it was never sent; the attempt is undone and
// nothing else changes.
struct Settlement {
    std::int64_t seq = 0;
    std::int64_t webhook = 0;
    bool is_handed_back = false;
    DeliveryState state = DeliveryState::Pending;
    std::optional<EpochMs> next_at;
    std::optional<int> status;
    std::optional<std::string> error;
    bool was_sent = false;  // something left, or may have
    // The attempt's record.
    int round = 0;
    int attempt = 0;
    EpochMs started_at = 0;
    EpochMs ended_at = 0;
    int outcome = 0;
    std::string detail;
    std::string address;
    std::string phases;
};

struct Release {
    std::int64_t webhook = 0;
    bool is_careful = false;
    LaneClass lane_class = LaneClass::Fast;
    EpochMs not_before = 0;  // the lane is not looked at again before
};

struct QueueRules {
    int max_attempts = 8;
    std::int64_t last_backoff_ms = 86'400'000;
};

// Made for one transaction. `token` is the engine's.
class Queue {
public:
    Queue(store::Transaction& tx, std::int64_t token) : tx_(tx), token_(token) {}

    void lock_lanes(store::IntList webhooks);
    // Writes results and their attempts. Rows whose lane or token is no longer ours are left alone,
    // as are rows no longer pending.
    void settle(const std::vector<Settlement>& settlements);
    // Notes that these rows are about to be sent.
    void mark_sent(const store::IntList& seqs);
    // Moves the end of the leases; returns the lanes that are still ours.
    [[nodiscard]] store::IntList renew(const store::IntList& webhooks, EpochMs lease_until);
    // When the first lane of each class wants to be looked at.
    [[nodiscard]] std::array<EpochMs, kLaneClasses> next_due();
    // Takes up to `limit` lanes of a class that are due and free, longest due first. Never waits
    // for another holder.
    [[nodiscard]] std::vector<LaneRow> pick(
        LaneClass lane_class, EpochMs now, EpochMs lease_until, int limit
    );
    // Lanes whose lease ran out: the attempts that went with it are recorded as unknown; rows that
    // had used up theirs die, or wait when nothing ever left.
    void reap(const store::IntList& webhooks, EpochMs now, const QueueRules& rules);
    // Claims rows that are due in lanes that are ours, each lane in queue order, at most `limit` in
    // all.
    [[nodiscard]] std::vector<ClaimedRow> claim(
        const std::vector<ClaimLane>& lanes, EpochMs now, int limit
    );
    // Gives lanes back, each due again when its next row is.
    void release(const std::vector<Release>& releases, EpochMs now);
    // A paused webhook's rows that were queued beside the pause.
    void cancel_pending(const store::IntList& webhooks, EpochMs now);
    // Lanes of webhooks that are gone.
    void forget_lanes(const store::IntList& webhooks);
    // Says on some waiting rows why they are not claimed.
    void note_unreadable(std::int64_t webhook, const std::string& error);
    // The webhooks as they are now, without their lanes (had_holder and is_careful say nothing).
    [[nodiscard]] std::vector<LaneRow> read_webhooks(const store::IntList& webhooks);

private:
    void settle_one_by_one(const std::vector<Settlement>& settlements);
    void settle_at_once(const std::vector<Settlement>& settlements);
    [[nodiscard]] std::vector<ClaimedRow> claim_one_by_one(
        const std::vector<ClaimLane>& lanes, EpochMs now, int limit
    );
    [[nodiscard]] std::vector<ClaimedRow> claim_at_once(
        const std::vector<ClaimLane>& lanes, EpochMs now, int limit
    );

    store::Transaction& tx_;
    std::int64_t token_;
};

}  // namespace compute::events
