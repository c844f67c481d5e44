#include "audit/prune.h"

#include "audit/keys.h"
#include "core/fail_point.h"
#include "crypto/crypto.h"

namespace compute::audit {
namespace {

// Only from the place that was read: of several processes that prune the same rows one does it.
constexpr store::Sql kMark =
    "update audit_seal_state set pruned_txid = $3, pruned_seq = $4, pruned_at = $5, pruned_key = "
    "$6, pruned_signature = $7 where id = 1 and pruned_txid = $1 and pruned_seq = $2";
// Of every tenant: retention is the deployment's.
constexpr store::Sql kDelete(
    "delete from audit_events where seq > $2 and seq <= $4",
    "delete from audit_events where (txid, seq) > ($1, $2) and (txid, seq) <= ($3, $4)"
);

struct Found {
    SealState state;
    std::optional<SigningKey> key;
    std::optional<Position> last;  // the last row that may go
    int rows = 0;
};

Found find_rows(const SealTools& tools, EpochMs before, int limit) {
    return tools.database.read(
        [&](store::Transaction& tx) {
            Found found;
            found.state = read_seal_state(tx);
            // What stands at or below the pruned place was put in and stays, for verification to
            // name.
            for (const Record& record :
                 read_records(tx, {found.state.pruned, found.state.sealed, limit})) {
                if (record.time() >= before) {
                    break;
                }
                found.last = record.position;
                ++found.rows;
            }
            if (found.last) {
                found.key = find_signing_key(tx, tools.box);
            }
            return found;
        },
        store::Purpose::Background
    );
}

}  // namespace

// If the process dies before the commit, the rows and the place are as they were.
int prune_rows(const SealTools& tools, EpochMs before, int limit) {
    const Found found = find_rows(tools, before, limit);
    if (!found.last || !found.key) {
        return 0;
    }
    const std::string signature =
        crypto::to_base64url(crypto::ed25519_sign(found.key->seed, prune_mark_bytes(*found.last)));
    const bool is_pruned = tools.database.write(
        [&](store::Transaction& tx) {
            const Position& old = found.state.pruned;
            const Position& last = *found.last;
            if (tx.execute(
                    kMark,
                    {old.txid,
                     old.seq,
                     last.txid,
                     last.seq,
                     tools.clock.now_ms(),
                     found.key->id,
                     signature}
                ) == 0) {
                return false;  // another process was faster
            }
            tx.execute(kDelete, {old.txid, old.seq, last.txid, last.seq});
            delete_leaves_up_to(tx, last, limit);
            fail_point("audit-prune-before-commit");
            return true;
        },
        store::Purpose::Background
    );
    return is_pruned ? found.rows : 0;
}

}  // namespace compute::audit
