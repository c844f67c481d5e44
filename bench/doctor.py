#!/usr/bin/env python3
"""`doctor` on a large database: how long a plain run takes with a million deliveries, beside a daemon that writes, and alone.

usage: doctor.py [--engines sqlite,postgres] [--deliveries 1000000] [--rounds 5] [--limit 1.0] [--json FILE]

The history is spread over 200 webhooks of 20 tenants: 98 % delivered, 1 % dead, the rest cancelled and pending, an attempt for each. Exit status 1 when
a median is over the limit. The listing of dead letters across tenants is timed as well. Everything stays on this machine.
"""

import argparse
import json
import os
import sqlite3
import statistics
import sys
import threading
import time

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
sys.path.insert(0, os.path.join(ROOT, "tests/e2e"))
from harness import Deployment, Receiver, post  # noqa: E402

TENANTS, WEBHOOKS = 20, 200
SETTINGS = "[events]\nallow_insecure = true\nallow_private = true\n"
STATE = "case when n % 100 < 98 then 1 when n % 100 = 98 then 2 when n % 200 = 99 then 3 else 0 end"


def statements(engine, count, now):
    numbers = (
        f"(with recursive r(n) as (select 1 union all select n + 1 from r where n < {count}) select n from r)"
        if engine == "sqlite" else f"generate_series(1, {count}) g(n)"
    )
    # A pending row is due in the future: it is a retry, not a backlog.
    yield (
        "insert into webhook_bodies (event_id, tenant_id, type, position, body)"
        f" select 'evt_bench' || n, 'tenant-' || (n % {TENANTS}), 'pool.created', '1.' || n, '{'x' * 500}' from {numbers}"
    )
    yield (
        "insert into webhook_deliveries (id, webhook, event, state, next_at, queued_at, done_at, attempts)"
        f" select 'dlv_bench' || n, w.num, b.event, {STATE}, {now} + 3600000, {now} - 86400000 + n % 1000, {now} - 80000000, 1"
        f" from (select event, cast(substr(event_id, 10) as integer) as n from webhook_bodies where event_id like 'evt_bench%') b"
        f" join (select num, row_number() over (order by num) - 1 as place from webhooks) w on w.place = b.n % {WEBHOOKS}"
    )
    yield (
        "insert into webhook_attempts (delivery, round, attempt, started_at, ended_at, outcome, status)"
        f" select seq, 0, 1, {now} - 80000000, {now} - 79999990, 2, 204 from webhook_deliveries"
    )


def fill(deployment, count):
    now = int(time.time() * 1000)
    if deployment.engine == "sqlite":
        connection = sqlite3.connect(deployment.database.removeprefix("sqlite:"), timeout=60)
        with connection:
            for statement in statements("sqlite", count, now):
                connection.execute(statement)
        connection.close()
        return
    for statement in statements("postgres", count, now):
        deployment.sql(statement)
    deployment.sql("vacuum analyze")


def seconds(deployment, rounds, *args):
    times = []
    for _ in range(rounds):
        begin = time.monotonic()
        done = deployment.cli(*args)
        times.append(time.monotonic() - begin)
        assert done.status == 0, done.err
    return times, done


class Writer:
    """Creates pools through the API until it is closed."""

    def __init__(self, url, token):
        self.count, self.stopped = 0, False
        self.thread = threading.Thread(target=self.run, args=(url, token))
        self.thread.start()

    def run(self, url, token):
        while not self.stopped:
            self.count += 1
            assert post(url, "pools/create", {"tenantId": "tenant-0", "name": f"pool-{self.count}"}, token).status == 200

    def close(self):
        self.stopped = True
        self.thread.join()


def measure(engine, count, rounds):
    deployment = Deployment(engine, SETTINGS)
    receiver = Receiver()
    try:
        daemon = deployment.serve()
        tokens = [deployment.tenant(f"tenant-{i}") for i in range(TENANTS)]
        for i in range(WEBHOOKS):
            post(daemon.url, "webhooks/create", {"tenantId": f"tenant-{i % TENANTS}", "url": receiver.url, "events": ["pool.deleted"]}, tokens[i % TENANTS]).data
        daemon.stop()
        fill(deployment, count)
        alone, _ = seconds(deployment, rounds, "doctor", "--json")
        daemon = deployment.serve()
        writer = Writer(daemon.url, tokens[0])
        try:
            beside, done = seconds(deployment, rounds, "doctor", "--json")
            listing, _ = seconds(deployment, rounds, "webhooks", "deliveries", "--state", "dead", "--json")
        finally:
            writer.close()
        dead = [f["count"] for f in done.json["findings"] if f["check"] == "events.webhook-dead-letters"]
        assert dead == [count // 100], dead
        assert [f for f in done.json["findings"] if f["severity"] == "error"] == [], done.out
        assert daemon.stop() == 0
        return {"alone": alone, "beside a writing daemon": beside, "deliveries --state dead": listing, "written meanwhile": writer.count}
    finally:
        receiver.close()
        deployment.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--engines", default="sqlite,postgres")
    parser.add_argument("--deliveries", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--limit", type=float, default=1.0)
    parser.add_argument("--json")
    options = parser.parse_args()
    report, is_slow = {}, False
    for engine in options.engines.split(","):
        report[engine] = measure(engine, options.deliveries, options.rounds)
        for name, times in report[engine].items():
            if isinstance(times, int):
                print(f"{engine}: {name}: {times} pools")
                continue
            median = statistics.median(times)
            is_slow = is_slow or median > options.limit
            print(f"{engine}: {name}: median {median * 1000:.0f} ms ({min(times) * 1000:.0f}-{max(times) * 1000:.0f})")
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(report, file, indent=2)
    sys.exit(1 if is_slow else 0)


main()
