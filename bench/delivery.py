#!/usr/bin/env python3
"""Delivery measured from outside: how fast queued events reach receivers, beside the limit of the same minute.

usage: delivery.py [--engines sqlite,postgres] [--rounds 5] [--events 1000] [--webhooks 200] [--json FILE]

Each round, in turn for each engine: the raw rate (bench_raw_curl: one libcurl multi loop, signed, 64 in flight, same sink), then a drain: the
outbox holds events for 20 webhooks per tenant, a `serve --roles controllers` starts, and the time runs from the first delivery the sink
sees to the last. Fan-out is part of it. Then latency: pools are created one after the other at 100 a second through the API, and the time
runs from the answer to the receipt. Sink, database and daemon share the machine. Everything stays on 127.0.0.1.
"""

import argparse
import json
import os
import sqlite3
import statistics
import subprocess
import sys
import time
import urllib.request

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
sys.path.insert(0, os.path.join(ROOT, "tests/e2e"))
from harness import Deployment, Receiver, post, wait_for  # noqa: E402

BUILD = os.environ.get("BETTER_COMPUTE_BENCH_BUILD", os.path.join(ROOT, "build/bench"))
SETTINGS = "[events]\nallow_insecure = true\nallow_private = true\nmax_per_tenant = 100000\n"
PER_TENANT = 20
DATA_BYTES = 360  # makes a body of about 600 bytes


class Sink:
    def __init__(self):
        self.process = subprocess.Popen([BUILD + "/bench/sink/bench_sink", "--port", "0"], stdout=subprocess.PIPE, text=True)
        self.port = int(self.process.stdout.readline().split(":")[1].split(",")[0])
        self.url = f"http://127.0.0.1:{self.port}"

    def count(self):
        with urllib.request.urlopen(self.url + "/count", timeout=10) as answer:
            return json.load(answer)

    def reset(self):
        urllib.request.urlopen(urllib.request.Request(self.url + "/reset", method="POST", data=b""), timeout=10).close()

    def close(self):
        self.process.terminate()
        self.process.wait()


def raw(sink, count):
    done = subprocess.run([BUILD + "/bench/bench_raw_curl", sink.url + "/hook", str(count), "64"], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)["perSecond"]


def cpu_seconds(pid):
    with open(f"/proc/{pid}/stat", encoding="utf-8") as stat:
        fields = stat.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def fill(deployment, tenants, events):
    """Puts `events` events for each tenant into the outbox, as their transactions would have."""
    data = json.dumps({"name": "x" * DATA_BYTES, "changed": []})
    rows = []
    for event in range(events):
        for tenant in tenants:
            number = len(rows)
            rows.append((f"evt_{number:026d}", tenant, "pool.created", f"pool/pool_{event:026d}", 1790244902000, data))
    if deployment.engine == "sqlite":
        connection = sqlite3.connect(deployment.database.removeprefix("sqlite:"), timeout=30)
        with connection:
            start = connection.execute("select coalesce(max(seq), 0) from outbox_events").fetchone()[0] + 1
            connection.executemany(
                "insert into outbox_events (txid, id, tenant_id, type, subject, time, data) values (?, ?, ?, ?, ?, ?, ?)",
                [(start, *row) for row in rows],
            )
        connection.close()
        return
    deployment.sql(
        "insert into outbox_events (txid, id, tenant_id, type, subject, time, data) "
        "select outbox_txid(), 'evt_' || lpad((e * {t} + n)::text, 26, '0'), 't' || n, 'pool.created', 'pool/pool_' || lpad(e::text, 26, '0'), "
        "1790244902000, '{d}' from generate_series(0, {e} - 1) e, generate_series(0, {t} - 1) n".format(
            t=len(tenants), e=events, d=data.replace("'", "''")
        )
    )


