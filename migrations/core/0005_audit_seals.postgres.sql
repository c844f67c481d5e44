-- Keys that checkpoints of the audit trail are signed with. seed is sealed under the deployment secret; the key in use is the newest.
create table audit_keys (
    number bigint primary key,
    id text not null unique,
    public_key text not null,
    seed text not null,
    created_at bigint not null
);

-- One row: how far the trail is sealed (checkpoint and its hash, and the last sealed row's place) and how far it was pruned. Everything
-- at or below the pruned place is gone on purpose; pruned_signature is what vouches for that.
create table audit_seal_state (
    id smallint primary key check (id = 1),
    checkpoint bigint not null,
    hash text not null,
    txid bigint not null,
    seq bigint not null,
    hour bigint not null,
    pruned_txid bigint not null,
    pruned_seq bigint not null,
    pruned_at bigint not null,
    pruned_key text,
    pruned_signature text
);
insert into audit_seal_state (id, checkpoint, hash, txid, seq, hour, pruned_txid, pruned_seq, pruned_at)
values (1, 0, '', 0, 0, 0, 0, 0, 0);

-- Checkpoints, numbered over all tenants without a gap. `seal` is the number of the first checkpoint that was made together with it; the
-- rows of one seal lie behind (from_txid, from_seq], up to (to_txid, to_seq]. Kept for ever.
create table audit_checkpoints (
    number bigint primary key,
    seal bigint not null,
    tenant_id text not null,
    tenant_number bigint not null,
    from_txid bigint not null,
    from_seq bigint not null,
    to_txid bigint not null,
    to_seq bigint not null,
    first_time bigint not null,
    last_time bigint not null,
    sealed_at bigint not null,
    row_count bigint not null,
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
    seal bigint not null,
    part bigint not null,
    leaves text not null,
    primary key (seal, part)
);

-- Rows are sealed and pruned in the order (txid, seq): it becomes the key, so that a row written costs no index more than before.
alter table audit_events drop constraint audit_events_pkey;
alter table audit_events add constraint audit_events_pkey primary key (txid, seq);
drop index audit_events_by_tenant;
create index audit_events_by_tenant on audit_events (tenant_id, txid, seq);
