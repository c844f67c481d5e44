-- What the remote IAM has been told of the authz projection: `version` is the updated_at of the row that was sent last. One process
-- at a time sends a row: it holds the lease.
create table iam_mirror (
    type text not null,
    id text not null,
    version bigint not null,
    lease_token text,
    lease_until bigint not null default 0,
    primary key (type, id)
);
create index authz_resources_by_update on authz_resources (updated_at);

-- Confirmations the remote IAM has opened, so that one asked for too often is still known.
create table iam_remote_confirmations (
    request text primary key,
    confirmation_id text not null,
    expires_at bigint not null
);
