-- Which processes run which reconcilers, and since when each has been quiet. beat_at is renewed at least every interval_ms while the
-- reconciler works or waits; one that hangs in a run keeps the time that run began.
create table reconciler_heartbeats (
    process text not null,
    reconciler text not null,
    interval_ms integer not null,
    started_at integer not null,
    beat_at integer not null,
    runs integer not null,
    failures integer not null,
    last_error text,
    primary key (process, reconciler)
) without rowid;
