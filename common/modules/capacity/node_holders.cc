#include "modules/capacity/node_holders.h"

#include <algorithm>
#include <limits>

#include "core/fail_point.h"
#include "modules/capacity/node_admission.h"

namespace compute::capacity {
namespace {

constexpr store::Sql kRegister(
    "insert into node_holders (process, beat, beat_at, started_at) values ($1, 1, $2, $2)"
);
constexpr store::Sql kBeat(
    "update node_holders set beat = beat + 1, beat_at = $2 where process = $1"
);
constexpr store::Sql kEnd("delete from node_holders where process = $1");
constexpr store::Sql kOthers("select process, beat from node_holders where process <> $1");
constexpr store::Sql kBury("delete from node_holders where process = $1 and beat = $2");
// Across tenants, as what follows: a process holds nodes of all of them.
constexpr store::Sql kAdopt(
    "update nodes set connected_to = $1 where removed_at is null and connection in ('ready', "
    "'disconnected') and connected_to <> $1 and not exists (select 1 from node_holders h where "
    "h.process = nodes.connected_to)"
);
constexpr store::Sql kHeld(
    "select n.tenant_id, n.id, n.epoch, n.connection, n.fence_ms, n.clock_skew_ms, "
    "p.disconnected_after_seconds, p.lost_after_seconds from nodes n join pools p on p.id = "
    "n.pool_id where n.connected_to = $1 and n.removed_at is null and n.connection in ('ready', "
    "'disconnected')"
);
constexpr store::Sql kStillHeld(
    "select id, epoch, case when removing_at is null then 0 else 1 end from nodes where "
    "connected_to = $1 and removed_at is null and connection in ('ready', 'disconnected')"
);

constexpr std::int64_t kMsPerSecond = 1000;

WatchedNode read_held(const store::Row& row) {
    WatchedNode node;
    node.tenant_id = TenantId(row.get_text(0));
    node.id = NodeId(row.get_text(1));
    node.epoch = row.get_int(2);
    node.is_disconnected = row.get_text(3) == "disconnected";
    node.skew_ms = row.get_int(5);
    node.disconnected_after_ms = row.get_int(6) * kMsPerSecond;
    // The pool may have changed since its agent was told when to fence itself.
    node.lost_after_ms = std::max(row.get_int(7) * kMsPerSecond, row.get_int(4) + kFenceMarginMs);
    return node;
}

}  // namespace

std::vector<std::pair<std::string, std::int64_t>> NodeHolder::find_dead() {
    const std::int64_t now = runtime_.clock.steady_ms();
    const bool is_alone = runtime_.database.engine() == store::Engine::Sqlite;
    std::map<std::string, Seen> seen;
    std::vector<std::pair<std::string, std::int64_t>> dead;
    for (const store::Row& row :
         runtime_.database.query(kOthers, {process_}, store::Purpose::Background)) {
        const std::string& process = row.get_text(0);
        const std::int64_t beat = row.get_int(1);
        const auto before = others_.find(process);
        const bool stands_still = before != others_.end() && before->second.beat == beat;
        const Seen current{beat, stands_still ? before->second.since_ms : now};
        if (is_alone || now - current.since_ms >= kDeadAfterMs) {
            dead.emplace_back(process, beat);
        }
        seen.emplace(process, current);
    }
    others_ = std::move(seen);
    return dead;
}

NodeHolder::Round NodeHolder::run() {
    Round round;
    // Taken before the statement: what happens after it only shortens the lease.
    const std::int64_t asked_at = runtime_.clock.steady_ms();
    const EpochMs now = runtime_.clock.now_ms();
    if (is_registered_ &&
        runtime_.database.execute(kBeat, {process_, now}, store::Purpose::Background) == 0) {
        // Another process thought this one dead. Its nodes are that one's now, timers and all.
        round.was_replaced = true;
        is_registered_ = false;
        lease_until_ms_ = 0;
        process_ = base_ + ":" + std::to_string(++names_);
    }
    if (!is_registered_) {
        runtime_.database.execute(kRegister, {process_, now}, store::Purpose::Background);
        is_registered_ = true;
    }
    lease_until_ms_ = runtime_.database.engine() == store::Engine::Sqlite
                          ? std::numeric_limits<std::int64_t>::max()
                          : asked_at + kLeaseMs;
    const auto dead = find_dead();
    // The row goes together with what it held: a process that dies here leaves both as they were.
    round.adopted = runtime_.database.write(
        [&](store::Transaction& tx) {
            for (const auto& [process, beat] : dead) {
                tx.execute(kBury, {process, beat});
            }
            std::vector<WatchedNode> held;
            if (tx.execute(kAdopt, {process_}) > 0) {
                for (const store::Row& row : tx.query(kHeld, {process_})) {
                    held.push_back(read_held(row));
                }
            }
            fail_point("capacity.nodes-adopted.uncommitted");
            return held;
        },
        store::Purpose::Background
    );
    return round;
}

void NodeHolder::end() {
    if (is_registered_) {
        runtime_.database.execute(kEnd, {process_}, store::Purpose::Background);
        is_registered_ = false;
    }
}

NodeHolder::Standing NodeHolder::look_at(const std::vector<std::pair<NodeId, std::int64_t>>& nodes
) const {
    struct Held {
        std::int64_t epoch;
        bool is_cut;
    };
    std::unordered_map<NodeId, Held> held;
    for (const store::Row& row :
         runtime_.database.query(kStillHeld, {process_}, store::Purpose::Background)) {
        held.emplace(NodeId(row.get_text(0)), Held{row.get_int(1), row.get_bool(2)});
    }
    Standing standing;
    for (const auto& [id, epoch] : nodes) {
        const auto found = held.find(id);
        if (found == held.end() || found->second.epoch != epoch) {
            standing.gone.push_back(id);
        } else if (found->second.is_cut) {
            standing.cut.push_back(id);
        }
    }
    return standing;
}

}  // namespace compute::capacity
