"""A fleet as one document: planned, applied, exported and pruned from the command line; and killed at every step of an apply."""

import json
import os
import pty
import subprocess
import unittest

import fleet
from harness import BINARY, EngineCase, both_engines, post

# Every place between two steps of an apply, in the order of the way, and whether the change is committed there.
FAIL_POINTS = {
    "fleet.apply.planned": False,
    "fleet.apply.checked": False,
    "fleet.apply.checked:3": False,
    "fleet.apply.invoked": False,
    "fleet.apply.invoked:5": False,
    "fleet.apply.before-commit": False,
    "fleet.apply.committed": True,
}


class Fleet(EngineCase):
    __test__ = False

    def prepare(self):
        deployment = self.make("")
        self.assertEqual(deployment.cli("migrate").status, 0)
        deployment.apply({"version": 1, "tenants": [{"id": "acme"}]})
        self.token = deployment.tenant("root", "fleet-ops")
        return deployment

    def write(self, deployment, document, name="fleet.json"):
        path = os.path.join(deployment.dir, name)
        with open(path, "w", encoding="utf-8") as file:
            json.dump(document, file, indent=2)
        return path

    def fleet(self, deployment, *args, env=None, status=0):
        done = deployment.cli("fleet", *args, token=self.token, env=env)
        self.assertEqual(done.status, status, done.out + done.err)
        return done

    def test_the_whole_way_over_http(self):
        deployment = self.prepare()
        url = {"BETTER_COMPUTE_URL": deployment.serve().url}
        document = fleet.document("acme")
        self.assertLess(len(json.dumps(document)), 65536)
        file = self.write(deployment, document)

        planned = self.fleet(deployment, "plan", file, env=url)
        self.assertTrue(planned.out.startswith("fleet of tenant acme: 5 to create\n"), planned.out)
        self.assertIn("  + pool openb\n", planned.out)
        rows, _ = fleet.nodes()
        gpus = sum(row[2] for row in rows)
        self.assertIn(f"nodeGroups: 15 groups, {len(rows)} nodes, {gpus} GPUs", planned.out)
        self.assertNotIn("\x1b", planned.out)
        plan = self.fleet(deployment, "plan", file, "--json", env=url).json
        self.assertEqual([call["path"] for call in plan["calls"]], ["projects/create"] * 2 + ["pools/create"] + ["quotas/set"] * 2)
        self.fleet(deployment, "plan", file, "--exit-code", env=url, status=1)

        applied = self.fleet(deployment, "apply", file, "--expected-plan-hash", plan["planHash"], "--json", env=url)
        self.assertEqual(applied.json["applied"], 5)
        self.assertEqual(self.fleet(deployment, "plan", file, "--exit-code", env=url).out.splitlines()[0], "fleet of tenant acme: nothing to do")
        again = self.fleet(deployment, "apply", file, env=url)
        self.assertIn("nothing to do", again.out)

        exported = os.path.join(deployment.dir, "exported.json")
        done = self.fleet(deployment, "export", "--tenant", "acme", exported, env=url)
        self.assertIn(f"{len(rows)} of its nodes have not joined yet", done.err)
        self.fleet(deployment, "plan", exported, "--exit-code", "--prune", env=url)
        with open(exported, encoding="utf-8") as text:
            self.assertEqual(len(json.load(text)["pools"][0]["nodeGroups"]), 15)

        smaller = self.write(deployment, {**document, "quotas": document["quotas"][:1], "projects": []}, "smaller.json")
        self.fleet(deployment, "plan", smaller, "--exit-code", env=url)
        pruned = self.fleet(deployment, "apply", smaller, "--prune", "--yes", env=url)
        self.assertIn("  - project vision\n", pruned.out)
        self.assertIn("applied 3 changes", pruned.out)

    def test_on_the_database_itself(self):
        deployment = self.prepare()
        file = self.write(deployment, fleet.document("acme"))

        self.fleet(deployment, "apply", file, "--yes")

        text = self.fleet(deployment, "export", "--tenant", "acme", "--quiet").out
        self.assertEqual(json.loads(text)["tenantId"], "acme")
        done = deployment.cli("fleet", "plan", "-", "--exit-code", token=self.token, stdin=text)
        self.assertEqual(done.status, 0, done.out + done.err)

    def test_refusals_say_what_to_do(self):
        deployment = self.prepare()
        url = {"BETTER_COMPUTE_URL": deployment.serve().url}
        document = fleet.document("acme")
        file = self.write(deployment, document)
        stale = self.fleet(deployment, "plan", file, "--json", env=url).json["planHash"]

        in_a_script = self.fleet(deployment, "apply", file, env=url, status=2)
        self.assertIn("--yes or --expected-plan-hash", in_a_script.err)
        self.fleet(deployment, "apply", file, "--yes", "--quiet", env=url)
        drifted = self.fleet(deployment, "apply", file, "--expected-plan-hash", stale, env=url, status=1)
        self.assertIn("CONFIG_DRIFT: expectedPlanHash", drifted.err)

        blocked = self.write(deployment, {**document, "quotas": [{"project": "nobody", "limits": {"gpuMilli": 1}}]}, "blocked.json")
        self.assertIn("  ! quota project nobody: there is no project nobody", self.fleet(deployment, "plan", blocked, env=url, status=1).out)
        self.assertIn("INVALID_STATE", self.fleet(deployment, "apply", blocked, "--yes", env=url, status=1).err)

        broken = os.path.join(deployment.dir, "broken.json")
        with open(broken, "w", encoding="utf-8") as text:
            text.write('{"version": 1, "version": 1}')
        self.assertRegex(self.fleet(deployment, "plan", broken, env=url, status=1).err, r"INVALID_INPUT: .*broken\.json: ")
        self.assertIn("absent.json", self.fleet(deployment, "plan", "absent.json", env=url, status=1).err)
        unknown = self.write(deployment, {**document, "nodes": []}, "unknown.json")
        self.assertIn("Unknown field document.nodes", self.fleet(deployment, "plan", unknown, env=url, status=1).err)
        self.fleet(deployment, "plan", status=2)
        self.assertIn("did you mean", self.fleet(deployment, "plna", file, status=2).err.lower())

        deployment_token, self.token = self.token, deployment.tenant("acme", "tenant-admin")
        self.assertIn("ACCESS_DENIED", self.fleet(deployment, "plan", file, env=url, status=1).err)
        self.token = deployment_token

    def test_a_person_is_asked(self):
        deployment = self.prepare()
        file = self.write(deployment, fleet.document("acme"))

        status, text = self.on_a_terminal(deployment, ["fleet", "apply", file], b"n\n")
        self.assertEqual(status, 1, text)
        self.assertIn("nothing was applied", text)
        self.assertIn("\x1b[32m+ pool openb", text)
        status, text = self.on_a_terminal(deployment, ["fleet", "apply", file], b"y\n")
        self.assertEqual(status, 0, text)
        self.assertIn("applied 5 changes", text)

    def on_a_terminal(self, deployment, args, answer):
        main, other = pty.openpty()
        env = deployment.env({"BETTER_COMPUTE_CONFIG": deployment.config, "BETTER_COMPUTE_TOKEN": self.token, "TERM": "xterm"})
        env.pop("NO_COLOR", None)
        process = subprocess.Popen([BINARY, *args], stdin=other, stdout=other, stderr=other, env=env, cwd=deployment.dir)
        os.close(other)
        os.write(main, answer)
        text = b""
        while True:
            try:
                part = os.read(main, 65536)
            except OSError:
                break
            if not part:
                break
            text += part
        os.close(main)
        return process.wait(60), text.decode()

    def crash_at(self, point, is_committed):
        deployment = self.prepare()
        doomed = deployment.serve(env={"BETTER_COMPUTE_FAIL_POINT": point})
        document = fleet.document("acme")
        with self.assertRaises(OSError):
            post(doomed.url, "fleet/apply", {"document": document}, self.token)
        doomed.wait_killed()

        url = deployment.serve().url
        exported = post(url, "fleet/export", {"tenantId": "acme"}, self.token).data["document"]
        made = [len(exported[kind]) for kind in ("pools", "projects", "quotas")]
        self.assertEqual(made, [1, 2, 2] if is_committed else [0, 0, 0])
        events = deployment.sql("select type from outbox_events where tenant_id = 'acme'")
        audited = deployment.sql("select method from audit_events where method in ('projects/create', 'pools/create', 'quotas/set')")
        marks = deployment.sql("select key from fleet_objects")
        self.assertEqual((len(events), len(audited), len(marks)), (6, 5, 5) if is_committed else (0, 0, 0))

        retried = post(url, "fleet/apply", {"document": document}, self.token).data
        self.assertEqual(retried["applied"], 0 if is_committed else 5)
        self.assertEqual(post(url, "fleet/plan", {"document": document}, self.token).data["calls"], [])
        self.assertEqual(len(deployment.sql("select type from outbox_events where type = 'fleet.applied'")), 1)


def add(point, is_committed):
    def test(self):
        self.crash_at(point, is_committed)

    setattr(Fleet, "test_killed_at_" + point.replace(".", "_").replace("-", "_").replace(":", "_"), test)


for name, committed in FAIL_POINTS.items():
    add(name, committed)

both_engines(globals(), Fleet)

if __name__ == "__main__":
    unittest.main(verbosity=2)
