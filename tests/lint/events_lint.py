"""W35b: the events page lists exactly the types that the code emits.

generated/events.md is made from what the modules declare. Here each type on it must be named by the code of a module beside its
declaration, or nothing would emit it; and whatever looks like a type of a family must stand on the page, but for the names of fail points and log lines.
"""
import re

import repo

PAGE = "generated/events.md"
LISTED = re.compile(r"^- `([a-z0-9-]+(?:\.[a-z0-9-]+)+)`$")
DECLARATION = re.compile(r"\.types\s*=\s*\{[^}]*\}")
NAMES_NO_EVENT = re.compile(r'(fail_point\(|\blog(?:\(\))?\.(?:info|warning|error|debug)\()(\s*)"[^"]*"')
LITERAL = re.compile(r'"([a-z0-9-]+(?:\.[a-z0-9-]+)+)"')


def emitted_literals():
    """Literals with dots in the modules' sources, outside of declarations: literal -> file:line of its first place."""
    found = {}
    for path in repo.files(".cc", ".h", under=["common/modules"]):
        if path.parts[:2] != ("common", "modules"):
            continue
        text = "\n".join(line.split("//")[0] for line in repo.lines(path))
        text = DECLARATION.sub(lambda match: "\n" * match.group(0).count("\n"), text)
        text = NAMES_NO_EVENT.sub(r"\1\2", text)
        for match in LITERAL.finditer(text):
            found.setdefault(match.group(1), f"{path}:{text.count(chr(10), 0, match.start()) + 1}")
    return found


def main():
    listed = {match.group(1) for line in repo.lines(PAGE) if (match := LISTED.match(line))}
    faults = [] if listed else [f"{PAGE}: lists no types"]
    literals = emitted_literals()
    faults += [f"{PAGE}: nothing emits {name}" for name in sorted(listed - set(literals))]
    families = {name.split(".")[0] for name in listed}
    for name, place in sorted(literals.items()):
        if name.split(".")[0] in families and name not in listed:
            faults.append(f"{place}: {name} is no type of {PAGE}")
    repo.finish(faults, f"{len(listed)} event types")


main()
