// Engine::step, second half: what the transaction found becomes the state that the loops see.
#include <algorithm>

#include "modules/events/engine_step.h"
#include "modules/events/url_guard.h"

namespace compute::events {
namespace {

std::unique_ptr<Signer> make_signer(const LaneSecrets& secrets) {
    return std::make_unique<Signer>(
        secrets.current, secrets.previous ? &*secrets.previous : nullptr
    );
}

}  // namespace

void Engine::apply(const Plan& plan, Outcome& outcome, StepReport& report) {
    report.settled = static_cast<int>(plan.settlements.size());
    report.lanes_picked = static_cast<int>(outcome.picked.size());
    report.lanes_released = static_cast<int>(outcome.released.size());
    for (const std::string& id : outcome.unreadable) {
        runtime_.log.error("events.deliver.secret_unreadable", {{"webhook", id}});
    }
    std::unordered_map<std::int64_t, const LaneRow*> now_is;
    for (const LaneRow& row : outcome.webhooks) {
        now_is.emplace(row.webhook, &row);
    }
    const std::unordered_set<std::int64_t> renewed(outcome.renewed.begin(), outcome.renewed.end());
    std::vector<std::pair<Outbound*, net::LaneKey>> resume;
    std::vector<std::pair<Outbound*, net::LaneKey>> drop;
    std::array<std::vector<net::Attempt>, 2> submit;
    {
        const std::lock_guard lock(mutex_);
        const auto lose = [&](Lane& lane) {
            lane.is_lost = lane.is_ending = true;
            drop.emplace_back(&loop_of(lane), static_cast<net::LaneKey>(lane.webhook));
            counters_.refused.fetch_add(1, std::memory_order_relaxed);
            ++report.lanes_lost;
        };
        for (const std::int64_t seq : plan.marks) {
            if (const auto row = rows_.find(seq); row != rows_.end()) {
                row->second.needs_mark = false;
            }
        }
        for (const std::int64_t webhook : plan.renewals) {
            Lane& lane = *lanes_.at(webhook);
            if (!renewed.contains(webhook)) {
                lose(lane);
                continue;
            }
            lane.lease_until = plan.lease_until;
            if (std::exchange(lane.wants_renewal, false)) {
                lane.wants_mark = 0;
                resume.emplace_back(&loop_of(lane), static_cast<net::LaneKey>(webhook));
            }
        }
        for (const std::int64_t webhook : outcome.picked_again) {
            lanes_.at(webhook)->lease_until = plan.lease_until;
        }
        for (const std::int64_t webhook : plan.held) {
            Lane& lane = *lanes_.at(webhook);
            const auto found = now_is.find(webhook);
            if (lane.is_lost ||
                (found != now_is.end() && found->second->revision == lane.revision)) {
                continue;
            }
            if (found == now_is.end() || !found->second->is_active) {
                lose(lane);
                continue;
            }
            // Whatever changed - URL, secret, a pause that is over already - is for whoever takes
            // the lane next. What waits in the loop goes back; a row that was cancelled meanwhile
            // stays so.
            lane.revision = found->second->revision;
            lane.is_ending = true;
            drop.emplace_back(&loop_of(lane), static_cast<net::LaneKey>(webhook));
        }
        for (const std::int64_t webhook : outcome.released) {
            lanes_.erase(webhook);
        }
        std::erase_if(lanes_, [](const auto& entry) {
            return entry.second->is_lost && entry.second->rows == 0;
        });
        apply_claims(outcome, report, submit);
        if (plan.is_claiming) {
            next_due_ = outcome.next_due;
        }
        counters_.lanes_held.store(
            static_cast<std::int64_t>(lanes_.size()), std::memory_order_relaxed
        );
    }
    if (!submit[0].empty()) {
        fast_->submit(std::move(submit[0]));
    }
    if (!submit[1].empty()) {
        slow_->submit(std::move(submit[1]));
    }
    // After the submits: a lane that ends may have been topped up in the same transaction.
    for (const auto& [loop, lane] : drop) {
        loop->drop_lane(lane);
    }
    for (const auto& [loop, lane] : resume) {
        loop->resume(lane);
    }
    const int limit = runtime_.config.events.delivery.limit;
    report.passes = (report.claimed + limit - 1) / limit;
}

void Engine::apply_claims(
    Outcome& outcome, StepReport& report, std::array<std::vector<net::Attempt>, 2>& submit
) {
    const UrlRules rules = url_rules(runtime_.config.events);
    std::unordered_map<std::int64_t, std::string>
        refused;  // why a lane's URL may not be reached any more
    for (PickedLane& picked : outcome.picked) {
        auto lane = std::make_unique<Lane>();
        lane->webhook = picked.row.webhook;
        lane->webhook_id = picked.row.id;
        lane->revision = picked.row.revision;
        try {
            lane->url = std::make_shared<const net::Url>(check_webhook_url(picked.row.url, rules));
        } catch (const ComputeError& error) {
            refused.emplace(
                lane->webhook, error.message()
            );  // the configuration changed since it was saved
        }
        lane->signer = make_signer(picked.secrets);
        lane->previous_expires_at = picked.row.previous_expires_at.value_or(0);
        lane->is_in_slow_loop = picked.lane_class == LaneClass::Slow;
        lane->lane_class = picked.lane_class;
        lane->is_careful = picked.row.is_careful;
        lane->lease_until = outcome.lease_until;
        lanes_[lane->webhook] = std::move(lane);
    }
    std::unordered_map<std::int64_t, std::shared_ptr<const std::string>>
        bodies;  // one copy for all webhooks of an event
    const EpochMs now = runtime_.clock.now_ms();
    const std::chrono::milliseconds timeout(runtime_.config.events.delivery.timeout_ms);
    for (std::vector<ClaimedRow>* rows : {&outcome.top_ups, &outcome.claims}) {
        for (ClaimedRow& row : *rows) {
            ++report.claimed;
            Lane& lane = *lanes_.at(row.webhook);
            lane.last_next_at = row.next_at;
            lane.last_seq = row.seq;
            ++lane.session_rows;
            std::shared_ptr<const std::string>& body = bodies[row.event];
            if (!body) {
                body = std::make_shared<const std::string>(std::move(row.body));
            }
            if (!lane.url) {
                Settlement s;
                net::AttemptResult result;
                const auto why = refused.find(row.webhook);
                result.error = why == refused.end() ? "url: may not be reached" : why->second;
                Verdict verdict =
                    judge(runtime_.config.events.delivery, result, row.attempt, now, nullptr);
                s.seq = row.seq;
                s.webhook = row.webhook;
                s.state = verdict.state;
                s.next_at = verdict.next_at;
                s.error = std::move(verdict.error);
                s.round = row.round;
                s.attempt = row.attempt;
                s.started_at = s.ended_at = now;
                s.phases = "0,0,0,0,0";
                lane.lane_class = LaneClass::Slow;
                if (results_.empty()) {
                    oldest_result_ms_ = runtime_.clock.steady_ms();
                }
                results_.push_back(std::move(s));
                continue;
            }
            ++lane.rows;
            body_bytes_ += body->size();
            HeldRow held;
            held.webhook = row.webhook;
            held.event = row.event;
            held.id = std::move(row.id);
            held.type = std::move(row.type);
            held.body = body;
            held.attempt = row.attempt;
            held.round = row.round;
            held.needs_mark = lane.is_careful;
            rows_.emplace(row.seq, std::move(held));
            net::Attempt attempt;
            attempt.id = static_cast<std::uint64_t>(row.seq);
            attempt.lane = static_cast<net::LaneKey>(row.webhook);
            attempt.url = lane.url;
            attempt.body = body;
            attempt.timeout = timeout;
            submit[lane.is_in_slow_loop ? 1 : 0].push_back(std::move(attempt));
        }
    }
    counters_.claimed.fetch_add(
        static_cast<std::uint64_t>(report.claimed), std::memory_order_relaxed
    );
}

}  // namespace compute::events
