#include "audit/checkpoint.h"

#include "audit/fields.h"
#include "crypto/crypto.h"

namespace compute::audit {
namespace {

constexpr std::string_view kCheckpointPurpose = "better-compute/audit-checkpoint/v1";
constexpr std::string_view kPrunePurpose = "better-compute/audit-prune/v1";

#define COMPUTE_CHECKPOINT_COLUMNS                                                               \
    "number, seal, tenant_id, tenant_number, from_txid, from_seq, to_txid, to_seq, first_time, " \
    "last_time, sealed_at, row_count, root, previous, tenant_previous, key_id, signature"
constexpr store::Sql kRead = "select " COMPUTE_CHECKPOINT_COLUMNS
                             " from audit_checkpoints where number > $1 order by number limit $2";
constexpr store::Sql kFirstSince =
    "select number from audit_checkpoints where sealed_at >= $1 order by sealed_at, number limit 1";
constexpr store::Sql kLastOf =
    "select " COMPUTE_CHECKPOINT_COLUMNS
    " from audit_checkpoints where tenant_id = $1 order by tenant_number desc limit 1";
constexpr store::Sql kOfTenant =
    "select " COMPUTE_CHECKPOINT_COLUMNS
    " from audit_checkpoints where tenant_id = $1 and tenant_number = $2";
constexpr store::Sql kSpanning =
    "select " COMPUTE_CHECKPOINT_COLUMNS
    " from audit_checkpoints where tenant_id = $1 and (to_txid, to_seq) >= ($2, $3)"
    " order by tenant_number limit 1";
constexpr store::Sql kInsert =
    "insert into audit_checkpoints (" COMPUTE_CHECKPOINT_COLUMNS
    ") values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)";

constexpr store::Sql kLeaves = "select leaves from audit_leaves where seal = $1 and part = $2";
constexpr store::Sql kInsertLeaves =
    "insert into audit_leaves (seal, part, leaves) values ($1, $2, $3)";
// A seal's number is that of its first checkpoint.
constexpr store::Sql kDeleteLeaves =
    "delete from audit_leaves where seal in (select number from audit_checkpoints where number in "
    "(select distinct seal from audit_leaves order by seal limit $3) and (to_txid, to_seq) <= ($1, "
    "$2))";

constexpr store::Sql kState =
    "select checkpoint, hash, txid, seq, hour, pruned_txid, pruned_seq, pruned_key, "
    "pruned_signature from audit_seal_state where id = 1";

Checkpoint checkpoint_of_row(const store::Row& row) {
    return {
        .number = row.get_int(0),
        .seal = row.get_int(1),
        .tenant_id = row.get_text(2),
        .tenant_number = row.get_int(3),
        .from = {row.get_int(4), row.get_int(5)},
        .to = {row.get_int(6), row.get_int(7)},
        .first_time = row.get_int(8),
        .last_time = row.get_int(9),
        .sealed_at = row.get_int(10),
        .rows = row.get_int(11),
        .root = row.get_text(12),
        .previous = row.get_text(13),
        .tenant_previous = row.get_text(14),
        .key_id = row.get_text(15),
        .signature = row.get_text(16)};
}

std::optional<Checkpoint> checkpoint_of(const std::optional<store::Row>& row) {
    return row ? std::optional(checkpoint_of_row(*row)) : std::nullopt;
}

}  // namespace

std::string Checkpoint::bytes() const {
    FieldBytes bytes(kCheckpointPurpose);
    bytes.add(number).add(seal).add(std::string_view(tenant_id)).add(tenant_number);
    bytes.add(std::string_view(from.str())).add(std::string_view(to.str()));
    bytes.add(first_time).add(last_time).add(sealed_at).add(rows);
    for (const std::string* text : {&root, &previous, &tenant_previous, &key_id}) {
        bytes.add(std::string_view(*text));
    }
    return bytes.bytes();
}

std::string Checkpoint::hash() const {
    return crypto::to_hex(crypto::sha256(bytes()));
}

std::vector<Checkpoint> read_checkpoints(store::Transaction& tx, std::int64_t after, int limit) {
    std::vector<Checkpoint> checkpoints;
    for (const store::Row& row : tx.query(kRead, {after, limit})) {
        checkpoints.push_back(checkpoint_of_row(row));
    }
    return checkpoints;
}

std::optional<std::int64_t> find_first_since(store::Transaction& tx, EpochMs since) {
    const auto row = tx.find_row(kFirstSince, {since});
    return row ? row->find_int(0) : std::nullopt;
}

std::optional<Checkpoint> find_last_of(store::Transaction& tx, const std::string& tenant_id) {
    return checkpoint_of(tx.find_row(kLastOf, {tenant_id}));
}

std::optional<Checkpoint> find_of_tenant(
    store::Transaction& tx, const std::string& tenant_id, std::int64_t tenant_number
) {
    return checkpoint_of(tx.find_row(kOfTenant, {tenant_id, tenant_number}));
}

std::optional<Checkpoint> find_spanning(
    store::Transaction& tx, const std::string& tenant_id, Position position
) {
    return checkpoint_of(tx.find_row(kSpanning, {tenant_id, position.txid, position.seq}));
}

void insert_checkpoint(store::Transaction& tx, const Checkpoint& checkpoint) {
    tx.defer(
        kInsert,
        {checkpoint.number,
         checkpoint.seal,
         checkpoint.tenant_id,
         checkpoint.tenant_number,
         checkpoint.from.txid,
         checkpoint.from.seq,
         checkpoint.to.txid,
         checkpoint.to.seq,
         checkpoint.first_time,
         checkpoint.last_time,
         checkpoint.sealed_at,
         checkpoint.rows,
         checkpoint.root,
         checkpoint.previous,
         checkpoint.tenant_previous,
         checkpoint.key_id,
         checkpoint.signature}
    );
}

std::optional<std::string> find_leaves_text(
    store::Transaction& tx, std::int64_t seal, std::int64_t part
) {
    const auto row = tx.find_row(kLeaves, {seal, part});
    return row ? std::optional(row->get_text(0)) : std::nullopt;
}

void insert_leaves(
    store::Transaction& tx, std::int64_t seal, std::int64_t part, const std::vector<Leaf>& leaves
) {
    tx.defer(kInsertLeaves, {seal, part, write_leaves(leaves)});
}

void delete_leaves_up_to(store::Transaction& tx, Position pruned, int limit) {
    tx.execute(kDeleteLeaves, {pruned.txid, pruned.seq, limit});
}

SealState read_seal_state(store::Transaction& tx) {
    const store::Row row = tx.get_row(kState);
    return {
        .checkpoint = row.get_int(0),
        .hash = row.get_text(1),
        .sealed = {row.get_int(2), row.get_int(3)},
        .hour = row.get_int(4),
        .pruned = {row.get_int(5), row.get_int(6)},
        .pruned_key = row.find_text(7),
        .pruned_signature = row.find_text(8)};
}

std::string prune_mark_bytes(Position pruned) {
    return FieldBytes(kPrunePurpose).add(std::string_view(pruned.str())).bytes();
}

}  // namespace compute::audit
