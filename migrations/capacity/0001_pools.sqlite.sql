-- Deleted pools stay: a create that is replayed with its idempotency key must find what became of it.
create table pools (
    id text primary key not null,
    tenant_id text not null,
    name text not null,
    description text,
    labels text not null,
    packing text not null,
    sharing text not null,
    fraction_step_milli integer not null,
    max_duration_seconds integer not null,
    cleanup_seconds integer not null,
    shared_with text not null,
    disconnected_after_seconds integer not null,
    lost_after_seconds integer not null,
    queue text not null,
    node_groups text not null,
    version integer not null,
    created_by text not null,
    created_at integer not null,
    updated_at integer not null,
    deleted_at integer,
    request_hash text
) strict;
create unique index pools_alive_name on pools (tenant_id, name) where deleted_at is null;

-- sharedWith of the alive pools; tenant_id '*' stands for every tenant.
create table pool_shares (
    tenant_id text not null,
    pool_id text not null,
    primary key (tenant_id, pool_id)
) strict, without rowid;
create index pool_shares_pool on pool_shares (pool_id);

-- The nodes that node groups declare. node_id is set when the node joins.
create table expected_nodes (
    pool_id text not null,
    tenant_id text not null,
    name text not null,
    group_index integer not null,
    gpu_model text not null,
    gpu_count integer not null,
    cpu_milli integer not null,
    memory_mib integer not null,
    fabric text,
    node_id text,
    primary key (pool_id, name)
) strict, without rowid;
