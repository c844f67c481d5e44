#include "modules/capacity/placer.h"

#include <algorithm>
#include <memory>

#include <nlohmann/json.hpp>

#include "core/json.h"
#include "modules/capacity/healing.h"
#include "modules/capacity/queue_rules.h"
#include "modules/capacity/reservation_changes.h"

namespace compute::capacity {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kInterval{5'000};
constexpr std::int64_t kCoalesceMs = 50;
constexpr int kPage = 200;

constexpr store::Sql kExpectsNodes(
    "select count(*) from (select 1 from expected_nodes where tenant_id = $1 and pool_id = $2 and "
    "node_id is null limit 1) as awaited"
);

// A pool's queue, and what the pass has come to.
struct Queue {
    PoolId id;
    PoolSettings settings;
    bool is_deleted = false;
    bool expects_nodes = false;  // declared ones that have not joined
    std::optional<EpochMs> last_turn;
    std::vector<std::string> models;
    std::optional<EpochMs> next;  // when a claim that waits will fit
};

void earlier(std::optional<EpochMs>& at, const std::optional<EpochMs>& other) {
    if (other && (!at || *other < *at)) {
        at = other;
    }
}

class Pass {
public:
    Pass(const method::Runtime& runtime, SharedPlacement placement, EpochMs now)
        : runtime_(runtime), placement_(std::move(placement)), now_(now) {}

    // Returns when a claim of the pool will fit if nothing changes.
    std::optional<EpochMs> serve(const PoolId& pool) {
        std::vector<Reservation> page = read_page(pool, nullptr);
        auto queue = page.empty() ? std::nullopt : find_queue(pool, page.front().pool_tenant_id);
        if (!queue) {
            return std::nullopt;
        }
        QueueRules rules(queue->settings.queue, now_);
        while (!page.empty() && !rules.is_closed()) {
            for (const Reservation& claim : page) {
                attempt(*queue, rules, claim);
                if (rules.is_closed()) {
                    break;
                }
            }
            page = std::cmp_less(page.size(), kPage) ? std::vector<Reservation>()
                                                     : read_page(pool, &page.back());
        }
        return queue->next;
    }

private:
    std::vector<Reservation> read_page(const PoolId& pool, const Reservation* after) {
        return runtime_.database.read(
            [&](store::Transaction& tx) { return pending_in(tx, pool, after, kPage); },
            store::Purpose::Background
        );
    }

    std::optional<Queue> find_queue(const PoolId& pool, const TenantId& owner) {
        auto queue = runtime_.database.read(
            [&](store::Transaction& tx) -> std::optional<Queue> {
                const auto row = find_own_pool(tx, owner, pool);
                if (!row) {
                    return std::nullopt;
                }
                return Queue{
                    .id = pool,
                    .settings = row->settings,
                    .is_deleted = row->deleted_at.has_value(),
                    .expects_nodes = tx.get_row(kExpectsNodes, {owner, pool}).get_int(0) > 0,
                    .last_turn = last_placed_turn(tx, pool),
                    .models = {},
                    .next = {}};
            },
            store::Purpose::Background
        );
        if (queue) {
            placement_->with([&](PlacementIndex& index) {
                for (const ModelCapacity& model : index.summarize(pool.str(), now_, now_ + 1)) {
                    queue->models.push_back(model.gpu_model);
                }
            });
        }
        return queue;
    }

    void attempt(Queue& queue, QueueRules& rules, const Reservation& claim) {
        if (queue.is_deleted) {
            fail(claim, "the pool was deleted");
            return;
        }
        const auto models = rules.models_left(claim.request, queue.models);
        if (!models) {
            rules.add_waiting(claim);
            return;
        }
        const Window window = window_of(claim.request, queue.settings, now_);
        PlacementRequest request = placement_request(claim.request, queue.settings, window);
        request.gpu_models = *models;
        SharedDecision decision = decide(placement_, queue.id, request, window, now_);
        if (decision->placement()) {
            if (place(claim, decision, request)) {
                queue.last_turn = std::max(queue.last_turn.value_or(0), *claim.queued_at);
            }
            return;
        }
        const Explanation& why = *decision->explanation();
        // Barred models say nothing about what the pool could hold.
        if (!why.could_ever_fit && !queue.expects_nodes && *models == claim.request.gpu_models) {
            fail(claim, "the pool could never hold it");
            return;
        }
        earlier(queue.next, why.earliest_start);
        note(queue, claim, why);
        rules.add_waiting(claim);
    }

