-- Machines with an agent. Removed ones stay as rows; their names are free again.
-- version rises with everything that changes what may be placed on the node: its row, its GPUs, its bookings. changed_in orders these
-- changes, so that an index in memory finds what it has not seen.
create table nodes (
    id text primary key not null,
    tenant_id text not null,
    pool_id text not null,
    name text not null,
    labels text not null,
    fabric text,
    connection text not null check (connection in ('ready', 'disconnected', 'lost', 'removed')),
    connection_since integer not null,
    admin text not null check (admin in ('enabled', 'cordoned', 'draining', 'drained')),
    admin_reason text,
    drain_deadline_at integer,
    cpu_milli integer not null,
    memory_mib integer not null,
    expected_gpus integer not null,
    machine_id text not null,
    boot_id text not null,
    credential_hash text not null,
    -- The token it enrolled with, until the agent has shown that it holds the credential.
    token_id text,
    epoch integer not null,
    -- The serve process that holds the agent's connection, or held it last.
    connected_to text not null,
    -- How long the agent was told to work on without an answer: it is never called lost before that and a margin.
    fence_ms integer not null,
    -- Set by a forced removal: the row goes when the node is lost.
    removing_at integer,
    clock_skew_ms integer not null,
    inventory_hash text not null,
    driver text,
    abilities text not null,
    version integer not null,
    changed_in integer not null,
    created_at integer not null,
    updated_at integer not null,
    removed_at integer
) strict;
create unique index nodes_alive_name on nodes (pool_id, name) where removed_at is null;
create index nodes_tenant on nodes (tenant_id, name, id) where removed_at is null;
create index nodes_changed on nodes (changed_in);
create index nodes_held on nodes (connected_to) where removed_at is null;

-- The GPUs a node is expected to have: those of the inventories that were accepted, less those an operator gave up.
create table node_gpus (
    node_id text not null,
    tenant_id text not null,
    uuid text not null,
    gpu_index integer not null,
    model text not null,
    memory_mib integer not null,
    pci_bus_id text not null,
    numa integer,
    health text not null check (health in ('healthy', 'missing', 'failed', 'degraded')),
    health_since integer not null,
    xid integer,
    present integer not null,
    primary key (node_id, uuid)
) strict, without rowid;
-- One card is in one machine: bookings name a GPU by its UUID alone.
create unique index node_gpus_uuid on node_gpus (uuid);

create table node_tokens (
    id text primary key not null,
    tenant_id text not null,
    pool_id text not null,
    token_hash text not null,
    names text,
    max_uses integer not null,
    uses integer not null,
    expires_at integer not null,
    created_by text not null,
    created_at integer not null
) strict;
create unique index node_tokens_hash on node_tokens (token_hash);
create index node_tokens_expiry on node_tokens (expires_at);

-- The processes that hold connections of agents. `beat` rises while one lives; the others judge by whether it does, not by its clock.
create table node_holders (
    process text primary key not null,
    beat integer not null,
    beat_at integer not null,
    started_at integer not null
) strict, without rowid;
