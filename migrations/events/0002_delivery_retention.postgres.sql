-- What the pruning of history needs, and the lists of dead letters.

create index webhook_deliveries_settled on webhook_deliveries (queued_at) where state in (1, 3);
create index webhook_deliveries_dead on webhook_deliveries (queued_at) where state = 2;
create index webhook_deliveries_unsettled on webhook_deliveries (webhook, state, event) where state in (2, 3);
create index webhook_deliveries_unsent on webhook_deliveries (seq) where state = 0 and sent = 2;

-- Webhooks that are deleted while rows of their history remain; pruning takes these first.
create table webhook_leftovers (
    webhook bigint primary key,
    tenant_id text not null
);
