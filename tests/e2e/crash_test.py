"""A daemon that dies at any step of the way from commit to receipt loses nothing."""

import unittest

from harness import EngineCase, both_engines, post, wait_for

# Every place between two steps, in the order of the way (git grep 'fail_point("').
FAIL_POINTS = (
    "envelope.committed",
    "fanout-after-cursor",
    "fanout-before-commit",
    "fanout-after-commit",
    "deliver-before-commit",
    "deliver-after-claim",
    "deliver-before-send",
    "deliver-before-settle",
    "deliver-after-settle",
)


class Crash(EngineCase):
    __test__ = False

    def crash_at(self, point):
        deployment = self.make(
            "[events]\nallow_insecure = true\nallow_private = true\n[events.delivery]\ntimeout_ms = 1000\n"
        )
        receiver = self.receiver()
        first = deployment.serve()
        token = deployment.tenant("acme")
        post(first.url, "webhooks/create", {"tenantId": "acme", "url": receiver.url, "events": ["pool.*"]}, token).data
        self.assertEqual(first.stop(), 0)

        doomed = deployment.serve(env={"BETTER_COMPUTE_FAIL_POINT": point})
        for i in range(3):
            try:
                post(doomed.url, "pools/create", {"tenantId": "acme", "name": f"p{i}"}, token)
            except OSError:
                break  # the daemon died under the call
        doomed.wait_killed()

        deployment.serve()
        committed = {cell for (cell,) in deployment.sql("select id from outbox_events where type = 'pool.created'")}
        self.assertTrue(committed)
        wait_for(lambda: {d.event["id"] for d in receiver.seen()} >= committed, f"every event after a crash at {point}", 120)
        for event in committed:
            copies = [d for d in receiver.seen() if d.event["id"] == event]
            self.assertEqual(len({(d.id, d.body) for d in copies}), 1)


def add(point):
    def test(self):
        self.crash_at(point)

    setattr(Crash, "test_at_" + point.replace(".", "_").replace("-", "_"), test)


for name in FAIL_POINTS:
    add(name)

both_engines(globals(), Crash)

if __name__ == "__main__":
    unittest.main(verbosity=2)
