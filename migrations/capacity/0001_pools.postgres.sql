-- Deleted pools stay: a create that is replayed with its idempotency key must find what became of it.
-- Names sort by their bytes on every cluster, so that pages are the same as on SQLite.
create table pools (
    id text collate "C" primary key not null,
    tenant_id text not null,
    name text collate "C" not null,
    description text,
    labels text not null,
    packing text not null,
    sharing text not null,
    fraction_step_milli bigint not null,
    max_duration_seconds bigint not null,
    cleanup_seconds bigint not null,
    shared_with text not null,
    disconnected_after_seconds bigint not null,
    lost_after_seconds bigint not null,
    queue text not null,
    node_groups text not null,
    version bigint not null,
    created_by text not null,
    created_at bigint not null,
    updated_at bigint not null,
    deleted_at bigint,
    request_hash text
);
create unique index pools_alive_name on pools (tenant_id, name) where deleted_at is null;

-- sharedWith of the alive pools; tenant_id '*' stands for every tenant.
create table pool_shares (
    tenant_id text not null,
    pool_id text collate "C" not null,
    primary key (tenant_id, pool_id)
);
create index pool_shares_pool on pool_shares (pool_id);

-- The nodes that node groups declare. node_id is set when the node joins.
create table expected_nodes (
    pool_id text collate "C" not null,
    tenant_id text not null,
    name text collate "C" not null,
    group_index bigint not null,
    gpu_model text not null,
    gpu_count bigint not null,
    cpu_milli bigint not null,
    memory_mib bigint not null,
    fabric text,
    node_id text,
    primary key (pool_id, name)
);
