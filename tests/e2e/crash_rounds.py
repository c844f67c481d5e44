#!/usr/bin/env python3
"""Many lives under load, each ended by kill -9 at a fail point or wherever it is; then the oracle.

usage: crash_rounds.py [--rounds 200] [--engines sqlite,postgres] [--seed N] [--seconds 0.4]
"""

import argparse
import collections
import random
import sys
import time

from crash_lab import DAEMON_POINTS, PRUNE_POINTS, ROTATE_POINTS, CrashLab


def run(engine, rounds, seed, seconds):
    lab = CrashLab(engine, seed=seed)
    begun = time.monotonic()
    try:
        for number in range(1, rounds + 1):
            point = lab.random.choice(DAEMON_POINTS + PRUNE_POINTS + ROTATE_POINTS)
            if point in ROTATE_POINTS:
                lab.rotate(point)
            else:
                lab.die_at(point, 1 if point in PRUNE_POINTS else lab.random.randint(1, 12), seconds)
            if number % 25 == 0:
                lab.finish()
                lab.check()
                print(f"{engine}: {number} rounds, {len(lab.receiver.seen())} receipts", file=sys.stderr)
        lab.finish()
        rows = lab.check()
        seen = lab.receiver.seen()
        states = collections.Counter(state for _, state, *_ in rows.values())
        print(
            f"{engine}: {rounds} rounds in {time.monotonic() - begun:.0f} s, seed {seed}; deliveries {dict(states)} and "
            f"{len(set(lab.settled) - set(rows))} pruned; {len(seen)} receipts of {len({d.id for d in seen})}; nothing lost"
        )
        print("  killed at: " + ", ".join(f"{point} {count}" for point, count in sorted(lab.kills.items())))
    finally:
        lab.close()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--engines", default="sqlite,postgres")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    parser.add_argument("--seconds", type=float, default=0.4, help="how long a life is loaded at most")
    options = parser.parse_args()
    for engine in options.engines.split(","):
        run(engine, options.rounds, options.seed, options.seconds)


if __name__ == "__main__":
    main()
