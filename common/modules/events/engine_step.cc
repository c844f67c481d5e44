// Engine::step: plan under the lock, one transaction, apply under the lock, hand rows to the loops.
#include "modules/events/engine_step.h"

#include <algorithm>

#include "core/fail_point.h"
#include "modules/events/policy.h"
#include "modules/events/url_guard.h"

namespace compute::events {
namespace {

constexpr std::int64_t kRenewMarginMs =
    5'000;  // leases with less than a send and this left are renewed
constexpr std::int64_t kUnreadableWaitMs =
    30'000;  // then a lane whose secret could not be opened is tried again
constexpr std::int64_t kLostWaitMs = 500;
constexpr std::int64_t kSkippedWaitMs = 20;  // due lanes that someone else has locked
constexpr const char* kUnreadable =
    "secret: cannot be opened with this deployment's secret or its previous ones";

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
        // Not handled here: the results go back, so that the next step writes them. When the commit
        // did happen after all, their rows are settled and the second write finds nothing; lanes it
        // took come back when their lease ends.
        take_back(plan);
        throw;
    }
    if (!plan.settlements.empty()) {
        fail_point("deliver-after-settle");
    }
    if (!outcome.renewed.empty()) {
        fail_point("deliver-after-renew");
    }
    if (!outcome.claims.empty() || !outcome.top_ups.empty()) {
        fail_point("deliver-after-claim");
    }
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
    plan.budget = is_stopping_ || !has_memory
                      ? 0
                      : options.passes.value_or(options_.passes_per_step) * policy.limit;
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
        const int depth = lane->is_careful        ? 1
                          : lane->is_in_slow_loop ? options_.slow_lane_depth
                                                  : options_.lane_depth;
        const bool is_low = lane->rows <= depth / 2;
        if (plan.is_claiming && is_low && !lane->is_ending &&
            lane->session_rows < options_.lane_session_rows) {
            plan.top_ups.push_back({webhook, depth - lane->rows, lane->last_next_at, lane->last_seq}
            );
        }
        if (lane->rows == 0) {
            plan.drained.push_back({webhook, lane->is_careful, lane->lane_class, 0});
        }
    }
    std::sort(plan.drained.begin(), plan.drained.end(), [](const Release& a, const Release& b) {
        return a.webhook < b.webhook;
    });
    plan.free_lanes = free_lanes_locked();
    return plan;
}

void Engine::take_back(Plan& plan) {
    const std::lock_guard lock(mutex_);
    results_.insert(
        results_.begin(),
        std::make_move_iterator(plan.settlements.begin()),
        std::make_move_iterator(plan.settlements.end())
    );
    oldest_result_ms_ = runtime_.clock.steady_ms();
    has_changes_ = has_changes_ || plan.has_changes;
    has_requests_ = true;
    is_woken_ = true;
}

void Engine::run_transaction(store::Transaction& tx, const Plan& plan, Outcome& out) {
    Queue queue(tx, token_);
    store::IntList giving_back;
    for (const Release& drained : plan.drained) {
        giving_back.push_back(drained.webhook);
    }
    queue.lock_lanes(std::move(giving_back));
    queue.settle(plan.settlements);
    queue.mark_sent(plan.marks);
    out.renewed = queue.renew(plan.renewals, plan.lease_until);
    if (!out.renewed.empty()) {
        // A lease that was not moved ends when it was going to; one that was moved by a process
        // that then died ends a lease later. Nothing of the lane was sent meanwhile: its loop holds
        // it until apply().
        fail_point("deliver-before-renew");
    }
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
    if (!plan.settlements.empty() || !out.claims.empty() || !out.top_ups.empty()) {
        fail_point("deliver-before-commit");
    }
}

void Engine::take_lanes(Queue& queue, const Plan& plan, Outcome& out) {
    const int budget = plan.budget - static_cast<int>(out.top_ups.size());
    out.next_due = queue.next_due();
    const Picking picking = pick_lanes(queue, plan, budget, out);
    queue.forget_lanes(picking.deleted);
    queue.cancel_pending(picking.paused, plan.now);
    const config::DeliveryPolicy& policy = runtime_.config.events.delivery;
    queue.reap(
        picking.expired,
        plan.now,
        {.max_attempts = policy.max_attempts,
         .last_backoff_ms = policy.backoff_seconds.back() * 1000}
    );
    std::vector<Release> releases = picking.releases;
    claim_picked(queue, plan, budget, releases, out);
    queue.release(releases, plan.now);
    if (picking.count > 0) {
        out.next_due = queue.next_due();
    }
    for (std::size_t i = 0; i < kLaneClasses; ++i) {
        if (picking.is_drawn[i] &&
            out.claims.size() < static_cast<std::size_t>(std::max(budget, 0))) {
            out.next_due[i] = std::max(out.next_due[i], plan.now + kSkippedWaitMs);
        }
    }
}

