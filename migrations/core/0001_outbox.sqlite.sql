-- Events wait here until the fan-out of every consumer has passed them. The single writer makes seq the commit order; txid is the
-- first seq of the transaction. AUTOINCREMENT: a pruned tail must not free its numbers, readers keep them as cursors.
create table outbox_events (
    seq integer primary key autoincrement,
    txid integer not null,
    id text not null unique,
    tenant_id text not null,
    type text not null,
    subject text not null,
    time integer not null,
    data text not null
);
