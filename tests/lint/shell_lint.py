"""Every shell script parses, and stops at the first failure."""
import subprocess

import repo


def scripts():
    for path in repo.files():
        if path.suffix == ".sh":
            yield path
        elif not path.suffix:
            with open(repo.ROOT / path, "rb") as file:
                if file.readline().rstrip().endswith((b"/bash", b"/sh", b"env bash", b"env sh")):
                    yield path


def main():
    faults = []
    count = 0
    for path in scripts():
        count += 1
        result = subprocess.run(["bash", "-n", str(repo.ROOT / path)], capture_output=True, text=True, check=False)
        if result.returncode != 0:
            faults.append(f"{path}: {result.stderr.strip()}")
        if path.parts[0] != "completions" and not any(line.startswith("set -") and "e" in line for line in repo.lines(path)):
            faults.append(f"{path}: has no `set -e`")
    repo.finish(faults, f"{count} shell scripts")


main()
