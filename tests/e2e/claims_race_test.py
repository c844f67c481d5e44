"""A hundred clients ask for the last node: one gets it, on one SQLite daemon and on three PostgreSQL daemons."""

import os
import time
import unittest
from concurrent.futures import ThreadPoolExecutor

from claims_nodes import add_nodes, create_pool, faults, reserve
from harness import EngineCase, both_engines

CLIENTS = 100
ROUNDS = int(os.environ.get("BETTER_COMPUTE_RACE_ROUNDS", "10"))


class ClaimsRace(EngineCase):
    __test__ = False

    def test_the_last_node_goes_to_exactly_one(self):
        deployment = self.make()
        daemons = [deployment.serve() for _ in range(3 if self.engine == "postgres" else 1)]
        token = deployment.tenant("acme")
        pool = create_pool(daemons[0].url, token)
        add_nodes(deployment, pool, 1)
        begin = int(time.time() * 1000) + 24 * 3_600_000

        with ThreadPoolExecutor(CLIENTS) as clients:
            for turn in range(ROUNDS):
                starts_at = begin + turn * 2 * 3_600_000

                def ask(i, turn=turn, starts_at=starts_at):
                    url = daemons[i % len(daemons)].url
                    return reserve(url, token, pool, f"{turn}-{i}", gpus=8, startsAt=starts_at).data["state"]

                states = list(clients.map(ask, range(CLIENTS)))
                self.assertEqual(states.count("placed"), 1)
                self.assertEqual(states.count("pending"), CLIENTS - 1)

        self.assertEqual(faults(deployment), [])


both_engines(globals(), ClaimsRace)

if __name__ == "__main__":
    unittest.main(verbosity=2)
