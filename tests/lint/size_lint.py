"""No file over 500 lines: it has more than one job."""
import repo

LIMIT = 500
SUFFIXES = {".cc", ".h", ".py", ".sh", ".sql", ".cmake"}


def main():
    faults = []
    for path in repo.files(*SUFFIXES):
        count = len(repo.lines(path))
        if count > LIMIT:
            faults.append(f"{path}: {count} lines, at most {LIMIT}")
    repo.finish(faults, "sizes")


main()
