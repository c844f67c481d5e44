"""The ledger of the contract tests, tests/contract/ledger.txt: each acceptance row and the tests that show it.

A line is `M19 tests/contract/methods/envelope_test.cc:M19_AuthenticationIsCachedThirtySeconds`, or `M90 - reason` while a row has no
test. Every row (M1 to M158, W1 to W107) stands in it; a test that it names exists and is named after its row; a row that has a
test is not listed as open, so that the open ones only get fewer. With --write the lines of the tests are made anew and the open ones kept.
"""
import re
import sys

import repo

LEDGER = repo.ROOT / "tests/contract/ledger.txt"
ROWS = [f"M{number}" for number in range(1, 159)] + [f"W{number}" for number in range(1, 108)]
TEST = re.compile(r"\bTEST(?:_P|_F)?\(\s*\w+\s*,\s*(([MW]\d+)_\w+)")


def key(row):
    return row[0], int(row[1:])


def tests_in_the_sources():
    found = {}
    for path in repo.files(".cc", under=["tests"]):
        for name, row in TEST.findall("\n".join(repo.lines(path))):
            found.setdefault(row, []).append(f"{path}:{name}")
    return found


def read_ledger():
    shown, open_rows, faults = {}, {}, []
    if not LEDGER.exists():
        return shown, open_rows, faults
    for number, line in enumerate(LEDGER.read_text(encoding="utf-8").splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        match = re.match(r"^([MW]\d+) (?:- (.+)|(\S+:\w+))$", line)
        if not match:
            faults.append(f"tests/contract/ledger.txt:{number}: is neither `ROW FILE:TEST` nor `ROW - reason`")
        elif match.group(2):
            open_rows[match.group(1)] = match.group(2)
        else:
            shown.setdefault(match.group(1), []).append(match.group(3))
    return shown, open_rows, faults


def write(found, open_rows):
    lines = ["# Each acceptance row and its tests; `ROW - reason` has none yet. Made by tests/lint/ledger_lint.py --write; open rows by hand."]
    for row in sorted(set(found) | set(open_rows), key=key):
        lines += [f"{row} {test}" for test in sorted(found.get(row, []))] or [f"{row} - {open_rows[row]}"]
    LEDGER.write_text("\n".join(lines) + "\n", encoding="utf-8")


def main():
    found = tests_in_the_sources()
    shown, open_rows, faults = read_ledger()
    if "--write" in sys.argv:
        write(found, open_rows)
        return
    for row, tests in shown.items():
        faults += [f"{row}: {test} is not in the sources" for test in tests if test not in found.get(row, [])]
    for row in ROWS:
        if row not in shown and row not in open_rows:
            faults.append(f"{row}: stands neither with a test nor as open in the ledger; run tests/lint/ledger_lint.py --write")
        if row in found and row in open_rows:
            faults.append(f"{row}: has a test now; run tests/lint/ledger_lint.py --write")
    repo.finish(faults, f"ledger: {len(shown)} rows with tests, open: {' '.join(sorted(open_rows, key=key)) or 'none'}")


main()
