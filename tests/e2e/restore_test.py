"""Backup, restore, restart: nothing is lost that the backup held, and fan-out goes on where the copy stood."""

import os
import subprocess
import tempfile
import unittest

from harness import EngineCase, both_engines, post, wait_for

DEV = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../dev")


def position(delivery):
    return tuple(map(int, delivery.event["sequence"].split(".")))


class Restore(EngineCase):
    __test__ = False

    def copy(self, deployment):
        """A copy taken while the daemon serves."""
        copy = os.path.join(deployment.dir, "copy")
        if self.engine == "sqlite":
            done = deployment.cli("backup", copy + ".db", "--json")
            self.assertEqual(done.status, 0, done.err)
            return copy + ".db"
        hint = deployment.cli("backup", copy)
        self.assertEqual(hint.status, 1)
        self.assertIn("pg_dump", hint.err)
        subprocess.run(["pg_dump", "--no-owner", "--file=" + copy, deployment.database], check=True)
        return copy

    def restore(self, deployment, copy):
        """Puts the copy where a new cluster, whose transaction numbers are lower, or a new file has it."""
        if self.engine == "sqlite":
            url = "sqlite:" + copy
        else:
            folder = tempfile.mkdtemp(prefix="better-compute-cluster-")
            os.chmod(folder, 0o755)
            self.addCleanup(subprocess.run, ["rm", "-rf", folder], check=False)
            started = subprocess.run([DEV, "pg", folder], capture_output=True, text=True, check=True)
            self.addCleanup(subprocess.run, [DEV, "pg-stop", folder], check=False)
            url = started.stdout.strip()
            subprocess.run(["psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-f", copy, url], check=True, capture_output=True)
        with open(deployment.config, encoding="utf-8") as file:
            text = file.read().replace(deployment.database, url)
        with open(deployment.config, "w", encoding="utf-8") as file:
            file.write(text)
        deployment.database = url

    def burn_transactions(self, deployment):
        """Positions of the old cluster run far ahead of what a new one has."""
        if self.engine == "postgres":
            deployment.sql("do $$ begin for i in 1..20000 loop perform pg_current_xact_id(); commit; end loop; end $$")

    def test_nothing_is_lost_that_the_backup_held(self):
        deployment = self.make()
        endpoint = self.receiver()
        self.burn_transactions(deployment)
        daemon = deployment.serve()
        token = deployment.tenant("acme")

        def create(name):
            return "pool/" + post(daemon.url, "pools/create", {"tenantId": "acme", "name": name}, token).data["id"]

        post(daemon.url, "webhooks/create", {"tenantId": "acme", "url": endpoint.url, "events": ["pool.created"]}, token).data
        delivered = {create(f"before-{i}") for i in range(3)}
        wait_for(lambda: len(endpoint.ids()) == 3, "what came before is delivered")
        wait_for(lambda: deployment.sql("select count(*) from webhook_deliveries where state = 0") == [("0",)], "and settled")
        self.assertEqual(daemon.stop(), 0)

        # Events that nobody has fanned out when the copy is taken.
        daemon = deployment.serve("--roles", "api")
        held = {create(f"held-{i}") for i in range(5)}
        copy = self.copy(deployment)
        create("after-the-copy")
        self.assertEqual(daemon.stop(), 0)
        self.restore(deployment, copy)

        self.assertEqual(deployment.cli("migrate", "verify").status, 0)
        daemon = deployment.serve()
        new = {create("new")}

        wait_for(lambda: len(endpoint.ids()) == 9, "what the copy held and what is new")
        wait_for(lambda: deployment.sql("select count(*) from webhook_deliveries where state = 0") == [("0",)], "all is settled")
        seen = endpoint.seen()
        self.assertEqual({d.event["subject"] for d in seen}, delivered | held | new)
        self.assertEqual(len(seen), 9, "nothing was sent twice")
        ordered = [position(d) for d in seen]
        self.assertEqual(ordered, sorted(ordered), "positions go on behind those of the copy")
        report = deployment.cli("doctor", "--json")
        self.assertEqual([f for f in report.json["findings"] if f["severity"] == "error"], [])
        proof = deployment.cli("webhooks", "proof", "--since", "1h", "--json").json
        self.assertEqual((proof["ok"], proof["expected"], proof["found"]), (True, 9, 9))
        names = post(daemon.url, "pools/list", {"tenantId": "acme", "limit": 50}, token).data["items"]
        self.assertNotIn("after-the-copy", [pool["name"] for pool in names])


both_engines(globals(), Restore)

if __name__ == "__main__":
    unittest.main(verbosity=2)
