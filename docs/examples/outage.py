#!/usr/bin/env python3
"""The life of an outage by commands alone: detect, list, explain, fix, dry run, redeliver, prove.

usage: outage.py FIX-COMMAND...: the command line that mends the receiver, run when everything about the outage is known.

It reads documented exit statuses and JSON and nothing else. Configuration: BETTER_COMPUTE_CONFIG and its like. Ends with status 1 at the first
step that did not go as it should, naming it.
"""

import json
import subprocess
import sys
import time

DEAD = "events.webhook-dead-letters"
PATIENCE_SECONDS = 60


def ask(*args, expect=0):
    done = subprocess.run(["better-compute", *args, "--json"], stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode != expect:
        sys.exit(f"{' '.join(args)}: exit status {done.returncode}, not {expect}")
    return json.loads(done.stdout)


def dead_letters(status):
    """How many deliveries are dead, as doctor says. With --strict the exit status says it too: `status`."""
    report = ask("doctor", "--strict", "--check", DEAD, expect=status)
    return sum(finding["count"] for finding in report["findings"] if finding["check"] == DEAD)


def listed():
    items, cursor = [], []
    while True:
        page = ask("webhooks", "deliveries", "--state", "dead", "--limit", "3", *cursor)
        items += page["items"]
        if "nextCursor" not in page:
            return items
        cursor = ["--cursor", page["nextCursor"]]


def must_be(what, actual, expected):
    if actual != expected:
        sys.exit(f"{what}: {actual}, not {expected}")


def main():
    count = dead_letters(status=1)
    print(f"detected: {count} dead letters")

    dead = listed()
    must_be("deliveries listed", len(dead), count)
    for tenant in sorted({delivery["tenantId"] for delivery in dead}):
        print(f"listed: {sum(d['tenantId'] == tenant for d in dead)} of tenant {tenant}")

    print("explained:")
    subprocess.run(["better-compute", "webhooks", "explain", dead[0]["id"]], check=True)

    subprocess.run(sys.argv[1:], check=True)
    print("fixed: " + " ".join(sys.argv[1:]))

    trial = ask("webhooks", "redeliver", "--all-tenants", "--dry-run")
    must_be("the dry run", (trial["dryRun"], trial["matched"], trial["redelivered"]), (True, count, 0))
    print(f"dry run: {trial['matched']} would be sent again")

    done = ask("webhooks", "redeliver", "--all-tenants", "--yes")
    must_be("the redelivery", (done["matched"], done["redelivered"], done["skipped"]), (count, count, []))
    print(f"redelivered: {done['redelivered']} as job {done['jobId']}")
    nothing = ask("webhooks", "redeliver", "--all-tenants", "--yes", expect=1)
    must_be("a second redelivery", nothing["matched"], 0)

    deadline = time.monotonic() + PATIENCE_SECONDS
    while ask("webhooks", "deliveries", "--state", "pending")["items"]:
        if time.monotonic() > deadline:
            sys.exit("the queue does not become empty")
        time.sleep(0.2)
    must_be("dead letters now", dead_letters(status=0), 0)

    proof = ask("webhooks", "proof", "--since", "3d")
    must_be("the proof", (proof["ok"], proof["gaps"]), (True, []))
    print(f"proved: {proof['found']} of {proof['expected']} deliveries are accounted for")


if __name__ == "__main__":
    main()
