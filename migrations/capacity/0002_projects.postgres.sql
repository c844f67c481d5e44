-- Archived projects stay; only their names are free again.
create table projects (
    id text collate "C" primary key not null,
    tenant_id text not null,
    name text collate "C" not null,
    description text,
    labels text not null,
    version bigint not null,
    created_by text not null,
    created_at bigint not null,
    updated_at bigint not null,
    archived_at bigint,
    request_hash text not null
);
create unique index projects_active_name on projects (tenant_id, name) where archived_at is null;
create index projects_tenant on projects (tenant_id, name, id);
