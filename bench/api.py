#!/usr/bin/env python3
"""The API under load: wrk from Debian against a daemon, against peers that do the same work, and against limits, in turn.

usage: api.py [--engines sqlite,postgres] [--synchronous full,normal] [--tests mutation,admission,read,http] [--clients 1,16,64,512]
              [--seconds 5] [--rounds 3] [--no-peers] [--json FILE]

  mutation   entries/create of the plugin in bench/entries, 600 bytes in: one row, its audit row, its event; one transaction
  admission  pools/create with a name of its own for every request: prepare, decision, then pool, projection, audit row and event
  read       pools/get
  http       GET /healthz: what the transport alone can do (a limit)
  peer       the three inserts of `mutation` behind Fastify (bench/peers), with better-sqlite3 or pg
  store      the three inserts of `mutation` through the store alone, 64 threads in process (a limit; embedded database only)

Daemon or peer, database and wrk share the machine; everything stays on 127.0.0.1. A round runs each test once, so that what is compared
was measured in the same minutes.
"""

import argparse
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
BUILD = os.environ.get("BETTER_COMPUTE_BENCH_BUILD", os.path.join(ROOT, "build/bench"))
sys.path.insert(0, os.path.join(ROOT, "tests/e2e"))
from harness import Deployment, post  # noqa: E402

# In a body, UNIQUE becomes a name of its own for every request, and "SOON" a time within the coming year in epoch milliseconds; a body
# without them is sent as it stands, which costs the client least.
SCRIPT = """
local thread = 0
function setup(t) t:set("id", thread); thread = thread + 1 end
wrk.method = "METHOD"
wrk.headers["Content-Type"] = "application/json"
wrk.headers["X-Better-Compute"] = "1"
wrk.headers["Authorization"] = "Bearer TOKEN"
wrk.body = [[BODY]]
if string.find(wrk.body, "UNIQUE") or string.find(wrk.body, '"SOON"') then
  local body = wrk.body
  function init(args) count = 0; math.randomseed(os.time() + id * 7919); run = string.format("%x", math.random(0, 0x7fffffff)) end
  function request()
    count = count + 1
    local made = string.gsub(body, "UNIQUE", "n" .. id .. "-" .. run .. "-" .. count)
    made = string.gsub(made, '"SOON"', string.format("%.0f", NOW + math.random(600, 31000000) * 1000))
    return wrk.format(nil, nil, nil, made)
  end
end
function done(summary, latency, requests)
  local e = summary.errors
  io.write(string.format('{"perSecond":%f,"p50":%f,"p99":%f,"errors":%d}\\n', summary.requests / (summary.duration / 1e6),
    latency:percentile(50) / 1000, latency:percentile(99) / 1000, e.connect + e.read + e.write + e.status + e.timeout))
end
"""
ENTRY = {"tenantId": "acme", "id": "evt_0123456789abcdef", "type": "resource.created", "data": {"pad": "a" * 500}}


def wrk(url, body, clients, seconds, token="none", method="POST"):
    with tempfile.NamedTemporaryFile("w", suffix=".lua") as script:
        text = json.dumps(body) if body is not None else ""
        script.write(SCRIPT.replace("TOKEN", token).replace("METHOD", method).replace("NOW", str(int(time.time()) * 1000)).replace("BODY", text))
        script.flush()
        done = subprocess.run(
            ["wrk", "-t1" if clients == 1 else "-t2", f"-c{clients}", f"-d{seconds}s", "--timeout", "10s", "-s", script.name, url],
            capture_output=True, text=True, check=True,
        )
    return json.loads(re.findall(r"^\{.*\}$", done.stdout, re.M)[-1])


def measure_daemon(engine, synchronous, options):
    deployment = Deployment(engine, "")
    try:
        with open(deployment.config, "a", encoding="utf-8") as config:
            config.write(f'synchronous = "{synchronous}"\npool_size = 16\n[[plugins]]\npath = "{BUILD}/bench/entries/entries.so"\n')
        if engine == "postgres":
            assert deployment.cli("migrate").status == 0
        daemon = deployment.serve("--roles", "api")
        token = deployment.tenant("acme")
        pool = post(daemon.url, "pools/create", {"tenantId": "acme", "name": "read-me"}, token).data["id"]
        api = daemon.url + "/api/compute/"
        tests = {
            "mutation": lambda c, s: wrk(api + "plugins/bench/entries/create", ENTRY, c, s, token),
            "admission": lambda c, s: wrk(api + "pools/create", {"tenantId": "acme", "name": "UNIQUE"}, c, s, token),
            "read": lambda c, s: wrk(api + "pools/get", {"tenantId": "acme", "poolId": pool}, c, s, token),
            "http": lambda c, s: wrk(daemon.url + "/healthz", None, c, s, method="GET"),
        }
        for name in options.tests:
            for clients in options.clients:
                yield f"{name}.c{clients}", tests[name](clients, options.seconds)
        daemon.stop()
    finally:
        deployment.close()


