-- The only record that capacity is held: an atom or a share of a node, for a half-open window, by a holder. The pause for
-- cleaning up is inside the window. tenant_id is the holder's tenant; the node may belong to another one, who shares the pool.
create table bookings (
    id text collate "C" primary key not null,
    tenant_id text not null,
    pool_id text collate "C" not null,
    node_id text collate "C" not null,
    gpu_uuid text collate "C",
    milli bigint not null,
    cpu_milli bigint not null,
    memory_mib bigint not null,
    starts_at bigint not null,
    ends_at bigint not null,
    holder_type text not null,
    holder_id text collate "C" not null,
    parent_id text collate "C",
    check (starts_at < ends_at)
);
-- A net under the check of versions: no whole GPU is ever held twice at one instant, whatever a program does.
create extension if not exists btree_gist;
alter table bookings add constraint bookings_whole_gpu_once exclude using gist (
    node_id with =, gpu_uuid with =, int8range(starts_at, ends_at) with &&
) where (parent_id is null and gpu_uuid is not null and milli = 1000);
create index bookings_node on bookings (node_id, ends_at);
create index bookings_gpu on bookings (gpu_uuid, starts_at);
create index bookings_holder on bookings (holder_id);
create index bookings_tenant on bookings (tenant_id, ends_at);

-- Drafts included: a retry with the same key must find its own. next_timer_at is when somebody has to look at the row again,
-- whatever its state.
create table reservations (
    id text collate "C" primary key not null,
    tenant_id text not null,
    identity_id text collate "C" not null,
    pool_id text collate "C" not null,
    pool_tenant_id text collate "C" not null,
    project_id text collate "C",
    name text,
    state text not null,
    request text not null,
    request_hash text not null,
    gpu_count bigint not null,
    gpu_milli bigint not null,
    duration_seconds bigint not null,
    cleanup_seconds bigint not null,
    requested_start bigint,
    starts_at bigint,
    ends_at bigint,
    place_by bigint,
    queued_at bigint,
    skipped_at bigint,
    placed_at bigint,
    closed_at bigint,
    reason text,
    explanation text,
    degraded text,
    extending text,
    confirmation_id text collate "C",
    confirmation_expires_at bigint,
    next_timer_at bigint,
    version bigint not null,
    created_at bigint not null,
    updated_at bigint not null
);
create index reservations_page on reservations (tenant_id, created_at, id);
create index reservations_timer on reservations (next_timer_at) where next_timer_at is not null;
create index reservations_queue on reservations (pool_id, queued_at, id) where state = 'pending';
create index reservations_passed on reservations (pool_id, skipped_at) where state = 'pending' and skipped_at is not null;
create index reservations_passing on reservations (pool_id, queued_at) where state in ('placed', 'active');
create index reservations_waiting on reservations (tenant_id) where state = 'pending';
create unique index reservations_alive_name on reservations (tenant_id, name)
    where name is not null and state in ('pending', 'placed', 'active');

-- Extends by idempotency key. A row without done_at is staged, or waits for a confirmation.
create table reservation_extends (
    tenant_id text not null,
    identity_id text collate "C" not null,
    idempotency_key text collate "C" not null,
    reservation_id text collate "C" not null,
    request_hash text not null,
    ends_at bigint not null,
    created_at bigint not null,
    expires_at bigint,
    done_at bigint,
    primary key (tenant_id, identity_id, idempotency_key)
);
create index reservation_extends_expiry on reservation_extends (expires_at) where expires_at is not null;

-- What a reservation lost with a node and has not got back. due_at: when to look for a replacement.
create table reservation_losses (
    reservation_id text collate "C" not null,
    tenant_id text not null,
    node_id text collate "C" not null,
    gpus bigint not null,
    cpu_milli bigint not null,
    memory_mib bigint not null,
    lost_at bigint not null,
    due_at bigint not null,
    primary key (reservation_id, node_id, lost_at)
);
create index reservation_losses_due on reservation_losses (due_at);
