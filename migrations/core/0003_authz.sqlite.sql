-- Attributes of our rows that policies decide on, written in the transaction that changes the row. `pending` is what an
-- admission has staged: merged over `attributes` in decisions. Both are JSON texts.
create table authz_resources (
    type text not null,
    id text not null,
    tenant_id text not null,
    attributes text not null,
    pending text,
    owner_id text,
    updated_at integer not null,
    primary key (type, id)
) without rowid;
create index authz_resources_by_tenant on authz_resources (tenant_id, type, id);
