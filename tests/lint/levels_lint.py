"""A room includes only rooms of lower levels: the table of common/README.md against the includes."""
import re

import repo

ROW = re.compile(r"^\|\s*(\d+)\s*\|\s*([a-z_/]+)\s*\|")


def read_table():
    levels = {}
    for line in repo.lines("common/README.md"):
        match = ROW.match(line)
        if match:
            levels[match.group(2)] = int(match.group(1))
    return levels


def room_of(path, levels):
    """The room a path below common/ lies in: the longest name of the table that its folders start with."""
    parts = path.split("/")[:-1]
    for length in range(len(parts), 0, -1):
        name = "/".join(parts[:length])
        if name in levels:
            return name
    return None


def main():
    levels = read_table()
    faults = [] if levels else ["common/README.md: has no table of rooms"]
    used = set()
    for path in repo.files(*repo.SOURCES, under=["common"]):
        if path.parts[0] != "common":
            continue
        room = room_of("/".join(path.parts[1:]), levels)
        if room is None:
            faults.append(f"{path}: lies in no room of common/README.md")
            continue
        used.add(room)
        for number, quote, header in repo.includes(path):
            if quote == "<":
                continue
            if header.split("/")[0] in {"daemon", "cli", "agent", "tests", "bench"}:
                faults.append(f"{path}:{number}: common/ includes {header}, which lies above it")
                continue
            other = room_of(header, levels)
            if other is None:
                faults.append(f"{path}:{number}: {header} lies in no room")
            elif other != room and levels[other] >= levels[room]:
                faults.append(f"{path}:{number}: {room} (level {levels[room]}) includes {other} (level {levels[other]})")
    repo.finish(faults, f"levels of {len(used)} rooms")


main()
