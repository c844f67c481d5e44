#!/usr/bin/env python3
"""The capacity domain over HTTP: a whole fleet planned and applied as one document, its nodes joining, reservations of it.

usage: capacity.py [--engines sqlite,postgres] [--rounds 5] [--seconds 4] [--json FILE]

The fleet is the GPU trace's when BETTER_COMPUTE_TEST_FLEET (or the folder beside the checkout) has it, else a generated one of the same shapes. Each round is a
deployment of its own, durable (SQLite FULL, PostgreSQL with fsync).
"""

import argparse
import http.client
import json
import os
import statistics
import subprocess
import sys
import threading
import time
import urllib.parse

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
sys.path.insert(0, os.path.join(ROOT, "tests/e2e"))
import fleet  # noqa: E402
from harness import BINARY, Deployment, post  # noqa: E402


def milliseconds(call):
    started = time.perf_counter()
    answer = call()
    return (time.perf_counter() - started) * 1000, answer


def fsync_ms(folder, times=50):
    """The disk's own price of durability: what one committed write cannot go below."""
    path = os.path.join(folder, "fsync-probe")
    with open(path, "wb") as file:
        took = []
        for _ in range(times):
            file.write(b"x" * 4096)
            file.flush()
            took.append(milliseconds(lambda: os.fsync(file.fileno()))[0])
    os.unlink(path)
    return statistics.median(took)


def join(deployment, url, token, document):
    """Every node of the document joins through one simulating agent; the agent, and how long it took."""
    path = os.path.join(deployment.dir, "fleet.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump(document, file)
    env = deployment.env({"BETTER_COMPUTE_TOKEN": token, "BETTER_COMPUTE_CONFIG": deployment.config})
    with open(os.path.join(deployment.dir, "agent.log"), "wb") as log:
        agent = subprocess.Popen(
            [BINARY, "agent", "--url", url, "--simulate", path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, env=env, text=True
        )
    took, line = milliseconds(agent.stdout.readline)
    assert line.startswith("ready "), line
    return agent, took


class Client:
    """Reservations over one kept connection."""

    def __init__(self, url, token, pool, name):
        parts = urllib.parse.urlsplit(url)
        self.connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=60)
        self.connection.connect()
        self.token, self.pool, self.name, self.made, self.took = token, pool, name, 0, []

    def reserve(self):
        body = json.dumps({"tenantId": "acme", "poolId": self.pool, "gpuCount": 1, "durationSeconds": 3600, "idempotencyKey": f"{self.name}-{self.made}"})
        headers = {"Content-Type": "application/json", "X-Better-Compute": "1", "Authorization": "Bearer " + self.token}

        def call():
            self.connection.request("POST", "/api/compute/reservations/create", body, headers)
            answer = self.connection.getresponse()
            return answer.status, answer.read()

        took, (status, text) = milliseconds(call)
        assert status == 200 and json.loads(text)["data"]["state"] in ("placed", "active"), text
        self.made += 1
        self.took.append(took)


def reservations_per_second(url, token, pool, clients, seconds):
    each = [Client(url, token, pool, f"c{clients}-{number}") for number in range(clients)]
    end = time.perf_counter() + seconds

    def work(client):
        while time.perf_counter() < end:
            client.reserve()

    threads = [threading.Thread(target=work, args=(client,)) for client in each]
    took, _ = milliseconds(lambda: ([thread.start() for thread in threads], [thread.join() for thread in threads]))
    latencies = sorted(value for client in each for value in client.took)
    return len(latencies) / (took / 1000), latencies[len(latencies) // 2], latencies[len(latencies) * 99 // 100]


def measure(engine, seconds):
    deployment = Deployment(engine, "")
    agent = None
    try:
        daemon = deployment.serve()
        deployment.apply({"version": 1, "tenants": [{"id": "acme"}]})
        token = deployment.tenant("root", "fleet-ops")
        document = {**fleet.document("acme"), "quotas": []}

        def call(path, body):
            return milliseconds(lambda: post(daemon.url, path, body, token).data)

        call("fleet/export", {"tenantId": "acme"})  # the first call of a process opens its connections
        result = {"fsync, ms": fsync_ms(deployment.dir)}
        result["plan of the whole fleet, ms"], plan = call("fleet/plan", {"document": document})
        result["apply of the whole fleet, ms"], done = call("fleet/apply", {"document": document, "expectedPlanHash": plan["planHash"]})
        assert done["applied"] == len(plan["calls"]) == 3
        result["export, ms"], exported = call("fleet/export", {"tenantId": "acme"})
        result["plan of what is there, ms"], plan = call("fleet/plan", {"document": exported["document"]})
        assert plan["calls"] == []
        result["apply of what is there, ms"], done = call("fleet/apply", {"document": exported["document"]})
        assert done["applied"] == 0
        agent, result["all nodes ready, ms"] = join(deployment, daemon.url, token, document)
        pool = post(daemon.url, "pools/list", {"tenantId": "acme"}, token).data["items"][0]["id"]
        for clients in (1, 64):
            rate, p50, p99 = reservations_per_second(daemon.url, token, pool, clients, seconds)
            result[f"reservations.create, {clients} clients, per second"] = rate
            result[f"reservations.create, {clients} clients, p50 ms"] = p50
            result[f"reservations.create, {clients} clients, p99 ms"] = p99
        daemon.stop()
        return result
    finally:
        if agent is not None:
            agent.stdin.close()
            agent.terminate()
            agent.wait(30)
        deployment.close()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--engines", default="sqlite,postgres")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=4)
    parser.add_argument("--json")
    options = parser.parse_args()
    runs = {}
    for number in range(options.rounds):
        for engine in options.engines.split(","):
            for step, took in measure(engine, options.seconds).items():
                runs.setdefault((engine, step), []).append(took)
        print(f"round {number + 1} of {options.rounds}", file=sys.stderr)
    rows, is_trace = fleet.nodes()
    print(f"{len(rows)} nodes, {sum(row[2] for row in rows)} GPUs ({'trace' if is_trace else 'generated'}), {len(json.dumps(fleet.document('acme')))} bytes, "
          f"{options.rounds} rounds: median (min-max)\n\n| engine | step | |\n| --- | --- | --- |")
    for (engine, step), each in runs.items():
        print(f"| {engine} | {step} | {statistics.median(each):.1f} ({min(each):.1f}-{max(each):.1f}) |")
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump([{"engine": e, "step": s, "values": each} for (e, s), each in runs.items()], file, indent=1)


if __name__ == "__main__":
    main()
