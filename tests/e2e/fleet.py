"""The fleet the tests build pools from: the real trace when `../shared` stands beside the checkout, else one of the same shapes."""

import csv
import os

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
TRACE = os.environ.get("BETTER_COMPUTE_TEST_FLEET") or os.path.join(
    ROOT, "../shared/data/alibaba-gpu-v2023/openb_node_list_gpu_node.csv"
)

# (model, GPUs, milli-CPU, MiB) of the fifteen shapes, with how many nodes each has in the generated fleet.
GENERATED = [
    ("G2", 8, 96000, 393216, 549), ("T4", 2, 96000, 393216, 400), ("T4", 1, 8000, 32768, 4), ("G3", 8, 128000, 786432, 39),
    ("P100", 2, 64000, 262144, 130), ("P100", 1, 32000, 131072, 4), ("V100M32", 8, 96000, 393216, 24), ("V100M32", 4, 64000, 262144, 3),
    ("V100M32", 2, 32000, 131072, 3), ("V100M16", 4, 64000, 262144, 42), ("V100M16", 2, 48000, 196608, 10), ("V100M16", 1, 16000, 65536, 3),
    ("A10", 1, 96000, 786432, 2), ("G2", 4, 48000, 196608, 0), ("T4", 4, 96000, 393216, 0),
]


def nodes():
    """(name, model, gpus, cpu_milli, memory_mib) of every node, and whether it is the real trace."""
    if os.path.exists(TRACE):
        with open(TRACE, newline="", encoding="utf-8") as file:
            rows = [
                (r["sn"], r["model"], int(r["gpu"]), int(r["cpu_milli"]), int(r["memory_mib"])) for r in csv.DictReader(file)
            ]
        return rows, True
    rows = []
    for model, gpus, cpu, memory, count in GENERATED:
        rows += [(f"openb-node-{len(rows) + i:04d}", model, gpus, cpu, memory) for i in range(max(count, 1))]
    return rows, False


def bracket(names):
    """`openb-node-[0000-0021,0037]` for names that share a prefix and a number of equal width."""
    prefix = names[0].rstrip("0123456789")
    width = len(names[0]) - len(prefix)
    numbers = sorted(int(name[len(prefix):]) for name in names)
    runs = []
    for number in numbers:
        if runs and runs[-1][1] == number - 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    items = [f"{a:0{width}d}" if a == b else f"{a:0{width}d}-{b:0{width}d}" for a, b in runs]
    return f"{prefix}[{','.join(items)}]"


def pools():
    """One pool input per shape, named by it, without tenantId."""
    rows, _ = nodes()
    shapes = {}
    for name, model, gpus, cpu, memory in rows:
        shapes.setdefault((model, gpus, cpu, memory), []).append(name)
    result = []
    for (model, gpus, cpu, memory), names in sorted(shapes.items()):
        result.append({
            "name": f"{model}-{gpus}x-{cpu // 1000}c-{memory // 1024}g".lower(),
            "nodeGroups": [{
                "names": bracket(names), "gpuModel": model, "gpuCount": gpus, "cpuMilli": cpu, "memoryMib": memory,
            }],
        })
    return result


def document(tenant, pool="openb"):
    """The whole fleet as one document: one pool, one node group per shape."""
    groups = [entry["nodeGroups"][0] for entry in pools()]
    return {
        "version": 1,
        "tenantId": tenant,
        "pools": [{"name": pool, "sharing": "fraction", "nodeGroups": groups}],
        "projects": [{"name": "vision"}, {"name": "speech"}],
        "quotas": [
            {"limits": {"gpuMilli": 6_000_000}},
            {"project": "vision", "pool": pool, "limits": {"gpuMilli": 3_000_000, "reservations": 2000}},
        ],
    }
