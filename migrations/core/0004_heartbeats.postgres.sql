-- Which processes run which reconcilers, and since when each has been quiet. beat_at is renewed at least every interval_ms while the
-- reconciler works or waits; one that hangs in a run keeps the time that run began.
create table reconciler_heartbeats (
    process text not null,
    reconciler text not null,
    interval_ms bigint not null,
    started_at bigint not null,
    beat_at bigint not null,
    runs bigint not null,
    failures bigint not null,
    last_error text,
    primary key (process, reconciler)
);
