"""The whole domain: a real fleet applied, its nodes joined through one simulating agent, reservations made, the daemon killed under it."""

import json
import os
import subprocess
import threading
import unittest

import fleet
from harness import BINARY, DEADLINE, EngineCase, both_engines, post, wait_for


class Capacity(EngineCase):
    __test__ = False

    def prepare(self):
        deployment = self.make("")
        self.assertEqual(deployment.cli("migrate").status, 0)
        deployment.apply({"version": 1, "tenants": [{"id": "acme"}]})
        token = deployment.tenant("root", "fleet-ops")
        return deployment, token

    def simulate(self, deployment, url, token, document):
        path = os.path.join(deployment.dir, "fleet.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(document, file)
        env = deployment.env({"BETTER_COMPUTE_TOKEN": token, "BETTER_COMPUTE_CONFIG": deployment.config})
        with open(os.path.join(deployment.dir, "agent.log"), "wb") as log:
            agent = subprocess.Popen(
                [BINARY, "agent", "--url", url, "--simulate", path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, env=env, text=True
            )

        def end():
            agent.stdin.close()
            agent.kill()
            agent.wait(DEADLINE)
            agent.stdout.close()

        self.addCleanup(end)
        return agent

    def assert_nothing_is_held_twice(self, deployment):
        held = {}
        for gpu, milli, start, end in deployment.sql("select gpu_uuid, milli, starts_at, ends_at from bookings where gpu_uuid is not null and parent_id is null"):
            held.setdefault(gpu, []).append((int(start), int(end), int(milli)))
        for gpu, windows in held.items():
            for at, _, _ in windows:
                self.assertLessEqual(sum(milli for start, end, milli in windows if start <= at < end), 1000, gpu)
        stray = deployment.sql(
            "select b.id from bookings b join reservations r on r.id = b.holder_id where r.state in ('draft', 'denied', 'awaiting-confirmation', 'pending')"
        )
        self.assertEqual(stray, [])

    def test_from_a_document_to_reservations(self):
        deployment, token = self.prepare()
        daemon = deployment.serve()
        document = {**fleet.document("acme"), "quotas": [{"limits": {"gpuMilli": 100_000}}]}
        rows, _ = fleet.nodes()
        post(daemon.url, "fleet/apply", {"document": document}, token).data

        agent = self.simulate(deployment, daemon.url, token, document)
        self.assertEqual(agent.stdout.readline(), f"ready {len(rows)}\n")
        pool = post(daemon.url, "pools/list", {"tenantId": "acme"}, token).data["items"][0]["id"]
        self.assertEqual(deployment.sql("select count(*) from nodes where connection = 'ready'"), [(str(len(rows)),)])
        self.assertEqual(post(daemon.url, "fleet/export", {"tenantId": "acme"}, token).data["expected"], [])
        self.assertEqual(post(daemon.url, "fleet/plan", {"document": document}, token).data["calls"], [])

        # 20 clients at once against a quota of 100 GPUs: 12 times 8 fit, whoever comes first.
        answers = []

        def reserve(number):
            answers.append(post(daemon.url, "reservations/create", {
                "tenantId": "acme", "poolId": pool, "gpuCount": 8, "gpusPerNode": 8, "durationSeconds": 3600, "idempotencyKey": f"k{number}",
            }, token))

        clients = [threading.Thread(target=reserve, args=(number,)) for number in range(20)]
        for client in clients:
            client.start()
        for client in clients:
            client.join()
        states = [answer.data["state"] if answer.status == 200 else answer.code for answer in answers]
        self.assertEqual(states.count("QUOTA_EXCEEDED"), 8, states)
        self.assertEqual(states.count("placed") + states.count("active"), 12, states)
        self.assert_nothing_is_held_twice(deployment)
        use = post(daemon.url, "quotas/get", {"tenantId": "acme"}, token).data["resources"]
        self.assertEqual((use["gpuMilli"]["used"], use["reservations"]["used"]), (96_000, 12))

        daemon.kill()
        again = deployment.serve("--listen", daemon.url.removeprefix("http://"))
        self.assert_nothing_is_held_twice(deployment)
        self.assertEqual(deployment.sql("select count(*) from nodes where connection in ('lost', 'removed')"), [("0",)])
        replayed = post(again.url, "reservations/create", {
            "tenantId": "acme", "poolId": pool, "gpuCount": 8, "gpusPerNode": 8, "durationSeconds": 3600, "idempotencyKey": "k0",
        }, token)
        self.assertIn(replayed.data["state"] if replayed.status == 200 else replayed.code, ("placed", "active", "QUOTA_EXCEEDED"))
        wait_for(lambda: all(node["connection"] == "ready" for node in post(again.url, "nodes/list", {"tenantId": "acme", "limit": 200}, token).data["items"]), "nodes are back")
        self.assertEqual(deployment.cli("doctor").status, 0)


both_engines(globals(), Capacity)

if __name__ == "__main__":
    unittest.main(verbosity=2)
