#!/usr/bin/env python3
"""Delivery measured from outside: how fast deliveries reach receivers, beside the limit of the same minute.

usage: delivery.py [--parts queued,fanout,tls,latency,idle] [--engines sqlite,postgres] [--rounds 5] [--events 100] [--webhooks 200] [--json FILE]

Each round, in turn for each engine and part: the raw rate (bench_raw_curl: one libcurl multi loop, signed, 64 in flight, same sink), then
  queued   the drain of deliveries that wait in the queue
  fanout   the drain of events that wait in the outbox: each is fanned out to the webhooks of its tenant first
  tls      as `queued`, over TLS, beside the raw rate over TLS
  latency  pools are created one after the other at 100 a second through the API; from the answer to the receipt
  idle     a daemon with nothing to do
A drain runs from the first request that the sink sees to the last. Sink, database and daemon share the machine; everything stays on 127.0.0.1.
"""

import argparse
import json
import sys
import time

from bench_lab import Sink, cell, cpu_seconds, deployment, fill_outbox, fill_queue, make_webhooks, raw
from harness import Receiver, post, wait_for

IDLE_SECONDS = 5


def drain(engine, sink, options, fill):
    total = options.webhooks * options.events
    with deployment(engine, sink) as made:
        tenants = make_webhooks(made, [sink.url + "/hook"] * options.webhooks)
        fill(made, tenants, options.events)
        limit = raw(sink, total)
        sink.reset()
        daemon = made.serve("--roles", "controllers")
        seen = sink.wait(lambda figures: figures["distinct"] >= total)
        seconds = (seen["lastFastMs"] - seen["firstMs"]) / 1000
        cpu = cpu_seconds(daemon.process.pid)
        daemon.stop()
        return {
            "perSecond": total / seconds, "raw": limit, "ratio": total / seconds / limit, "cpuMicrosecondsEach": cpu / total * 1e6,
            "repeated": seen["requests"] - seen["distinct"],
        }


def latency(engine, count=300, rate=100):
    receiver = Receiver()
    try:
        with deployment(engine) as made:
            daemon = made.serve()
            token = made.tenant("acme")
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
            return {"p50Ms": waits[len(waits) // 2], "p99Ms": waits[int(len(waits) * 0.99)]}
    finally:
        receiver.close()


def idle(engine):
    with deployment(engine) as made:
        daemon = made.serve()
        time.sleep(1)
        before = cpu_seconds(daemon.process.pid)
        time.sleep(IDLE_SECONDS)
        percent = (cpu_seconds(daemon.process.pid) - before) / IDLE_SECONDS * 100
        daemon.stop()
        return {"percentOfACore": percent}


PARTS = {
    "queued": lambda engine, sinks, options: drain(engine, sinks["plain"], options, fill_queue),
    "fanout": lambda engine, sinks, options: drain(engine, sinks["plain"], options, fill_outbox),
    "tls": lambda engine, sinks, options: drain(engine, sinks["tls"], options, fill_queue),
    "latency": lambda engine, sinks, options: latency(engine),
    "idle": lambda engine, sinks, options: idle(engine),
}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--parts", default=",".join(PARTS))
    parser.add_argument("--engines", default="sqlite,postgres")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--events", type=int, default=100, help="of a tenant; each goes to its 20 webhooks")
    parser.add_argument("--webhooks", type=int, default=200)
    parser.add_argument("--json")
    options = parser.parse_args()
    sinks = {"plain": Sink(), "tls": Sink(tls=True)}
    runs = {}
    try:
        for number in range(options.rounds):
            for part in options.parts.split(","):
                for engine in options.engines.split(","):
                    run = PARTS[part](engine, sinks, options)
                    runs.setdefault(f"{part} {engine}", []).append(run)
                    print(f"round {number + 1} {part} {engine}: {json.dumps(run)}", file=sys.stderr)
    finally:
        for sink in sinks.values():
            sink.close()
    print(f"{options.webhooks * options.events} deliveries of about 600 bytes over {options.webhooks} webhooks, {options.rounds} rounds: median (min-max)\n")
    for name, each in runs.items():
        figures = ", ".join(f"{key} {cell([run[key] for run in each], 0 if each[0][key] > 100 else 2)}" for key in each[0])
        print(f"| {name} | {figures} |")
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(runs, file, indent=1)


if __name__ == "__main__":
    main()
