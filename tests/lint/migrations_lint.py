"""Each migration has a text for both engines, is listed, and its number follows the one before."""
import re
from collections import defaultdict

import repo

NAME = re.compile(r"^(\d{4})_[a-z0-9_]+\.(sqlite|postgres)\.sql$")


def main():
    faults = []
    engines = defaultdict(set)
    numbers = defaultdict(set)
    for path in repo.files(".sql", under=["migrations"]):
        if path.parts[0] != "migrations":
            continue
        match = NAME.match(path.name)
        if not match or len(path.parts) != 3:
            faults.append(f"{path}: must be migrations/<module>/<NNNN>_<name>.<engine>.sql")
            continue
        name = f"{path.parts[1]}/{path.name.rsplit('.', 2)[0]}"
        engines[name].add(match.group(2))
        numbers[path.parts[1]].add(int(match.group(1)))
    listed = re.findall(r"^\s+([a-z_]+/\d{4}_[a-z0-9_]+)\s*$", "\n".join(repo.lines("migrations/CMakeLists.txt")), re.M)
    for name, found in engines.items():
        if found != {"sqlite", "postgres"}:
            faults.append(f"migrations/{name}: has only {', '.join(sorted(found))}")
        if name not in listed:
            faults.append(f"migrations/CMakeLists.txt: {name} is not listed")
    for name in listed:
        if name not in engines:
            faults.append(f"migrations/CMakeLists.txt: {name} has no files")
    for module, found in numbers.items():
        if found != set(range(1, len(found) + 1)):
            faults.append(f"migrations/{module}: numbers have a gap or start above 1: {sorted(found)}")
    repo.finish(faults, f"{len(engines)} migrations")


main()
