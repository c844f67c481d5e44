-- Keys that checkpoints of the audit trail are signed with. seed is sealed under the deployment secret; the key in use is the newest.
create table audit_keys (
    number integer primary key,
    id text not null unique,
    public_key text not null,
    seed text not null,
    created_at integer not null
);

-- One row: how far the trail is sealed (checkpoint and its hash, and the last sealed row's place) and how far it was pruned. Everything
-- at or below the pruned place is gone on purpose; pruned_signature is what vouches for that.
create table audit_seal_state (
    id integer primary key check (id = 1),
    checkpoint integer not null,
    hash text not null,
    txid integer not null,
    seq integer not null,
    hour integer not null,
    pruned_txid integer not null,
    pruned_seq integer not null,
    pruned_at integer not null,
    pruned_key text,
    pruned_signature text
);
insert into audit_seal_state (id, checkpoint, hash, txid, seq, hour, pruned_txid, pruned_seq, pruned_at)
values (1, 0, '', 0, 0, 0, 0, 0, 0);

-- Checkpoints, numbered over all tenants without a gap. `seal` is the number of the first checkpoint that was made together with it; the
-- rows of one seal lie behind (from_txid, from_seq], up to (to_txid, to_seq]. Kept for ever.
create table audit_checkpoints (
    number integer primary key,
    seal integer not null,
    tenant_id text not null,
    tenant_number integer not null,
    from_txid integer not null,
    from_seq integer not null,
    to_txid integer not null,
    to_seq integer not null,
    first_time integer not null,
    last_time integer not null,
    sealed_at integer not null,
    row_count integer not null,
    root text not null,
    previous text not null,
    tenant_previous text not null,
    key_id text not null,
    signature text not null,
    constraint audit_checkpoints_by_tenant unique (tenant_id, tenant_number)
);
create index audit_checkpoints_by_time on audit_checkpoints (sealed_at);

-- The leaves of the trees of one seal, in the order of the rows, some at a time: what was sealed, so that a row that is gone or changed
-- can be named. Goes with the rows when they are pruned.
create table audit_leaves (
    seal integer not null,
    part integer not null,
    leaves text not null,
    primary key (seal, part)
) without rowid;
