"""A daemon that dies at any step of the way from commit to receipt loses nothing.

Each fail point once, then a few lives under load; `./dev crash --rounds 200` lives many more of them.
"""

import unittest

from crash_lab import DAEMON_POINTS, PRUNE_POINTS, ROTATE_POINTS, CrashLab
from harness import EngineCase, both_engines

LIVES = 6


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

    def test_lives_under_load(self):
        lab = self.lab(seed=7)
        for _ in range(LIVES):
            lab.die_at(lab.random.choice(DAEMON_POINTS), lab.random.randint(1, 8), 0.4)
        lab.finish()

        lab.check()


both_engines(globals(), Crash)

if __name__ == "__main__":
    unittest.main(verbosity=2)
