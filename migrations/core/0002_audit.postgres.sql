-- One row per allowed mutation, written in the transaction of its change. (txid, seq) is an order in which rows can be sealed: no
-- row can still appear below the lowest transaction under way.
create table audit_events (
    seq bigint generated always as identity primary key,
    txid bigint not null default outbox_txid(),
    id text not null,
    time bigint not null,
    tenant_id text not null,
    identity_id text not null,
    identity_kind text not null,
    actor_tenant_id text not null,
    session_id text not null,
    session_kind text not null,
    agent_id text,
    delegation_id text,
    method text not null,
    action text not null,
    resource_type text not null,
    resource_id text not null,
    decision_reason text not null,
    admission text,
    request_id text not null,
    source_ip text,
    parent_id text,
    constraint audit_events_id unique (id)
);
create index audit_events_by_tenant on audit_events (tenant_id, seq);
create index audit_events_by_time on audit_events (time);
create index audit_events_by_request on audit_events (request_id);
