-- What fleet.apply created and may therefore take away again. key is the thing's id, of a quota its scope.
create table fleet_objects (
    tenant_id text not null,
    kind text not null check (kind in ('pool', 'project', 'quota')),
    key text collate "C" not null,
    plan_hash text not null,
    created_at bigint not null,
    primary key (tenant_id, kind, key)
);
