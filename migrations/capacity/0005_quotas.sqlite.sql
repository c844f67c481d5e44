-- Limits of a tenant (project_id '') or of one of its projects; pool_id or gpu_model, when not empty, narrow them. What is in use
-- is never stored: it is counted from bookings and claims.
create table quotas (
    tenant_id text not null,
    project_id text not null,
    pool_id text not null,
    gpu_model text not null,
    limits text not null,
    version integer not null,
    updated_by text not null,
    created_at integer not null,
    updated_at integer not null,
    primary key (tenant_id, project_id, pool_id, gpu_model)
) strict, without rowid;

-- Claims that are charged.
create index reservations_charged on reservations (tenant_id) where state in ('pending', 'placed', 'active');