    // In a transaction of its own: a claim that another process takes or changes meanwhile costs
    // the others nothing.
    bool place(
        const Reservation& claim, SharedDecision& decision, const PlacementRequest& request
    ) {
        return runtime_.database.write(
            [&](store::Transaction& tx) {
                auto row = find_reservation_to_change(tx, claim.tenant_id, claim.id);
                if (!row || row->state != ReservationState::Pending) {
                    return false;
                }
                const method::Context context(runtime_);
                const Window window = decision->window();
                const Booked booked = book(
                    context,
                    tx,
                    placement_,
                    decision,
                    request,
                    {.tenant_id = row->tenant_id,
                     .pool_tenant_id = row->pool_tenant_id,
                     .pool_id = row->request.pool_id,
                     .holder_id = row->id.str()}
                );
                if (booked.bookings.empty()) {
                    return false;
                }
                become_placed(context, tx, *row, window, booked.bookings);
                return true;
            },
            store::Purpose::Background
        );
    }

    void fail(const Reservation& claim, const std::string& reason) {
        runtime_.database.write(
            [&](store::Transaction& tx) {
                auto row = find_reservation_to_change(tx, claim.tenant_id, claim.id);
                if (row && row->state == ReservationState::Pending) {
                    become_failed(method::Context(runtime_), tx, *row, reason);
                }
            },
            store::Purpose::Background
        );
    }

    void note(const Queue& queue, const Reservation& claim, const Explanation& why) {
        const bool is_passed = queue.last_turn && *queue.last_turn > *claim.queued_at;
        const auto skipped =
            claim.skipped_at || !is_passed ? claim.skipped_at : std::optional(now_);
        const std::optional<std::string> text = dump_json(explanation_json(why));
        if (skipped == claim.skipped_at && text == claim.explanation) {
            return;
        }
        runtime_.database.write(
            [&](store::Transaction& tx) { note_attempt(tx, claim, text, skipped); },
            store::Purpose::Background
        );
    }

    const method::Runtime& runtime_;
    SharedPlacement placement_;
    EpochMs now_;
};

std::optional<milliseconds> run_pass(
    const method::Runtime& runtime, const SharedPlacement& placement
) {
    placement->catch_up(runtime.database, runtime.clock);
    const EpochMs now = runtime.clock.now_ms();
    std::optional<EpochMs> next = heal_losses(runtime, placement, now);
    const auto pools = runtime.database.read(
        [](store::Transaction& tx) { return pools_with_pending(tx); }, store::Purpose::Background
    );
    Pass pass(runtime, placement, now);
    for (const PoolId& pool : pools) {
        earlier(next, pass.serve(pool));
    }
    if (!next) {
        return std::nullopt;
    }
    // A time that is past means that another was faster: what it did wakes us, or the interval.
    return *next > now ? std::optional(std::min(kInterval, milliseconds(*next - now)))
                       : std::nullopt;
}

}  // namespace

method::Reconciler placer_reconciler(const SharedPlacement& placement) {
    const auto last = std::make_shared<std::optional<std::int64_t>>();
    return {
        .name = "capacity.placer",
        .interval = kInterval,
        .wake_on = {kPlacerChannel},
        .run = [placement, last](const method::Runtime& runtime) -> std::optional<milliseconds> {
            // Many releases in a row are one pass, not many.
            const std::int64_t steady = runtime.clock.steady_ms();
            if (*last && steady - **last < kCoalesceMs) {
                return milliseconds(kCoalesceMs - (steady - **last));
            }
            *last = steady;
            return run_pass(runtime, placement);
        }};
}

}  // namespace compute::capacity
