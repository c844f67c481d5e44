-- Archived projects stay; only their names are free again.
create table projects (
    id text primary key not null,
    tenant_id text not null,
    name text not null,
    description text,
    labels text not null,
    version integer not null,
    created_by text not null,
    created_at integer not null,
    updated_at integer not null,
    archived_at integer,
    request_hash text not null
) strict;
create unique index projects_active_name on projects (tenant_id, name) where archived_at is null;
create index projects_tenant on projects (tenant_id, name, id);
