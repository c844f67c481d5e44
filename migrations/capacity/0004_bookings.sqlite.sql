-- The only record that capacity is held: an atom or a share of a node, for a half-open window, by a holder. The pause for
-- cleaning up is inside the window. tenant_id is the holder's tenant; the node may belong to another one, who shares the pool.
create table bookings (
    id text primary key not null,
    tenant_id text not null,
    pool_id text not null,
    node_id text not null,
    gpu_uuid text,
    milli integer not null,
    cpu_milli integer not null,
    memory_mib integer not null,
    starts_at integer not null,
    ends_at integer not null,
    holder_type text not null,
    holder_id text not null,
    parent_id text,
    check (starts_at < ends_at)
) strict;
create index bookings_node on bookings (node_id, ends_at);
create index bookings_gpu on bookings (gpu_uuid, starts_at);
create index bookings_holder on bookings (holder_id);
create index bookings_tenant on bookings (tenant_id, ends_at);

-- Drafts included: a retry with the same key must find its own. next_timer_at is when somebody has to look at the row again,
-- whatever its state.
create table reservations (
    id text primary key not null,
    tenant_id text not null,
    identity_id text not null,
    pool_id text not null,
    pool_tenant_id text not null,
    project_id text,
    name text,
    state text not null,
    request text not null,
    request_hash text not null,
    gpu_count integer not null,
    gpu_milli integer not null,
    duration_seconds integer not null,
    cleanup_seconds integer not null,
    requested_start integer,
    starts_at integer,
    ends_at integer,
    place_by integer,
    queued_at integer,
    skipped_at integer,
    placed_at integer,
    closed_at integer,
    reason text,
    explanation text,
    degraded text,
    extending text,
    confirmation_id text,
    confirmation_expires_at integer,
    next_timer_at integer,
    version integer not null,
    created_at integer not null,
    updated_at integer not null
) strict;
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
    identity_id text not null,
    idempotency_key text not null,
    reservation_id text not null,
    request_hash text not null,
    ends_at integer not null,
    created_at integer not null,
    expires_at integer,
    done_at integer,
    primary key (tenant_id, identity_id, idempotency_key)
) strict, without rowid;
create index reservation_extends_expiry on reservation_extends (expires_at) where expires_at is not null;

-- What a reservation lost with a node and has not got back. due_at: when to look for a replacement.
create table reservation_losses (
    reservation_id text not null,
    tenant_id text not null,
    node_id text not null,
    gpus integer not null,
    cpu_milli integer not null,
    memory_mib integer not null,
    lost_at integer not null,
    due_at integer not null,
    primary key (reservation_id, node_id, lost_at)
) strict, without rowid;
create index reservation_losses_due on reservation_losses (due_at);
