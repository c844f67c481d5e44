"""The ledger of the contract tests, tests/contract/ledger.txt: each acceptance row and the tests that show it.

A line is one of
    M19 tests/contract/methods/envelope_test.cc:M19_AuthenticationIsCachedThirtySeconds   a test, named after its rows (W14_W15_...)
    M148 tests/lint/envelope_codes_lint.py                                                a program, whose first words are the row
    W107 docs/webhooks.md#Other ways to follow events                                     a row that asks for documentation; by hand
    M90 - reason                                                                          a row without a test; by hand
Every row (M1 to M158, W1 to W107) stands in it; what it names exists; a row that has a test is not listed as open, so that the open
ones only get fewer. With --write the lines of the tests are made anew and those by hand kept.
"""
import re
import sys

import repo

LEDGER = repo.ROOT / "tests/contract/ledger.txt"
ROWS = [f"M{number}" for number in range(1, 159)] + [f"W{number}" for number in range(1, 108)] + ["W35b"]
ROW = r"[MW]\d+b?"
TEST = re.compile(rf"\bTEST(?:_P|_F)?\(\s*\w+\s*,\s*(((?:{ROW}_)+)\w+)")
SCRIPTED = re.compile(rf"^    def (test_((?:{ROW}_)+)\w+)\(", re.MULTILINE)
PROGRAM = re.compile(rf'^"""({ROW}): ')
LINE = re.compile(rf"^({ROW}) (?:- (?P<reason>.+)|(?P<page>\S+\.md)#(?P<heading>.+)|(?P<test>\S+))$")


def key(row):
    return row[0], int(row[1:].rstrip("b")), row


def tests_in_the_sources():
    found = {}
    for path in repo.files(".cc", under=["tests"]):
        for name, rows in TEST.findall("\n".join(repo.lines(path))):
            for row in rows.rstrip("_").split("_"):
                found.setdefault(row, []).append(f"{path}:{name}")
    for path in repo.files(".py", under=["tests"]):
        lines = repo.lines(path)
        for name, rows in SCRIPTED.findall("\n".join(lines)):
            for row in rows.rstrip("_").split("_"):
                found.setdefault(row, []).append(f"{path}:{name}")
        match = PROGRAM.match((lines or [""])[0])
        if match:
            found.setdefault(match.group(1), []).append(str(path))
    return found


def is_heading(page, heading):
    path = repo.ROOT / page
    return path.exists() and any(line.lstrip("#").strip() == heading for line in path.read_text(encoding="utf-8").splitlines() if line.startswith("#"))


def read_ledger():
    """The rows with tests, the rows by hand (each with the text behind it), and what is wrong with a line."""
    shown, by_hand, faults = {}, {}, []
    lines = LEDGER.read_text(encoding="utf-8").splitlines() if LEDGER.exists() else []
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.startswith("#"):
            continue
        match = LINE.match(line)
        if not match:
            faults.append(f"tests/contract/ledger.txt:{number}: is no line of the ledger")
        elif match["test"]:
            shown.setdefault(match[1], []).append(match["test"])
        else:
            by_hand[match[1]] = line.split(" ", 1)[1]
            if match["page"] and not is_heading(match["page"], match["heading"]):
                faults.append(f"tests/contract/ledger.txt:{number}: {match['page']} has no heading {match['heading']}")
    return shown, by_hand, faults


def write(found, by_hand):
    lines = ["# Each acceptance row and what shows it; tests/lint/ledger_lint.py says how to read it, and makes it anew with --write."]
    for row in sorted(set(found) | set(by_hand), key=key):
        lines += [f"{row} {test}" for test in sorted(found.get(row, []))] or [f"{row} {by_hand[row]}"]
    LEDGER.write_text("\n".join(lines) + "\n", encoding="utf-8")


def main():
    found = tests_in_the_sources()
    shown, by_hand, faults = read_ledger()
    if "--write" in sys.argv:
        write(found, by_hand)
        return
    for row, tests in shown.items():
        faults += [f"{row}: {test} is not in the sources" for test in tests if test not in found.get(row, [])]
    for row in ROWS:
        if row not in shown and row not in by_hand:
            faults.append(f"{row}: stands neither with a test nor as open in the ledger; run tests/lint/ledger_lint.py --write")
        if row in found and row in by_hand:
            faults.append(f"{row}: has a test now; run tests/lint/ledger_lint.py --write")
    for row in found:
        if row not in ROWS:
            faults.append(f"{row}: {found[row][0]} is named after a row that does not exist")
    open_rows = sorted((row for row, text in by_hand.items() if text.startswith("- ")), key=key)
    repo.finish(faults, f"ledger: {len(shown)} rows with tests, open: {' '.join(open_rows) or 'none'}")


main()
