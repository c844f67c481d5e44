"""Several processes on one PostgreSQL, split by role."""

import collections
import concurrent.futures
import unittest

from harness import EngineCase, post, wait_for


class SharedPostgres(EngineCase):
    engine = "postgres"

    def test_two_controllers_and_one_api_send_nothing_twice(self):
        deployment = self.make()
        receivers = [self.receiver() for _ in range(10)]
        api = deployment.serve("--roles", "api")
        controllers = [deployment.serve("--roles", "controllers") for _ in range(2)]
        token = deployment.tenant("acme")
        for receiver in receivers:
            post(api.url, "webhooks/create", {"tenantId": "acme", "url": receiver.url, "events": ["pool.created"]}, token).data

        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            answers = list(pool.map(
                lambda i: post(api.url, "pools/create", {"tenantId": "acme", "name": f"pool-{i}"}, token), range(100)
            ))
        self.assertEqual({a.status for a in answers}, {200})
        wait_for(lambda: all(len(r.ids()) == 100 for r in receivers), "1,000 deliveries")
        for controller in controllers:
            self.assertEqual(controller.stop(), 0)

        for receiver in receivers:
            times = collections.Counter(d.id for d in receiver.seen())
            self.assertEqual([i for i, n in times.items() if n > 1], [])
        states = deployment.sql("select attempts, count(*) from webhook_deliveries group by attempts")
        self.assertEqual(states, [("1", "1000")])

    def test_controllers_alone_answer_health_and_no_api(self):
        deployment = self.make()
        token = deployment.tenant("acme")
        controller = deployment.serve("--roles", "controllers")

        answer = post(controller.url, "pools/list", {"tenantId": "acme"}, token)

        self.assertEqual(answer.status, 404)


if __name__ == "__main__":
    unittest.main(verbosity=2)
