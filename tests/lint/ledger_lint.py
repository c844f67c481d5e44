"""The ledger of the contract tests: one line per acceptance row, `M<number> <test file or ->`; see tests/contract/ledger.txt.

Every row of the contract (M1 to M158) stands in it, and a test that it names exists and is named after its row.
"""
import re

import repo

LEDGER = repo.ROOT / "tests/contract/ledger.txt"
ROWS = 158
TEST = re.compile(r"\bTEST(?:_P|_F)?\(\s*\w+\s*,\s*M(\d+)_(\w+)")


def tested_rows():
    rows = set()
    for path in repo.files(".cc", under=["tests"]):
        if path.parts[0] == "tests":
            rows |= {int(number) for number, _ in TEST.findall("\n".join(repo.lines(path)))}
    return rows


def untested_rows():
    rows = set()
    for line in LEDGER.read_text(encoding="utf-8").splitlines():
        match = re.match(r"^M(\d+)\b", line)
        if match:
            rows.add(int(match.group(1)))
    return rows


def main():
    if not LEDGER.exists():
        repo.finish([], "no ledger")
    faults = []
    tested = tested_rows()
    open_rows = untested_rows()
    for row in range(1, ROWS + 1):
        if row not in tested and row not in open_rows:
            faults.append(f"M{row}: no test is named after it and the ledger does not list it")
        if row in tested and row in open_rows:
            faults.append(f"M{row}: has a test now; take it out of the ledger, which may only shrink")
    repo.finish(faults, f"ledger: {len(tested)} rows tested, {len(open_rows)} listed")


main()
