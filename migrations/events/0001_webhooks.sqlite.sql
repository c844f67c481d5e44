-- Webhooks, their delivery queue and the fan-out cursor. Integer keys inside, text ids outside.

create table webhooks (
    num integer primary key autoincrement,
    id text not null unique,
    tenant_id text not null,
    url text not null,
    patterns text not null,             -- JSON array of event patterns
    description text,
    active integer not null constraint a_webhook_is_active_or_paused check (active in (0, 1)),
    secret text not null,               -- sealed
    previous_secret text,               -- sealed; signs beside the new one until it expires
    previous_expires_at integer,
    visible_mark text not null,         -- what was visible at creation and at the last resume: older events are not queued
    proof_mark text not null,           -- the same at the last change of the patterns too: `webhooks proof` vouches from here on
    revision integer not null,          -- grows with each change; a holder of the lane compares it
    created_at integer not null,
    updated_at integer not null,
    created_by text
);
create index webhooks_of_tenant on webhooks (tenant_id, num);

-- One lane per webhook. The lease stands here: a claim changes no indexed column of the queue, and a lane that expired
-- frees all its rows at once. due_at: when the lane wants to be looked at: held, the end of its lease; waiting, the time
-- of its next row; empty, the far future. Whoever makes a row pending touches the lane in the same transaction.
create table webhook_lanes (
    webhook integer primary key,
    token integer,
    due_at integer not null,
    careful integer not null default 0, -- a lease expired: one row at a time until one settles
    slow integer not null default 0     -- the last try was slow or failed: the second sending loop
);
create index webhook_lanes_due on webhook_lanes (slow, due_at);

-- The bytes that every attempt of every webhook sends for one event.
create table webhook_bodies (
    event integer primary key autoincrement,
    event_id text not null unique,
    tenant_id text not null,
    type text not null,
    position text not null,             -- "txid.seq"; empty for a ping
    body text not null
);

-- The queue. state: 0 pending, 1 delivered, 2 dead, 3 cancelled. sent: 0 nothing known to have left, 1 something did,
-- 2 all attempts were used up without a send (it waits; doctor names it). round: how often it was redelivered.
create table webhook_deliveries (
    seq integer primary key autoincrement,
    id text not null unique,
    webhook integer not null,
    event integer not null,
    state integer not null constraint a_delivery_has_a_known_state check (state between 0 and 3),
    next_at integer not null,
    queued_at integer not null,
    done_at integer,
    token integer,                      -- the lease that claimed it last
    attempts integer not null default 0,
    round integer not null default 0,
    sent integer not null default 0,
    last_status integer,
    last_error text,
    unique (webhook, event)
);
create index webhook_deliveries_due on webhook_deliveries (webhook, next_at, seq) where state = 0;

-- What each attempt met. outcome: 0 not sent, 1 unknown, 2 answered. Operators see it, tenants never do.
create table webhook_attempts (
    delivery integer not null,
    round integer not null,
    attempt integer not null,
    started_at integer not null,
    ended_at integer not null,
    outcome integer not null,
    status integer,
    error text,
    detail text,
    address text,
    phases text,                        -- "resolve,connect,tls,first byte,total" in milliseconds
    primary key (delivery, round, attempt)
) without rowid;

create table event_cursors (
    name text primary key,
    txid integer not null,
    seq integer not null,
    anchored_at integer not null,
    updated_at integer not null
) without rowid;

-- Events that could not be queued; they never block those behind them.
create table webhook_set_aside (
    event_id text primary key,
    tenant_id text not null,
    type text not null,
    position text not null,
    reason text not null,
    at integer not null
) without rowid;

-- Operators' redeliveries of many. state: 0 running, 1 done, 2 cancelled. after_seq: how far it came.
create table webhook_redelivery_jobs (
    id text primary key,
    filter text not null,
    state integer not null,
    after_seq integer not null,
    until_seq integer not null,
    matched integer not null default 0,
    redelivered integer not null default 0,
    skipped integer not null default 0,
    created_by text not null,
    created_at integer not null,
    updated_at integer not null
) without rowid;
