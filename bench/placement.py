#!/usr/bin/env python3
"""How full placement makes a fleet and how long a decision takes, on a GPU trace.

usage: placement.py [--trace FOLDER] [--large]

FOLDER holds the trace's CSV files (openb_node_list_gpu_node.csv, openb_pod_list_*.csv); default: BETTER_COMPUTE_TRACE. Requests are drawn until they ask
for 100 % and 130 % of the fleet's GPUs, nothing ever ends, and what asks for no GPU is left out; means of three seeds, beside first fit and best fit.
Then sixteen copies of the fleet with a million bookings; with --large only those. All in memory, through the index that serves.
"""

import argparse
import os
import subprocess
import sys

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
BUILD = os.environ.get("BETTER_COMPUTE_BENCH_BUILD", os.path.join(ROOT, "build/bench"))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trace", default=os.environ.get("BETTER_COMPUTE_TRACE"), metavar="FOLDER")
    parser.add_argument("--large", action="store_true", help="only the sixteen copies")
    options = parser.parse_args()
    if not options.trace or not os.path.isfile(os.path.join(options.trace, "openb_node_list_gpu_node.csv")):
        print("placement: no trace\nHint: --trace FOLDER, or BETTER_COMPUTE_TRACE", file=sys.stderr)
        return 2
    command = [BUILD + "/bench/placement/bench_placement", options.trace] + (["large"] if options.large else [])
    return subprocess.run(command, check=False).returncode


sys.exit(main())
