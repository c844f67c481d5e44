"""M148: the codes of the envelope and of the transport are thrown by them alone, never by a module or an example plugin."""
import re

import repo

ERROR_TABLE = "common/core/error.cc"
ROW = re.compile(r'ErrorInfo\{\s*ErrorCode::(\w+),\s*"\w+",\s*\d+,\s*(?:true|false),\s*(true|false)')


def owned_codes():
    text = "\n".join(repo.lines(ERROR_TABLE))
    return {name for name, owned in ROW.findall(text) if owned == "true"}


def main():
    codes = owned_codes()
    faults = [] if len(codes) >= 5 else [f"{ERROR_TABLE}: the table of codes could not be read"]
    # Comparing with a code is fine; making an error of it is not.
    thrown = re.compile(r"(?:ComputeError\s*[({]|throw[^;]*?)\s*ErrorCode::(" + "|".join(sorted(codes)) + r")\b")
    for path in repo.files(*repo.SOURCES, under=["common/modules", "tests/plugin"]):
        text = "\n".join(line.split("//")[0] for line in repo.lines(path))
        for match in thrown.finditer(text):
            number = text.count("\n", 0, match.end()) + 1
            faults.append(f"{path}:{number}: throws {match.group(1)}, which belongs to the envelope")
    repo.finish(faults, f"{len(codes)} envelope-owned codes")


main()
