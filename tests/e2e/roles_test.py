"""What a process does by its roles, on either engine."""

import unittest

from harness import EngineCase, both_engines, post, wait_for


class Roles(EngineCase):
    __test__ = False

    def test_W8_without_a_worker_webhooks_are_stored_and_nothing_is_sent(self):
        deployment = self.make()
        receiver = self.receiver()
        api = deployment.serve("--roles", "api")
        token = deployment.tenant("acme")
        post(api.url, "webhooks/create", {"tenantId": "acme", "url": receiver.url, "events": ["*"]}, token).data
        post(api.url, "pools/create", {"tenantId": "acme", "name": "a"}, token).data

        self.assertEqual(len(post(api.url, "webhooks/list", {"tenantId": "acme"}, token).data["items"]), 1)
        self.assertEqual(post(api.url, "webhooks/deliveries", {"tenantId": "acme"}, token).data["items"], [])
        self.assertEqual(api.stop(), 0)
        self.assertEqual(deployment.sql("select count(*) from webhook_deliveries"), [("0",)])
        self.assertEqual(receiver.seen(), [])

        deployment.serve("--roles", "controllers")
        wait_for(receiver.seen, "the delivery once a worker runs")


both_engines(globals(), Roles)

if __name__ == "__main__":
    unittest.main(verbosity=2)
