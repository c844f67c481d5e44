"""A third-party library stays inside its adapter: which headers may be included where."""
import re

import repo

# Header pattern -> the only places that may include it. Tests may reach around an adapter to stand on its other side.
ADAPTERS = [
    (r"httplib\.h$", ["cli/client.", "tests/support/"]),
    (r"curl/", ["common/net/", "bench/", "tests/support/"]),
    (r"(SQLiteCpp/|sqlite3\.h$)", ["common/store/sqlite/", "tests/support/", "tests/conformance/"]),
    (r"(libpq-fe\.h$|postgresql/)", ["common/store/postgres/", "tests/support/"]),
    (r"openssl/", ["common/crypto/", "daemon/http/", "tests/support/", "bench/"]),
    (r"toml\+\+/", ["common/config/"]),
    (r"CLI/", ["cli/"]),
    (r"(spdlog|fmt)/", ["common/core/log.cc"]),
    (r"prometheus/", ["daemon/"]),
    (r"idn2\.h$", ["common/net/"]),
    (r"ares\.h$", ["common/net/"]),
    (r"(gtest|gmock)/|rapidcheck", ["tests/"]),
    (r"benchmark/", ["bench/"]),
]
# No std::regex: it overflows the stack on long input.
FORBIDDEN = {"regex": "use RE2 after a length bound"}


def main():
    faults = []
    for path in repo.files(*repo.SOURCES):
        for number, _, header in repo.includes(path):
            if header in FORBIDDEN:
                faults.append(f"{path}:{number}: includes <{header}>: {FORBIDDEN[header]}")
            for pattern, places in ADAPTERS:
                if re.match(pattern, header) and not any(str(path).startswith(place) for place in places):
                    faults.append(f"{path}:{number}: {header} belongs in {', '.join(places)}")
            if header == "nlohmann/json.hpp" and path.parts[0] == "common" and path.parts[1] == "core" and path.suffix == ".h":
                faults.append(f"{path}:{number}: a header of core includes json_fwd.hpp, not json.hpp")
    repo.finish(faults, "third-party headers")


main()