def install_peers():
    """The folder with the peers and what they need, compiled against this machine's Node (20 or newer); None without one."""
    if shutil.which("node") is None or shutil.which("npm") is None:
        print("no node and npm here: measuring without the peers", file=sys.stderr)
        return None
    folder = os.path.join(BUILD, "peers")
    shutil.copytree(os.path.join(ROOT, "bench/peers"), folder, dirs_exist_ok=True)
    if not os.path.exists(os.path.join(folder, "node_modules/fastify")):
        env = dict(os.environ, npm_config_nodedir="/usr", npm_config_build_from_source="true")
        subprocess.run(["npm", "install", "--no-audit", "--no-fund"], cwd=folder, env=env, check=True, stdout=sys.stderr)
    return folder


def measure_peer(engine, synchronous, options):
    deployment = Deployment(engine, "")
    try:
        if engine == "sqlite":
            where = [os.path.join(deployment.dir, "peer.db"), synchronous]
        else:
            where = [deployment.database, "on" if synchronous == "full" else "off"]
        with subprocess.Popen(["node", "server.mjs", engine, *where], cwd=options.peers, stdout=subprocess.PIPE, text=True) as peer:
            try:
                url = f"http://127.0.0.1:{json.loads(peer.stdout.readline())['port']}/entries"
                wrk(url, ENTRY, 16, 1)  # warms the compiler up
                for clients in options.clients:
                    yield f"peer.c{clients}", wrk(url, ENTRY, clients, options.seconds)
            finally:
                peer.terminate()
    finally:
        deployment.close()


def measure_store(synchronous, options):
    done = subprocess.run(
        [f"{BUILD}/bench/bench_envelope", f"--synchronous={synchronous}", "--benchmark_format=json",
         f"--benchmark_min_time={options.seconds}", "--benchmark_filter=write.handler_audit/.*threads:64"],
        capture_output=True, text=True, check=True,
    )
    each_ns = json.loads(done.stdout)["benchmarks"][0]["real_time"]
    yield "store.c64", {"perSecond": 1e9 / each_ns, "p50": 0, "p99": 0, "errors": 0}


def all_of(engine, synchronous, options):
    yield from measure_daemon(engine, synchronous, options)
    if options.peers:
        yield from measure_peer(engine, synchronous, options)
    if engine == "sqlite":
        yield from measure_store(synchronous, options)


def print_table(runs, options):
    print(f"{options.rounds} rounds of {options.seconds} s: median (min-max)\n\n"
          "| test | per second | p50 ms | p99 ms | errors |\n| --- | --- | --- | --- | --- |")
    for test, each in runs.items():
        def cell(key, digits):
            values = [figures[key] for figures in each]
            return f"{statistics.median(values):,.{digits}f} ({min(values):,.{digits}f}-{max(values):,.{digits}f})"
        print(f"| {test} | {cell('perSecond', 0)} | {cell('p50', 2)} | {cell('p99', 2)} | {sum(f['errors'] for f in each)} |")
    for test, each in runs.items():
        peer = runs.get(test.replace(".mutation.", ".peer."))
        if ".mutation." in test and peer:
            ratios = [ours["perSecond"] / theirs["perSecond"] for ours, theirs in zip(each, peer)]
            print(f"\n{test}: {statistics.median(ratios):.2f} ({min(ratios):.2f}-{max(ratios):.2f}) times the peer of the same round")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--engines", default="sqlite,postgres")
    parser.add_argument("--synchronous", default="full,normal")
    parser.add_argument("--tests", default="mutation,admission,read,http")
    parser.add_argument("--clients", default="1,16,64,512")
    parser.add_argument("--seconds", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--no-peers", action="store_true")
    parser.add_argument("--json")
    options = parser.parse_args()
    options.clients = [int(c) for c in options.clients.split(",")]
    options.tests = options.tests.split(",")
    options.peers = None if options.no_peers else install_peers()
    runs = {}
    for number in range(options.rounds):
        for engine in options.engines.split(","):
            for synchronous in options.synchronous.split(","):
                for test, figures in all_of(engine, synchronous, options):
                    runs.setdefault(f"{engine}.{synchronous}.{test}", []).append(figures)
        print(f"round {number + 1} of {options.rounds}", file=sys.stderr)
    print_table(runs, options)
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(runs, file, indent=1)


if __name__ == "__main__":
    main()
