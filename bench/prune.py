#!/usr/bin/env python3
"""Pruning a long history while events flow.

usage: prune.py [--engines sqlite,postgres] [--rows 2000000] [--rate 1000] [--seconds 40] [--json FILE]

Pools are created through the API at about `rate` a second; the wait runs from the event's time to the end of the attempt that delivered it,
both as the database has them. First with nothing to prune, then with `rows` settled deliveries old enough to go, which a daemon deletes 5,000
a second. Reported: the waits, how many went meanwhile, the largest write-ahead log seen, and whether what was pending is still there.
Everything stays on 127.0.0.1.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time

from api import SCRIPT
from bench_lab import DAY_MS, SETTINGS, Sink, deployment, execute, fill_queue, make_webhooks

CONNECTIONS = 20
PENDING = 1_000
WEBHOOKS = 20


def flow(daemon, token, rate, seconds):
    """Creates pools at about `rate` a second through CONNECTIONS connections."""
    pause = max(0, round(CONNECTIONS / rate * 1000) - 1)
    body = json.dumps({"tenantId": "t0", "name": "UNIQUE"})
    with tempfile.NamedTemporaryFile("w", suffix=".lua") as script:
        script.write(SCRIPT.replace("TOKEN", token).replace("BODY", body) + f"\nfunction delay() return {pause} end\n")
        script.flush()
        subprocess.run(
            ["wrk", "-t1", f"-c{CONNECTIONS}", f"-d{seconds}s", "-s", script.name, daemon.url + "/api/compute/pools/create"],
            capture_output=True, check=True,
        )


class WalWatch(threading.Thread):
    """The largest write-ahead log seen until close()."""

    def __init__(self, made):
        super().__init__(daemon=True)
        self.made, self.largest, self.is_over = made, 0, threading.Event()
        self.start()

    def size(self):
        if self.made.engine == "postgres":
            return int(self.made.sql("select sum(size) from pg_ls_waldir()")[0][0])
        path = self.made.database.removeprefix("sqlite:") + "-wal"
        return os.path.getsize(path) if os.path.exists(path) else 0

    def run(self):
        while not self.is_over.wait(0.5):
            self.largest = max(self.largest, self.size())

    def close(self):
        self.is_over.set()
        self.join()
        return self.largest / 2**20


def count(made, condition):
    return int(made.sql(f"select count(*) from webhook_deliveries where {condition}")[0][0])


def waits(made, since_ms):
    rows = made.sql(
        "select d.done_at - e.time from webhook_deliveries d join webhook_bodies b on b.event = d.event "
        f"join outbox_events e on e.id = b.event_id where e.time >= {since_ms} and d.state = 1"
    )
    return sorted(int(wait) for (wait,) in rows)


def measure(made, token, options):
    since = int(time.time() * 1000)
    wal = WalWatch(made)
    daemon = made.serve()
    flow(daemon, token, options.rate, options.seconds)
    daemon.stop()
    got = waits(made, since)
    return {"perSecond": len(got) / options.seconds, "p50Ms": got[len(got) // 2], "p95Ms": got[int(len(got) * 0.95)], "walMib": wal.close()}


def run(engine, options):
    sink = Sink()
    try:
        # One webhook listens to what flows; the others own the history.
        with deployment(engine, settings=SETTINGS) as made:
            make_webhooks(made, [sink.url + "/hook"] * WEBHOOKS)
            execute(made, "update webhooks set patterns = '[\"node.*\"]' where num > 1")
            token = made.tokens[0]
            alone = measure(made, token, options)
            old = int(time.time() * 1000) - 31 * DAY_MS
            fill_queue(made, ["t0"], options.rows // WEBHOOKS, queued_at=old, state=1)
            execute(made, (
                "insert into webhook_attempts (delivery, round, attempt, started_at, ended_at, outcome, status, phases) "
                f"select seq, 0, 1, {old}, {old}, 2, 204, '0,0,0,0,0' from webhook_deliveries where queued_at = {old}"
            ))
            # Older still, and pending: due in a year, so that nothing but a fault takes them away.
            fill_queue(made, ["t0"], PENDING // WEBHOOKS, queued_at=old - DAY_MS, state=0, prefix="p")
            execute(made, f"update webhook_deliveries set next_at = {old + 400 * DAY_MS} where queued_at = {old - DAY_MS}")
            before = count(made, f"queued_at = {old}")
            beside = measure(made, token, options)
            pruned = before - count(made, f"queued_at = {old}")
            kept = count(made, f"queued_at = {old - DAY_MS} and state = 0")
            return {"alone": alone, "beside": beside, "prunedPerSecond": pruned / options.seconds, "pendingKept": kept, "pendingBefore": PENDING}
    finally:
        sink.close()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--engines", default="sqlite,postgres")
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--rate", type=int, default=1_000)
    parser.add_argument("--seconds", type=int, default=40)
    parser.add_argument("--json")
    options = parser.parse_args()
    result = {}
    print("| engine | | events/s | p50 ms | p95 ms | largest WAL, MiB | pruned/s | pending kept |\n| --- | --- | --- | --- | --- | --- | --- | --- |")
    for engine in options.engines.split(","):
        figures = result[engine] = run(engine, options)
        for part in ("alone", "beside"):
            f = figures[part]
            tail = "" if part == "alone" else f"{figures['prunedPerSecond']:,.0f} | {figures['pendingKept']} of {figures['pendingBefore']}"
            print(f"| {engine} | {part} | {f['perSecond']:,.0f} | {f['p50Ms']} | {f['p95Ms']} | {f['walMib']:,.0f} | {tail or ' | '} |")
        sys.stdout.flush()
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(result, file, indent=1)


if __name__ == "__main__":
    main()
