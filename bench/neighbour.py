#!/usr/bin/env python3
"""Noisy neighbours: what slow and hanging receivers cost the others.

usage: neighbour.py [--engines sqlite,postgres] [--rounds 3] [--bad-webhooks 20,500] [--fast 19000] [--json FILE]

Queued first: 1,000 deliveries to receivers that take 2 s and 1,000 to receivers that hang, spread over the bad webhooks, half of them
slow and half hanging. Behind them: the fast deliveries, over 190 webhooks. The time of the fast ones, first request to last, is set beside
their time with nothing bad in the queue, measured right before. Everything stays on 127.0.0.1.
"""

import argparse
import json
import sys

from bench_lab import Sink, cell, deployment, execute, fill_queue, make_webhooks, numbers

FAST_WEBHOOKS = 190
BAD_ROWS = 2_000


def fast_seconds(engine, sink, fast, bad_webhooks):
    with deployment(engine) as made:
        urls = [sink.url + ("/slow?ms=2000" if i % 2 == 0 else "/hang") for i in range(bad_webhooks)]
        urls += [sink.url + "/fast"] * (FAST_WEBHOOKS + (-(bad_webhooks + FAST_WEBHOOKS) % 20))
        make_webhooks(made, urls)
        if bad_webhooks:
            # Oldest first: every bad row stands before every fast one.
            queue_for(made, "w.url not like '%/fast'", BAD_ROWS // bad_webhooks, "b", 0)
        queue_for(made, "w.url like '%/fast'", fast // FAST_WEBHOOKS, "f", 1)
        total = fast // FAST_WEBHOOKS * (len(urls) - bad_webhooks)
        execute(made, "update webhook_lanes set due_at = coalesce((select min(d.next_at) from webhook_deliveries d where d.webhook = webhook_lanes.webhook), 9)")
        sink.reset()
        daemon = made.serve("--roles", "controllers")
        seen = sink.wait(lambda figures: figures["fast"] >= total)
        daemon.kill()
        return (seen["lastFastMs"] - seen["firstMs"]) / 1000


def queue_for(made, condition, rows_each, prefix, next_at):
    execute(made, (
        "insert into webhook_bodies (event_id, tenant_id, type, position, body) "
        f"select 'evt_{prefix}' || n.i, 't0', 'pool.created', '1.' || n.i, '{{\"data\":\"{'x' * 580}\"}}' from {numbers(made, rows_each)}"
    ))
    execute(made, (
        "insert into webhook_deliveries (id, webhook, event, state, next_at, queued_at, attempts) "
        f"select 'dlv_{prefix}' || w.num || '-' || b.event, w.num, b.event, 0, {next_at}, {next_at}, 0 "
        f"from webhook_bodies b join webhooks w on {condition} where b.event_id like 'evt_{prefix}%' order by b.event, w.num"
    ))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--engines", default="sqlite,postgres")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--bad-webhooks", default="20,500")
    parser.add_argument("--fast", type=int, default=19_000)
    parser.add_argument("--json")
    options = parser.parse_args()
    runs = {}
    sink = Sink()
    try:
        for number in range(options.rounds):
            for engine in options.engines.split(","):
                for bad in (int(text) for text in options.bad_webhooks.split(",")):
                    alone = fast_seconds(engine, sink, options.fast, 0)
                    beside = fast_seconds(engine, sink, options.fast, bad)
                    run = {"aloneSeconds": alone, "besideSeconds": beside, "times": beside / alone}
                    runs.setdefault(f"{engine}, {bad} bad webhooks", []).append(run)
                    print(f"round {number + 1} {engine} {bad}: {json.dumps(run)}", file=sys.stderr)
    finally:
        sink.close()
    print(f"{options.fast} fast deliveries behind {BAD_ROWS} bad ones, {options.rounds} rounds: median (min-max)\n")
    print("| engine | alone, s | beside, s | times |\n| --- | --- | --- | --- |")
    for name, each in runs.items():
        print(f"| {name} | " + " | ".join(cell([run[key] for run in each], 2) for key in ("aloneSeconds", "besideSeconds", "times")) + " |")
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(runs, file, indent=1)


if __name__ == "__main__":
    main()
