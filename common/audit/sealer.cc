#include "audit/sealer.h"

#include <algorithm>
#include <map>

#include "audit/keys.h"
#include "audit/merkle.h"
#include "core/fail_point.h"
#include "crypto/crypto.h"

namespace compute::audit {
namespace {

// Only from the state that was read: of several that seal the same rows one writes.
constexpr store::Sql kAdvance =
    "update audit_seal_state set checkpoint = $3, hash = $4, txid = $5, seq = $6, hour = $7 "
    "where id = 1 and checkpoint = $1 and hour = $2";

EpochMs hour_of(EpochMs time) {
    return time - time % kSealEveryMs;
}

struct Tree {
    std::int64_t ordinal = 0;  // in the order in which tenants first come up
    GrowingTree hashes;
    EpochMs first_time = 0;
    EpochMs last_time = 0;
};

// What is read and built before anything is written.
struct Draft {
    SealState before;
    Position to;
    std::map<std::string, Tree> trees;
    std::vector<std::vector<Leaf>> parts;
    std::int64_t rows = 0;

    void add(const std::vector<Record>& records) {
        std::vector<Leaf>& part = parts.emplace_back();
        for (const Record& record : records) {
            const auto [found, is_new] = trees.try_emplace(record.tenant_id());
            Tree& tree = found->second;
            if (is_new) {
                tree.ordinal = static_cast<std::int64_t>(trees.size()) - 1;
                tree.first_time = record.time();
                tree.last_time = record.time();
            }
            tree.first_time = std::min(tree.first_time, record.time());
            tree.last_time = std::max(tree.last_time, record.time());
            part.push_back({record.position, tree.ordinal, record.id(), digest_of(record)});
            tree.hashes.add(part.back().hash());
            to = record.position;
            ++rows;
        }
    }
};

// In transactions of a part each, so that none holds back what PostgreSQL cleans up. The bound is
// taken once: below it nothing changes any more.
Draft read_draft(store::Database& database) {
    Draft draft;
    Position settled;
    database.read(
        [&](store::Transaction& tx) {
            draft.before = read_seal_state(tx);
            settled = last_settled(tx);
        },
        store::Purpose::Background
    );
    draft.to = draft.before.end();
    while (draft.rows < kSealRows) {
        const auto records = database.read(
            [&](store::Transaction& tx) {
                return read_records(tx, {draft.to, settled, kPartRows});
            },
            store::Purpose::Background
        );
        if (!records.empty()) {
            draft.add(records);
        }
        if (records.size() < static_cast<std::size_t>(kPartRows)) {
            break;
        }
    }
    return draft;
}

// The checkpoints of a draft in the order of their trees, unsigned and without what the chain and
// the tenants' own ones before them say.
std::vector<Checkpoint> checkpoints_of(const Draft& draft, EpochMs now) {
    std::vector<Checkpoint> checkpoints(draft.trees.size());
    for (const auto& [tenant_id, tree] : draft.trees) {
        Checkpoint& checkpoint = checkpoints[static_cast<std::size_t>(tree.ordinal)];
        checkpoint.number = draft.before.checkpoint + 1 + tree.ordinal;
        checkpoint.seal = draft.before.checkpoint + 1;
        checkpoint.tenant_id = tenant_id;
        checkpoint.from = draft.before.sealed;
        checkpoint.to = draft.to;
        checkpoint.first_time = tree.first_time;
        checkpoint.last_time = tree.last_time;
        checkpoint.sealed_at = now;
        checkpoint.rows = tree.hashes.size();
        checkpoint.root = crypto::to_hex(tree.hashes.root());
    }
    return checkpoints;
}

// A tenant's last checkpoint is read without a lock: when another process adds one meanwhile, the
// state moves on too, and nothing of ours is written.
void chain_and_sign(
    const SealTools& tools,
    const SealState& before,
    const SigningKey& key,
    std::vector<Checkpoint>& checkpoints
) {
    tools.database.read(
        [&](store::Transaction& tx) {
            for (Checkpoint& checkpoint : checkpoints) {
                const auto last = find_last_of(tx, checkpoint.tenant_id);
                checkpoint.tenant_number = last ? last->tenant_number + 1 : 1;
                checkpoint.tenant_previous = last ? last->hash() : "";
            }
        },
        store::Purpose::Background
    );
    std::string previous = before.hash;
    for (Checkpoint& checkpoint : checkpoints) {
        checkpoint.previous = previous;
        checkpoint.key_id = key.id;
        checkpoint.signature =
            crypto::to_base64url(crypto::ed25519_sign(key.seed, checkpoint.bytes()));
        previous = checkpoint.hash();
    }
}

SigningKey key_in_use(const SealTools& tools) {
    const auto find = [&](store::Transaction& tx) { return find_signing_key(tx, tools.box); };
    if (auto key = tools.database.read(find, store::Purpose::Background)) {
        return std::move(*key);
    }
    const NewKey made = make_key(tools.box, tools.clock, tools.rng);
    return tools.database.write(
        [&](store::Transaction& tx) {
            // Of two processes that make the first key one inserts it; both sign with that one.
            if (!find_signing_key(tx, tools.box)) {
                insert_key(tx, made);
            }
            return find_signing_key(tx, tools.box).value();
        },
        store::Purpose::Background
    );
}

// If the process dies before the commit, nothing is sealed and the next run begins anew; behind it
// everything is.
bool write_seal(
    store::Database& database,
    const Draft& draft,
    const std::vector<Checkpoint>& checkpoints,
    EpochMs hour
) {
    const bool is_written = database.write(
        [&](store::Transaction& tx) {
            const SealState& before = draft.before;
            const bool is_empty = checkpoints.empty();
            const std::int64_t changed = tx.execute(
                kAdvance,
                {before.checkpoint,
                 before.hour,
                 is_empty ? before.checkpoint : checkpoints.back().number,
                 is_empty ? before.hash : checkpoints.back().hash(),
                 is_empty ? before.sealed.txid : draft.to.txid,
                 is_empty ? before.sealed.seq : draft.to.seq,
                 hour}
            );
            if (changed == 0) {
                return false;  // another process was faster
            }
            for (const Checkpoint& checkpoint : checkpoints) {
                insert_checkpoint(tx, checkpoint);
            }
            for (std::size_t part = 0; part < draft.parts.size(); ++part) {
                insert_leaves(
                    tx, checkpoints.front().seal, static_cast<std::int64_t>(part), draft.parts[part]
                );
            }
            fail_point("audit-seal-before-commit");
            return true;
        },
        store::Purpose::Background
    );
    if (is_written) {
        fail_point("audit-seal-after-commit");
    }
    return is_written;
}

Sealed seal(const SealTools& tools, const Draft& draft) {
    const EpochMs now = tools.clock.now_ms();
    Sealed sealed;
    sealed.is_full = draft.rows >= kSealRows;
    std::vector<Checkpoint> checkpoints = checkpoints_of(draft, now);
    if (!checkpoints.empty()) {
        chain_and_sign(tools, draft.before, key_in_use(tools), checkpoints);
        fail_point("audit-seal-before-write");
    }
    // While there is more, the hour stays what it was, so that another run goes on.
    const EpochMs hour = sealed.is_full ? draft.before.hour : hour_of(now);
    if (!write_seal(tools.database, draft, checkpoints, hour) || checkpoints.empty()) {
        return {};
    }
    sealed.rows = draft.rows;
    sealed.checkpoints = static_cast<std::int64_t>(checkpoints.size());
    // The log is kept elsewhere than the database: the hash in it shows later that nothing was cut
    // off the end of the chain.
    tools.log.info(
        "audit.sealed",
        {{"checkpoint", std::to_string(checkpoints.back().number)},
         {"hash", checkpoints.back().hash()},
         {"rows", std::to_string(sealed.rows)},
         {"tenants", std::to_string(sealed.checkpoints)}}
    );
    return sealed;
}

}  // namespace

Sealed seal_now(const SealTools& tools) {
    const Draft draft = read_draft(tools.database);
    return draft.rows == 0 ? Sealed{} : seal(tools, draft);
}

Sealed seal_due(const SealTools& tools) {
    const SealState state = tools.database.read(read_seal_state, store::Purpose::Background);
    const EpochMs hour = hour_of(tools.clock.now_ms());
    // Another process's clock may be a little ahead, and then this hour is done; a clock that was
    // far ahead must not stop the sealing until its time comes.
    if (state.hour == hour || state.hour == hour + kSealEveryMs) {
        return {};
    }
    return seal(tools, read_draft(tools.database));
}

}  // namespace compute::audit
