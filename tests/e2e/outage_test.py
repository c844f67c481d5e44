"""docs/examples/outage.py lives through an outage on either engine."""

import os
import subprocess
import sys
import unittest

from harness import BINARY, EngineCase, both_engines, post, wait_for

SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../docs/examples/outage.py")


class Outage(EngineCase):
    __test__ = False

    def setUp(self):
        self.deployment = self.make()
        self.mended = os.path.join(self.deployment.dir, "mended")
        self.endpoint = self.receiver(lambda delivery: 204 if os.path.exists(self.mended) else 410)
        self.daemon = self.deployment.serve()
        for tenant, count in (("acme", 5), ("rival", 2)):
            token = self.deployment.tenant(tenant)
            post(self.daemon.url, "webhooks/create", {"tenantId": tenant, "url": self.endpoint.url, "events": ["pool.*"]}, token).data
            for i in range(count):
                post(self.daemon.url, "pools/create", {"tenantId": tenant, "name": f"pool-{i}"}, token).data
        wait_for(lambda: self.deployment.sql("select count(*) from webhook_deliveries where state = 2") == [("7",)], "seven dead letters")

    def live_through(self, *fix):
        env = self.deployment.env({"BETTER_COMPUTE_CONFIG": self.deployment.config})
        env["PATH"] = os.path.dirname(os.path.abspath(BINARY)) + ":" + env["PATH"]
        return subprocess.run(
            [sys.executable, SCRIPT, *fix], capture_output=True, text=True, check=False, env=env, cwd=self.deployment.dir, timeout=120
        )

    def test_from_the_first_dead_letter_to_the_proof(self):
        done = self.live_through("touch", self.mended)

        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        for line in ("detected: 7 dead letters", "listed: 5 of tenant acme", "listed: 2 of tenant rival", "dry run: 7 would be sent again",
                     "redelivered: 7 as job rdj_", "proved: 7 of 7"):
            self.assertIn(line, done.stdout)
        self.assertIn("answered 410", done.stdout)
        self.assertEqual(len(self.endpoint.ids()), 7)

    def test_it_says_when_the_outage_is_not_over(self):
        done = self.live_through("true")

        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn(", not ", done.stderr)

    def test_deliveries_are_listed_across_tenants(self):
        ask = self.deployment.cli
        everything = ask("webhooks", "deliveries", "--json").json
        self.assertEqual([d["tenantId"] for d in everything["items"]].count("acme"), 5)
        self.assertNotIn("nextCursor", everything)
        first = ask("webhooks", "deliveries", "--limit", "7", "--json").json
        self.assertEqual((len(first["items"]), "nextCursor" in first), (7, False))
        page = ask("webhooks", "deliveries", "--limit", "6", "--json").json
        rest = ask("webhooks", "deliveries", "--limit", "6", "--cursor", page["nextCursor"], "--json").json
        self.assertEqual(page["items"] + rest["items"], everything["items"])
        webhook = everything["items"][0]["webhookId"]
        own = ask("webhooks", "deliveries", "--webhook", webhook, "--state", "dead", "--json").json["items"]
        self.assertEqual({d["webhookId"] for d in own}, {webhook})
        for state in ("pending", "delivered", "cancelled"):
            self.assertEqual(ask("webhooks", "deliveries", "--state", state, "--json").json["items"], [])
        text = ask("webhooks", "deliveries", "--limit", "1")
        self.assertEqual(text.out.split()[0], "TENANT")
        self.assertIn("there are more: --cursor ", text.err)
        wrong = ask("webhooks", "deliveries", "--cursor", "nowhere")
        self.assertEqual((wrong.status, wrong.err.split(":")[0]), (1, "INVALID_INPUT"))
        over_http = ask("webhooks", "deliveries", "--url", self.daemon.url, token=self.deployment.tokens[0])
        self.assertEqual((over_http.status, over_http.err.split("\n")[0]), (2, "INVALID_INPUT: --tenant: is needed with --url"))


both_engines(globals(), Outage)

if __name__ == "__main__":
    unittest.main(verbosity=2)
