#!/usr/bin/env python3
"""The API under load: wrk from Debian against a daemon, mutations and reads through the whole envelope.

usage: api.py [--engines sqlite,postgres] [--clients 1,16,64,512] [--seconds 5] [--rounds 3] [--json FILE]

Mutations are pools.create with a name of its own for every request (one row, one audit row, one event); reads are pools.get. Daemon, database and wrk
share the machine; everything stays on 127.0.0.1.
"""

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
sys.path.insert(0, os.path.join(ROOT, "tests/e2e"))
from harness import Deployment, post  # noqa: E402

SCRIPT = """
local thread = 0
function setup(t) t:set("id", thread); thread = thread + 1 end
function init(args) count = 0; math.randomseed(os.time() + id * 7919); run = string.format("%x", math.random(0, 0x7fffffff)) end
wrk.method = "POST"
wrk.headers["Content-Type"] = "application/json"
wrk.headers["X-Better-Compute"] = "1"
wrk.headers["Authorization"] = "Bearer TOKEN"
function request()
  count = count + 1
  return wrk.format(nil, nil, nil, (string.gsub([[BODY]], "UNIQUE", "n" .. id .. "-" .. run .. "-" .. count)))
end
function done(summary, latency, requests)
  local e = summary.errors
  io.write(string.format('{"perSecond":%f,"p50":%f,"p99":%f,"errors":%d}\\n', summary.requests / (summary.duration / 1e6),
    latency:percentile(50) / 1000, latency:percentile(99) / 1000, e.connect + e.read + e.write + e.status + e.timeout))
end
"""


def wrk(url, path, token, body, clients, seconds):
    with tempfile.NamedTemporaryFile("w", suffix=".lua") as script:
        script.write(SCRIPT.replace("TOKEN", token).replace("BODY", json.dumps(body)))
        script.flush()
        done = subprocess.run(
            ["wrk", "-t1" if clients == 1 else "-t2", f"-c{clients}", f"-d{seconds}s", "-s", script.name, url + "/api/compute/" + path],
            capture_output=True, text=True, check=True,
        )
    return json.loads(re.findall(r"^\{.*\}$", done.stdout, re.M)[-1])


def measure(engine, synchronous, clients, seconds):
    deployment = Deployment(engine, "")
    try:
        with open(deployment.config, "a", encoding="utf-8") as config:
            config.write(f'synchronous = "{synchronous}"\npool_size = 16\n')
        daemon = deployment.serve("--roles", "api")
        token = deployment.tenant("acme")
        pool = post(daemon.url, "pools/create", {"tenantId": "acme", "name": "read-me"}, token).data["id"]
        result = {}
        for number in clients:
            result[f"mutation.c{number}"] = wrk(daemon.url, "pools/create", token, {"tenantId": "acme", "name": "UNIQUE"}, number, seconds)
            result[f"read.c{number}"] = wrk(daemon.url, "pools/get", token, {"tenantId": "acme", "poolId": pool}, number, seconds)
        daemon.stop()
        return result
    finally:
        deployment.close()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--engines", default="sqlite,postgres")
    parser.add_argument("--synchronous", default="full,normal")
    parser.add_argument("--clients", default="1,16,64,512")
    parser.add_argument("--seconds", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json")
    options = parser.parse_args()
    clients = [int(c) for c in options.clients.split(",")]
    runs = {}
    for number in range(options.rounds):
        for engine in options.engines.split(","):
            for synchronous in options.synchronous.split(","):
                for test, figures in measure(engine, synchronous, clients, options.seconds).items():
                    runs.setdefault(f"{engine}.{synchronous}.{test}", []).append(figures)
        print(f"round {number + 1} of {options.rounds}", file=sys.stderr)
    print(f"{options.rounds} rounds of {options.seconds} s: median (min-max)\n\n| test | per second | p50 ms | p99 ms | errors |\n| --- | --- | --- | --- | --- |")
    for test, each in runs.items():
        def cell(key, digits):
            values = [figures[key] for figures in each]
            return f"{statistics.median(values):,.{digits}f} ({min(values):,.{digits}f}-{max(values):,.{digits}f})"
        print(f"| {test} | {cell('perSecond', 0)} | {cell('p50', 2)} | {cell('p99', 2)} | {sum(f['errors'] for f in each)} |")
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(runs, file, indent=1)


if __name__ == "__main__":
    main()
