"""M156: what is generated is what the binary generates now. Usage: generated_test.py PATH-OF-better-compute

Compares generated/ with `generate reference` and man/ and completions/ with theirs, then checks the recorded API surface. A stale
file fails with the command that renews it; an addition to the surface that is not recorded yet is only reported.
"""
import json
import pathlib
import subprocess
import sys
import tempfile

import repo

SURFACE = "generated/api-surface.json"
PLACES = {"reference": "generated", "man": "man", "completions": "completions"}


def run(binary, *arguments):
    # Somewhere else: no configuration file of the caller's may play a part.
    with tempfile.TemporaryDirectory() as folder:
        return subprocess.run([binary, *arguments], cwd=folder, env={"PATH": "/usr/bin:/bin"}, capture_output=True, text=True, check=False)


def stale_files(binary, what, folder):
    with tempfile.TemporaryDirectory() as made:
        result = run(binary, "generate", what, made)
        if result.returncode != 0:
            return [f"generate {what}: exit {result.returncode}: {result.stderr.strip()}"]
        names = {path.name for path in pathlib.Path(made).iterdir()}
        faults = []
        for name in sorted(names):
            recorded = repo.ROOT / folder / name
            if not recorded.exists():
                faults.append(f"{folder}/{name}: is missing")
            elif recorded.read_bytes() != (pathlib.Path(made) / name).read_bytes():
                faults.append(f"{folder}/{name}: is stale")
        if what == "reference":
            kept = {path.name for path in (repo.ROOT / folder).iterdir() if path.name != pathlib.Path(SURFACE).name}
            faults += [f"{folder}/{name}: nothing generates it any more" for name in sorted(kept - names)]
        if faults:
            faults.append(f"run: better-compute generate {what} {folder}")
        return faults


def surface_faults(binary):
    recorded = repo.ROOT / SURFACE
    if not recorded.exists():
        return [f"{SURFACE}: is missing", f"run: better-compute api:surface --record {SURFACE}"]
    result = run(binary, "api:surface", "--json", "--check", str(recorded))
    report = json.loads(result.stdout) if result.stdout else {"breaking": [], "additions": []}
    for addition in report["additions"]:
        print(f"not recorded yet: {addition['pointer']}: {addition['message']}")
    faults = [f"{SURFACE}: {change['rule']} at {change['pointer']}: {change['message']}" for change in report["breaking"]]
    if result.returncode != 0 and not faults:
        faults.append(f"api:surface --check: exit {result.returncode}: {result.stderr.strip()}")
    return faults


def main():
    binary = str(pathlib.Path(sys.argv[1]).resolve())
    faults = []
    for what, folder in PLACES.items():
        faults += stale_files(binary, what, folder)
    repo.finish(faults + surface_faults(binary), "generated files")


main()