Engine::Picking Engine::pick_lanes(Queue& queue, const Plan& plan, int budget, Outcome& out) {
    Picking picking;
    for (const LaneClass lane_class : {LaneClass::Fast, LaneClass::Unproven, LaneClass::Slow}) {
        const std::size_t index = static_cast<std::size_t>(lane_class);
        const int room = std::min(plan.free_lanes[index], budget);
        if (room <= 0 || out.next_due[index] > plan.now) {
            continue;
        }
        std::vector<LaneRow> rows = queue.pick(lane_class, plan.now, plan.lease_until, room);
        picking.is_drawn[index] = static_cast<int>(rows.size()) < room;
        picking.count += rows.size();
        for (LaneRow& row : rows) {
            sort_out(queue, plan, std::move(row), lane_class, picking, out);
        }
    }
    return picking;
}

void Engine::sort_out(
    Queue& queue,
    const Plan& plan,
    LaneRow row,
    LaneClass lane_class,
    Picking& picking,
    Outcome& out
) {
    const std::int64_t webhook = row.webhook;
    // Only the step's thread changes the keys of lanes_, and it is waiting for this transaction.
    const auto known = lanes_.find(webhook);
    if (known != lanes_.end() && !out.released.contains(webhook)) {
        if (known->second->is_lost) {
            // Its last send is still under way; nobody may begin beside it.
            picking.releases.push_back({webhook, false, lane_class, plan.now + kLostWaitMs});
        } else {
            out.picked_again.push_back(webhook);
        }
        return;
    }
    if (!row.is_known) {
        picking.deleted.push_back(webhook);
        return;
    }
    if (!row.is_active) {
        picking.paused.push_back(webhook);
        picking.releases.push_back({webhook, false, lane_class, 0});
        return;
    }
    LaneSecrets secrets = open_secrets(row);
    if (!secrets.is_readable) {
        queue.note_unreadable(webhook, kUnreadable);
        out.unreadable.push_back(row.id);
        picking.releases.push_back(
            {webhook, row.is_careful, lane_class, plan.now + kUnreadableWaitMs}
        );
        return;
    }
    if (row.had_holder) {
        picking.expired.push_back(webhook);
    }
    out.picked.push_back({std::move(row), lane_class, std::move(secrets)});
}

void Engine::claim_picked(
    Queue& queue, const Plan& plan, int budget, std::vector<Release>& releases, Outcome& out
) {
    const int share =
        out.picked.empty() ? 0 : std::max(budget / static_cast<int>(out.picked.size()), 1);
    std::vector<ClaimLane> claims;
    for (const PickedLane& lane : out.picked) {
        const int depth =
            lane.lane_class == LaneClass::Slow ? options_.slow_lane_depth : options_.lane_depth;
        claims.push_back({lane.row.webhook, lane.row.is_careful ? 1 : std::min(depth, share)});
    }
    out.claims = queue.claim(claims, plan.now, budget);
    std::unordered_set<std::int64_t> claimed;
    for (const ClaimedRow& row : out.claims) {
        claimed.insert(row.webhook);
    }
    // A lane whose rows all lie in the future, or that came after the limit, goes back.
    std::erase_if(out.picked, [&](const PickedLane& lane) {
        if (claimed.contains(lane.row.webhook)) {
            return false;
        }
        releases.push_back({lane.row.webhook, lane.row.is_careful, lane.lane_class, 0});
        return true;
    });
}

LaneSecrets Engine::open_secrets(const LaneRow& row) {
    // About 2 us the first time, on SQLite on the writer's thread; then remembered until the sealed
    // text changes.
    LaneSecrets& kept = secrets_[row.webhook];
    const std::string previous = row.previous_secret.value_or("");
    if (kept.sealed == row.secret && kept.sealed_previous == previous &&
        (kept.is_readable || !sealer_)) {
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
