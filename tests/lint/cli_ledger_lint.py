"""tests/golden/cli_ledger.txt: every fact about the command line that scripts rely on names a test that exists.

A line is `section | fact | file:test`; a dash for the test marks an open fact. There may be no more open ones than KNOWN_OPEN.
"""
import re

import repo

LEDGER = repo.ROOT / "tests/golden/cli_ledger.txt"
SECTIONS = {"all", "serve", "migrate", "doctor", "webhooks", "api:surface", "api", "iam", "fleet", "agent", "audit", "secrets", "backup", "config",
            "version", "completion"}
KNOWN_OPEN = 0
MAKES = {".cc": r"^TEST(?:_P|_F)?\(\s*\w+\s*,\s*{}\s*\)", ".py": r"^    def {}\("}


def main():
    faults, seen, is_open = [], set(), 0
    for number, line in enumerate(LEDGER.read_text(encoding="utf-8").splitlines(), 1):
        if not line or line.startswith("#"):
            continue
        where = f"tests/golden/cli_ledger.txt:{number}"
        parts = [part.strip() for part in line.split("|")]
        if len(parts) < 3 or parts[0] not in SECTIONS:
            faults.append(f"{where}: is no line of the ledger")
            continue
        seen.add(parts[0])
        if parts[-1] == "-":
            is_open += 1
            continue
        path, _, test = parts[-1].partition(":")
        source = repo.ROOT / path
        pattern = MAKES.get(source.suffix)
        if not pattern or not source.exists() or not re.search(pattern.format(re.escape(test)), source.read_text(encoding="utf-8"), re.M):
            faults.append(f"{where}: there is no {parts[-1]}")
    faults += [f"no fact about {section}" for section in sorted(SECTIONS - seen)]
    if is_open > KNOWN_OPEN:
        faults.append(f"{is_open} facts are open, {KNOWN_OPEN} were")
    repo.finish(faults, f"command line: open facts: {is_open}")


main()