def drain(engine, sink, webhooks, events):
    deployment = Deployment(engine, SETTINGS)
    try:
        tenants = [f"t{i}" for i in range(webhooks // PER_TENANT)]
        daemon = deployment.serve("--roles", "api")
        for tenant in tenants:
            token = deployment.tenant(tenant)
            for _ in range(PER_TENANT):
                post(daemon.url, "webhooks/create", {"tenantId": tenant, "url": sink.url + "/hook", "events": ["pool.*"]}, token).data
        daemon.stop()
        fill(deployment, tenants, events)
        total = webhooks * events
        sink.reset()
        daemon = deployment.serve("--roles", "controllers")
        first = None
        while True:
            seen = sink.count()
            now = time.monotonic()
            if first is None and seen["requests"] > 0:
                first = now
            if seen["distinct"] >= total:
                break
            time.sleep(0.005)
        seconds = now - first
        cpu = cpu_seconds(daemon.process.pid)
        repeated = seen["requests"] - seen["distinct"]
        before = cpu_seconds(daemon.process.pid)
        time.sleep(5)
        idle = (cpu_seconds(daemon.process.pid) - before) / 5 * 100
        daemon.stop()
        return {"perSecond": total / seconds, "seconds": seconds, "cpuMicrosecondsEach": cpu / total * 1e6, "repeated": repeated, "idlePercent": idle}
    finally:
        deployment.close()


def latency(engine, count=300, rate=100):
    deployment = Deployment(engine, SETTINGS)
    receiver = Receiver()
    try:
        daemon = deployment.serve()
        token = deployment.tenant("acme")
        post(daemon.url, "webhooks/create", {"tenantId": "acme", "url": receiver.url, "events": ["pool.*"]}, token).data
        answered = {}
        start = time.monotonic()
        for i in range(count):
            time.sleep(max(0, start + i / rate - time.monotonic()))
            answer = post(daemon.url, "pools/create", {"tenantId": "acme", "name": f"p{i}"}, token)
            answered["pool/" + answer.data["id"]] = time.time()
        wait_for(lambda: len(receiver.ids()) >= count, "every delivery")
        waits = sorted(max(0.0, d.at - answered[d.event["subject"]]) * 1000 for d in receiver.seen())
        daemon.stop()
        return {"p50": waits[len(waits) // 2], "p99": waits[int(len(waits) * 0.99)]}
    finally:
        receiver.close()
        deployment.close()


def spread(values):
    return {"median": statistics.median(values), "min": min(values), "max": max(values)}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--engines", default="sqlite,postgres")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--events", type=int, default=100, help="per tenant; each goes to 20 webhooks")
    parser.add_argument("--webhooks", type=int, default=200)
    parser.add_argument("--json")
    options = parser.parse_args()
    engines = options.engines.split(",")
    total = options.webhooks * options.events
    sink = Sink()
    runs = {engine: [] for engine in engines}
    try:
        for number in range(options.rounds):
            for engine in engines:
                limit = raw(sink, total)
                run = drain(engine, sink, options.webhooks, options.events)
                run.update({"raw": limit, "ratio": run["perSecond"] / limit, **latency(engine)})
                runs[engine].append(run)
                print(f"round {number + 1} {engine}: {run['perSecond']:.0f}/s of raw {limit:.0f}/s", file=sys.stderr)
    finally:
        sink.close()
    result = {
        engine: {key: spread([run[key] for run in each]) for key in each[0]} for engine, each in runs.items()
    }
    print(f"{total} deliveries of about 600 bytes over {options.webhooks} webhooks, {options.rounds} rounds: median (min-max)\n")
    print("| engine | deliveries/s | raw/s | ratio | CPU us each | idle % | p50 ms | p99 ms | repeated |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    for engine, figures in result.items():
        def cell(key, digits):
            f = figures[key]
            return f"{f['median']:,.{digits}f} ({f['min']:,.{digits}f}-{f['max']:,.{digits}f})"
        print(f"| {engine} | {cell('perSecond', 0)} | {cell('raw', 0)} | {cell('ratio', 2)} | {cell('cpuMicrosecondsEach', 0)} | "
              f"{cell('idlePercent', 2)} | {cell('p50', 1)} | {cell('p99', 1)} | {cell('repeated', 0)} |")
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump({"runs": runs, "summary": result}, file, indent=1)


if __name__ == "__main__":
    main()
