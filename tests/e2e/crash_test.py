"""A daemon that dies at any step of the way from commit to receipt loses nothing.

Each fail point once, then a few lives under load; `./dev crash --rounds 200` lives many more of them.
"""

import unittest

from crash_lab import DAEMON_POINTS, PRUNE_POINTS, ROTATE_POINTS, CrashLab
from harness import EngineCase, both_engines

LIVES = 6

# What the oracle says, what makes it say so, and what mends that.
FAULTS = (
    (
        "lost",
        "insert into outbox_events (txid, id, tenant_id, type, subject, time, data) "
        "values (1, 'evt_lost', 'acme', 'pool.created', 'pool/x', 1790244902000, '{}')",
        "delete from outbox_events where id = 'evt_lost'",
    ),
    ("other bytes", "update webhook_bodies set body = body || ' '", "update webhook_bodies set body = rtrim(body)"),
    ("another id", "update webhook_deliveries set id = id || '_'", "update webhook_deliveries set id = rtrim(id, '_')"),
    ("records of", "update webhook_attempts set attempt = attempt + 50", "update webhook_attempts set attempt = attempt - 50"),
    ("claims", "update claim_log set seq = seq + 1000", "update claim_log set seq = seq - 1000"),
    ("came", "update webhook_attempts set outcome = 0 where outcome = 2", "update webhook_attempts set outcome = 2 where outcome = 0"),
    ("moved by", "update claim_log set step = 3", "update claim_log set step = 1"),
)


class Crash(EngineCase):
    __test__ = False

    def lab(self, **options):
        lab = CrashLab(self.engine, **options)
        self.addCleanup(lab.close)
        return lab

    def test_every_step_once(self):
        lab = self.lab(flaky=0)

        for point in DAEMON_POINTS:
            lab.die_at(point, 1, 20)
            self.assertEqual(lab.kills[point], 1, point)
        lab.finish()

        lab.check()

    def test_pruning(self):
        lab = self.lab(flaky=0)
        for point in PRUNE_POINTS:
            lab.finish()
            lab.die_at(point, 1, 20)
            self.assertEqual(lab.kills[point], 1, point)
        lab.finish()

        lab.check()
        self.assertTrue(set(lab.settled) - set(lab.rows()))

    def test_sealing_anew(self):
        lab = self.lab(flaky=0)
        for point in ROTATE_POINTS:
            lab.rotate(point)
        lab.finish()

        lab.check()

    def test_the_oracle_sees_faults(self):
        lab = self.lab(flaky=0)
        lab.finish()
        lab.check()

        for words, broken, mended in FAULTS:
            lab.execute(broken)
            with self.assertRaisesRegex(AssertionError, words):
                lab.check()
            lab.execute(mended)

        lab.check()

    def test_lives_under_load(self):
        lab = self.lab(seed=7)
        for _ in range(LIVES):
            lab.die_at(lab.random.choice(DAEMON_POINTS), lab.random.randint(1, 8), 0.4)
        lab.finish()

        lab.check()


both_engines(globals(), Crash)

if __name__ == "__main__":
    unittest.main(verbosity=2)
