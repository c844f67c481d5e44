"""A daemon that dies at any step of create, extend and release, under load: bookings stay right, and repeated calls end well."""

import threading
import unittest

from claims_nodes import add_nodes, create_pool, faults, reserve
from harness import EngineCase, both_engines, post

# The place, and how many passages it lives through first.
FAIL_POINTS = (
    ("admission.prepared", 12),
    ("admission.allowed", 12),
    ("reservation.booked", 6),
    ("reservation.queued", 2),
    ("reservation.extended", 2),
    ("reservation.freed", 2),
    ("reservation.timers", 2),
    ("admission.before-abandoned", 1),
    ("envelope.committed", 12),
)
WORKERS = 4
CLAIMS = 8


class ClaimsCrash(EngineCase):
    __test__ = False

    def life(self, url, token, pool, worker):
        """Claims, longer ends and releases, every call with a key of its own; returns the answers by key."""
        answers = {}
        for i in range(CLAIMS):
            key = f"{worker}-{i}"
            made = reserve(url, token, pool, key, gpus=4)
            answers[key] = made.data
            if made.data["state"] not in ("placed", "active"):
                continue
            hours = 2 if i % 2 == 0 else 24 * 60  # more than the pool allows
            body = {
                "tenantId": "acme", "reservationId": made.data["id"], "idempotencyKey": "x" + key,
                "endsAt": made.data["startsAt"] + hours * 3_600_000,
            }
            extended = post(url, "reservations/extend", body, token)
            answers["x" + key] = extended.json
            if i % 3 == 0:
                released = post(url, "reservations/release", {"tenantId": "acme", "reservationId": made.data["id"]}, token)
                answers["r" + key] = released.data
        return answers

    def crash_at(self, point, passages):
        deployment = self.make()
        first = deployment.serve()
        token = deployment.tenant("acme")
        pool = create_pool(first.url, token, cleanupSeconds=0)
        self.assertEqual(first.stop(), 0)
        add_nodes(deployment, pool, 6)

        doomed = deployment.serve(env={"BETTER_COMPUTE_FAIL_POINT": f"{point}:{passages}"})
        seen = {}

        def work(worker):
            try:
                seen[worker] = self.life(doomed.url, token, pool, worker)
            except (OSError, ValueError, KeyError):
                pass  # the daemon died under the call

        workers = [threading.Thread(target=work, args=(i,)) for i in range(WORKERS)]
        for thread in workers:
            thread.start()
        for thread in workers:
            thread.join()
        if point != "admission.before-abandoned":
            doomed.wait_killed()
        doomed.kill()

        daemon = deployment.serve()
        self.assertEqual(faults(deployment), [])
        for worker in range(WORKERS):
            answers = self.life(daemon.url, token, pool, worker)
            self.assertEqual(len([key for key in answers if key[0] not in "xr"]), CLAIMS)
        self.assertEqual(faults(deployment), [])
        rows = deployment.sql("select count(*) from reservations")
        self.assertEqual(int(rows[0][0]), WORKERS * CLAIMS)  # each key made one


def add(point, passages):
    def test(self):
        self.crash_at(point, passages)

    setattr(ClaimsCrash, "test_at_" + point.replace(".", "_").replace("-", "_"), test)


for name, count in FAIL_POINTS:
    add(name, count)

both_engines(globals(), ClaimsCrash)

if __name__ == "__main__":
    unittest.main(verbosity=2)
