"""Words that say a thing is not done, and calls that must not be used."""
import re

import repo

# Spelled in parts so that this file does not find itself.
EVERYWHERE = [
    (r"\b(TO" + r"DO|FIX" + r"ME|X" + r"XX|HA" + r"CK)\b", "finish it or say what it is"),
    (r"<<<<<<< |>>>>>>> ", "a merge conflict"),
]
IN_SOURCES = [
    (r"\bGTEST_" + r"SKIP\b", "a test runs or fails"),
    (r"\bstd::" + r"regex\b", "use RE2 after a length bound"),
    (r"\busing namespace\b", "name what is used"),
]
# A test that needs time moves the fake clock; one with real threads polls a condition up to a deadline.
IN_TESTS = [(r"\bstd::this_thread::sleep_" + r"(for|until)\b", "wait for a condition or move the clock")]
# A thread that cannot be broken off may be let go, when a comment just above says why.
DETACH = re.compile(r"\.de" + r"tach\(\)")
LITERALS = re.compile(r"using namespace std::(string_view_literals|chrono_literals|string_literals|literals)|using namespace rc")


def rules_for(path):
    rules = list(EVERYWHERE)
    if path.suffix in repo.SOURCES and path.parts[0] != "bench":
        rules += IN_SOURCES
        if path.parts[0] == "tests" and path.name.endswith("_test.cc"):
            rules += IN_TESTS
    return [(re.compile(pattern), reason) for pattern, reason in rules]


def main():
    faults = []
    for path in repo.files(".cc", ".h", ".py", ".sh", ".sql", ".cmake", ".txt", ".md", ".toml"):
        if path.name == "words_lint.py":
            continue
        rules = rules_for(path)
        lines = repo.lines(path)
        for number, line in enumerate(lines, 1):
            if path.suffix in repo.SOURCES and DETACH.search(line) and not any("Detached" in above for above in lines[max(0, number - 5) : number]):
                faults.append(f"{path}:{number}: a thread is let go without a comment that starts with Detached")
            for pattern, reason in rules:
                match = pattern.search(line)
                is_polling = "sleep_" in pattern.pattern and any("deadline" in above for above in lines[max(0, number - 7) : number])
                if match and not is_polling and not LITERALS.search(line):
                    faults.append(f"{path}:{number}: {match.group(0).strip()}: {reason}")
    repo.finish(faults, "words")


main()
