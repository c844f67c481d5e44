// Engine::step: plan under the lock, one transaction, apply under the lock, hand rows to the loops.
#include "modules/events/engine_step.h"

#include <algorithm>

#include "core/fail_point.h"
#include "modules/events/policy.h"
#include "modules/events/url_guard.h"

namespace compute::events {
namespace {

constexpr std::int64_t kRenewMarginMs = 5'000;       // leases with less than a send and this left are renewed
constexpr std::int64_t kUnreadableWaitMs = 30'000;  // then a lane whose secret could not be opened is tried again
constexpr const char* kUnreadable = "secret: cannot be opened with this deployment's secret or its previous ones";

}  // namespace

StepReport Engine::step(StepOptions options) {
    Plan plan = make_plan(options);
    Outcome outcome;
    try {
        runtime_.database.write(
            [&](store::Transaction& tx) {
                outcome = {};
                outcome.lease_until = plan.lease_until;
                run_transaction(tx, plan, outcome);
            },
            store::Purpose::Background
        );
    } catch (...) {
        // Not handled here: the results go back, so that the next step writes them. When the commit did happen after all, their
        // rows are settled and the second write finds nothing; lanes it took come back when their lease ends.
        take_back(plan);
        throw;
    }
    fail_point("deliver-after-claim");
    StepReport report;
    apply(plan, outcome, report);
    return report;
}

Engine::Plan Engine::make_plan(const StepOptions& options) {
    Plan plan;
    const config::DeliveryPolicy& policy = runtime_.config.events.delivery;
    plan.lease_until = lease_end();
    const std::lock_guard lock(mutex_);
    plan.now = runtime_.clock.now_ms();
    const bool has_memory = body_bytes_ < options_.max_body_bytes_held;
    plan.budget = is_stopping_ || !has_memory ? 0 : options.passes.value_or(options_.passes_per_step) * policy.limit;
    plan.is_claiming = plan.budget > 0;
    plan.settlements.swap(results_);
    plan.has_changes = std::exchange(has_changes_, false);
    is_woken_ = false;
    has_requests_ = false;
    for (const auto& [webhook, lane] : lanes_) {
        if (plan.has_changes) {
            plan.held.push_back(webhook);
        }
        if (lane->is_lost) {
            continue;
        }
        if (lane->wants_mark != 0) {
            plan.marks.push_back(lane->wants_mark);
        }
        if (lane->wants_renewal ||
            (lane->rows > 0 && lane->lease_until - plan.now < policy.timeout_ms + kRenewMarginMs)) {
            plan.renewals.push_back(webhook);
        }
        const int depth = lane->is_careful ? 1 : lane->is_in_slow_loop ? options_.slow_lane_depth : options_.lane_depth;
        const bool is_low = lane->rows <= depth / 2;
        if (plan.is_claiming && is_low && !lane->is_ending && lane->session_rows < options_.lane_session_rows) {
            plan.top_ups.push_back({webhook, depth - lane->rows, lane->last_next_at, lane->last_seq});
        }
        if (lane->rows == 0) {
            plan.drained.push_back({webhook, lane->is_careful, lane->lane_class, 0});
        }
        plan.touched.push_back(webhook);
    }
    std::sort(plan.touched.begin(), plan.touched.end());
    plan.free_lanes = free_lanes_locked();
    return plan;
}

void Engine::take_back(Plan& plan) {
    const std::lock_guard lock(mutex_);
    results_.insert(
        results_.begin(), std::make_move_iterator(plan.settlements.begin()), std::make_move_iterator(plan.settlements.end())
    );
    oldest_result_ms_ = runtime_.clock.steady_ms();
    has_changes_ = has_changes_ || plan.has_changes;
    has_requests_ = true;
    is_woken_ = true;
}

void Engine::run_transaction(store::Transaction& tx, const Plan& plan, Outcome& out) {
    Queue queue(tx, token_);
    queue.lock_lanes(plan.touched);
    queue.settle(plan.settlements);
    queue.mark_sent(plan.marks);
    out.renewed = queue.renew(plan.renewals, plan.lease_until);
    out.webhooks = queue.read_webhooks(plan.held);
    out.top_ups = queue.claim(plan.top_ups, plan.now, plan.budget);
    std::unordered_set<std::int64_t> topped_up;
    for (const ClaimedRow& row : out.top_ups) {
        topped_up.insert(row.webhook);
    }
    std::vector<Release> releases;
    for (const Release& drained : plan.drained) {
        if (!topped_up.contains(drained.webhook)) {
            releases.push_back(drained);
            out.released.insert(drained.webhook);
        }
    }
    queue.release(releases, plan.now);
    if (plan.is_claiming) {
        take_lanes(queue, plan, out);
    }
    fail_point("deliver-before-commit");
}

void Engine::take_lanes(Queue& queue, const Plan& plan, Outcome& out) {
    int budget = plan.budget - static_cast<int>(out.top_ups.size());
    out.next_due = queue.next_due();
    std::vector<ClaimLane> claims;
    store::IntList expired;
    store::IntList paused;
    store::IntList deleted;
    std::vector<Release> releases;
    bool has_picked = false;
    for (const LaneClass lane_class : {LaneClass::Fast, LaneClass::Unproven, LaneClass::Slow}) {
        const std::size_t index = static_cast<std::size_t>(lane_class);
        const int room = std::min(plan.free_lanes[index], budget);
        if (room <= 0 || out.next_due[index] > plan.now) {
            continue;
        }
        for (LaneRow& row : queue.pick(lane_class, plan.now, plan.lease_until, room)) {
            has_picked = true;
            const std::int64_t webhook = row.webhook;
            // Only the step's thread changes the keys of lanes_, and it is waiting for this transaction.
            if (lanes_.contains(webhook) && !out.released.contains(webhook)) {
                out.picked_again.push_back(webhook);
                continue;
            }
            if (!row.is_known) {
                deleted.push_back(webhook);
                continue;
            }
            if (!row.is_active) {
                paused.push_back(webhook);
                releases.push_back({webhook, false, lane_class, 0});
                continue;
            }
            LaneSecrets secrets = open_secrets(row);
            if (!secrets.is_readable) {
                queue.note_unreadable(webhook, kUnreadable);
                out.unreadable.push_back(row.id);
                releases.push_back({webhook, row.is_careful, lane_class, plan.now + kUnreadableWaitMs});
                continue;
            }
            if (row.had_holder) {
                expired.push_back(webhook);
            }
            out.picked.push_back({std::move(row), lane_class, std::move(secrets)});
        }
    }
    queue.forget_lanes(deleted);
    queue.cancel_pending(paused, plan.now);
    const config::DeliveryPolicy& policy = runtime_.config.events.delivery;
    queue.reap(
        expired, plan.now, {.max_attempts = policy.max_attempts, .last_backoff_ms = policy.backoff_seconds.back() * 1000}
    );
    const int share = out.picked.empty() ? 0 : std::max(budget / static_cast<int>(out.picked.size()), 1);
    for (const PickedLane& lane : out.picked) {
        const int depth = lane.lane_class == LaneClass::Slow ? options_.slow_lane_depth : options_.lane_depth;
        claims.push_back({lane.row.webhook, lane.row.is_careful ? 1 : std::min(depth, share)});
    }
    out.claims = queue.claim(claims, plan.now, budget);
    // A lane whose rows all lie in the future, or that came after the limit, goes back.
    std::unordered_set<std::int64_t> claimed;
    for (const ClaimedRow& row : out.claims) {
        claimed.insert(row.webhook);
    }
    std::erase_if(out.picked, [&](const PickedLane& lane) {
        if (claimed.contains(lane.row.webhook)) {
            return false;
        }
        releases.push_back({lane.row.webhook, lane.row.is_careful, lane.lane_class, 0});
        return true;
    });
    queue.release(releases, plan.now);
    if (has_picked) {
        out.next_due = queue.next_due();
    }
}

LaneSecrets Engine::open_secrets(const LaneRow& row) {
    // About 2 us the first time, on SQLite on the writer's thread; then remembered until the sealed text changes.
    LaneSecrets& kept = secrets_[row.webhook];
    const std::string previous = row.previous_secret.value_or("");
    if (kept.sealed == row.secret && kept.sealed_previous == previous && (kept.is_readable || !sealer_)) {
        return kept;
    }
    if (secrets_.size() > 20'000) {
        secrets_.clear();
    }
    LaneSecrets opened;
    opened.sealed = row.secret;
    opened.sealed_previous = previous;
    if (sealer_) {
        if (auto current = sealer_->open(row.secret, row.id)) {
            opened.is_readable = true;
            opened.current = *std::move(current);
            if (row.previous_secret) {
                opened.previous = sealer_->open(*row.previous_secret, row.id);
            }
        }
    }
    secrets_[row.webhook] = opened;
    return opened;
}

}  // namespace compute::events
