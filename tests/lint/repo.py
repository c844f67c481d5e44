"""What the lint tests share: the files of the repository and a way to report."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDERS = ["agent", "bench", "cli", "cmake", "common", "completions", "daemon", "docs", "generated", "man", "migrations", "tests", ".ci"]
SOURCES = {".cc", ".h"}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def files(*suffixes, under=FOLDERS):
    """The repository's files with one of the suffixes (all without any), as paths relative to its root, sorted."""
    found = []
    for folder in under:
        for path in (ROOT / folder).rglob("*"):
            if path.is_file() and "__pycache__" not in path.parts and (not suffixes or path.suffix in suffixes):
                found.append(path.relative_to(ROOT))
    found += [path.relative_to(ROOT) for path in ROOT.iterdir() if path.is_file() and (not suffixes or path.suffix in suffixes)]
    return sorted(set(found))


def lines(path):
    return (ROOT / path).read_text(encoding="utf-8").splitlines()


def includes(path):
    """(line number, '<' or '"', header) of each include."""
    for number, line in enumerate(lines(path), 1):
        match = INCLUDE.match(line)
        if match:
            yield number, match.group(1), match.group(2)


def finish(faults, what):
    """Prints the faults and ends with their verdict."""
    for fault in faults:
        print(fault)
    print(f"{what}: {len(faults)} faults")
    sys.exit(1 if faults else 0)
