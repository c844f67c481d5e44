-- The embedded IAM. `iam_state.revision` grows with every change of what decisions are made from (tenants, identities, policies,
-- roles, bindings, boundaries, delegations); processes keep compiled documents by it. Tokens and confirmations are read anew each time.
create table iam_state (
    id integer primary key,
    revision integer not null
);
insert into iam_state (id, revision) values (1, 1);

create table iam_tenants (
    id text primary key,
    name text,
    is_disabled integer not null default 0,
    created_at integer not null
);
insert into iam_tenants (id, created_at) values ('root', 0);

create table iam_identities (
    tenant_id text not null,
    id text not null,
    kind text not null,
    attributes text not null default '{}',
    is_disabled integer not null default 0,
    created_at integer not null,
    primary key (tenant_id, id)
);

create table iam_policies (
    tenant_id text not null,
    name text not null,
    document text not null,
    primary key (tenant_id, name)
);

create table iam_roles (
    tenant_id text not null,
    name text not null,
    primary key (tenant_id, name)
);
create table iam_role_policies (
    tenant_id text not null,
    role text not null,
    policy text not null,
    primary key (tenant_id, role, policy)
);

-- `kind` is policy or role.
create table iam_bindings (
    tenant_id text not null,
    identity_id text not null,
    kind text not null,
    name text not null,
    primary key (tenant_id, identity_id, kind, name)
);

create table iam_boundaries (
    tenant_id text not null,
    position integer not null,
    document text not null,
    primary key (tenant_id, position)
);

create table iam_budgets (
    tenant_id text not null,
    name text not null,
    limit_gpu_hours real not null,
    spend_window text not null,
    is_enforced integer not null,
    primary key (tenant_id, name)
);

-- `scopes` and `confirm` are JSON lists of action patterns.
create table iam_delegations (
    id text primary key,
    tenant_id text not null,
    agent text not null,
    subject text not null,
    scopes text not null,
    confirm text not null,
    max_seconds integer not null
);

-- `hash` is the SHA-256 of the token, hex; `scope` a policy document that bounds it.
create table iam_tokens (
    id text primary key,
    hash text not null unique,
    tenant_id text not null,
    identity_id text not null,
    kind text not null,
    delegation_id text,
    scope text,
    created_at integer not null,
    created_by text not null,
    expires_at integer,
    revoked_at integer
);
create index iam_tokens_by_identity on iam_tokens (tenant_id, identity_id);

-- `state` is pending, approved, denied or used; one behind its expires_at counts as expired whatever it says.
create table iam_confirmations (
    id text primary key,
    tenant_id text not null,
    delegation_id text not null,
    agent text not null,
    subject text not null,
    action text not null,
    resource_type text not null,
    resource_id text not null,
    request_hash text not null,
    reason text not null,
    state text not null,
    created_at integer not null,
    expires_at integer not null,
    decided_at integer,
    decided_by text
);
create index iam_confirmations_open on iam_confirmations (delegation_id, tenant_id, action, resource_type, resource_id, request_hash)
    where state in ('pending', 'approved');

-- The newest refusals; what a call did not come so far as to know is empty.
create table iam_denials (
    seq integer primary key autoincrement,
    at integer not null,
    code text not null,
    path text not null,
    request_id text not null,
    tenant_id text not null,
    identity_id text not null,
    action text not null,
    resource_type text not null,
    resource_id text not null,
    reason text not null,
    source_ip text not null
);

-- GPU time spent, by UTC day; budgets are judged by it.
create table iam_usage (
    tenant_id text not null,
    day integer not null,
    gpu_milliseconds integer not null,
    primary key (tenant_id, day)
);
