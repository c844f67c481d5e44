-- One row. txid_offset is added to every transaction id, so that positions go on growing when the data is restored into a cluster
-- whose ids are lower. highest_txid is the highest number known to have been given out or compared with, noted at each start.
create table outbox_state (
    id smallint primary key check (id = 1),
    txid_offset bigint not null,
    highest_txid bigint not null,
    system_identifier text
);
insert into outbox_state (id, txid_offset, highest_txid, system_identifier) values (1, 0, 0, null);

-- The number of the current transaction as the outbox counts. Assigns a transaction id.
create function outbox_txid() returns bigint language plpgsql stable as $$
begin
    return pg_current_xact_id()::text::bigint + (select txid_offset from outbox_state where id = 1);
end
$$;

-- Events wait here until the fan-out of every consumer has passed them. Order is (txid, seq): seq alone is no commit order.
create table outbox_events (
    seq bigint generated always as identity,
    txid bigint not null,
    id text not null,
    tenant_id text not null,
    type text not null,
    subject text not null,
    time bigint not null,
    data text not null,
    constraint outbox_events_order primary key (txid, seq),
    constraint outbox_events_id unique (id)
);
