#!/usr/bin/env python3
"""reservations.create over HTTP, durable: each call books one GPU of 1,600 for a minute of the coming year, through the whole envelope.

usage: claims.py [--engines sqlite,postgres] [--clients 1,64] [--seconds 5] [--rounds 3]

Beside the figures stands what the disk's own fsync allows: the rate of 4 KiB appends, each followed by fdatasync, in the same folder.
Daemon, database and wrk share the machine; everything stays on 127.0.0.1.
"""

import argparse
import os
import statistics
import sys
import time

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
sys.path.insert(0, os.path.join(ROOT, "tests/e2e"))
sys.path.insert(0, os.path.join(ROOT, "bench"))
import api  # noqa: E402
from claims_nodes import add_nodes, create_pool  # noqa: E402
from harness import Deployment  # noqa: E402

NODES = 200


def fsync_rate(folder, seconds=1.0):
    path = os.path.join(folder, "fsync-probe")
    page = os.urandom(4096)
    count = 0
    handle = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600)
    try:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            os.write(handle, page)
            os.fdatasync(handle)
            count += 1
    finally:
        os.close(handle)
        os.unlink(path)
    return count / seconds


def measure(engine, clients, seconds):
    deployment = Deployment(engine, "")
    try:
        rate = fsync_rate(deployment.dir)
        daemon = deployment.serve()
        token = deployment.tenant("acme")
        pool = create_pool(daemon.url, token)
        add_nodes(deployment, pool, NODES)
        body = {
            "tenantId": "acme", "poolId": pool, "gpuCount": 1, "durationSeconds": 60, "idempotencyKey": "UNIQUE",
            "startsAt": "SOON",
        }
        result = {f"c{number}": api.wrk(daemon.url + "/api/compute/reservations/create", body, number, seconds, token) for number in clients}
        states = dict(deployment.sql("select state, count(*) from reservations group by state"))
        daemon.stop()
        return rate, result, states
    finally:
        deployment.close()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--engines", default="sqlite,postgres")
    parser.add_argument("--clients", default="1,64")
    parser.add_argument("--seconds", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    runs, fsyncs = {}, []
    for _ in range(options.rounds):
        for engine in options.engines.split(","):
            rate, result, states = measure(engine, [int(c) for c in options.clients.split(",")], options.seconds)
            fsyncs.append(rate)
            print(f"{engine}: {states}", file=sys.stderr)
            for test, figures in result.items():
                runs.setdefault(f"{engine}.{test}", []).append(figures)
    print(f"fdatasync of 4 KiB: {statistics.median(fsyncs):,.0f}/s ({min(fsyncs):,.0f}-{max(fsyncs):,.0f})\n")
    print("| test | per second | p50 ms | p99 ms | errors |\n| --- | --- | --- | --- | --- |")
    for test, each in runs.items():
        def cell(key, digits):
            values = [figures[key] for figures in each]
            return f"{statistics.median(values):,.{digits}f} ({min(values):,.{digits}f}-{max(values):,.{digits}f})"
        print(f"| {test} | {cell('perSecond', 0)} | {cell('p50', 2)} | {cell('p99', 2)} | {sum(f['errors'] for f in each)} |")


if __name__ == "__main__":
    main()
