"""The life of an outage as an operator lives it: only commands, their exit statuses and their JSON."""

import json
import os
import pty
import signal
import subprocess
import time
import unittest

from harness import BINARY, EngineCase, both_engines, wait_for


class Operator(EngineCase):
    """A deployment with tenants whose webhooks end at one receiver, which is down (410) until `mend`."""

    __test__ = False

    def begin(self, pools):
        self.deployment = self.make()
        self.down = True
        self.endpoint = self.receiver(lambda delivery: 410 if self.down else 204)
        self.daemon = self.deployment.serve()
        self.tokens = {}
        for tenant, count in pools.items():
            self.tokens[tenant] = self.deployment.tenant(tenant)
            self.api(tenant, "webhooks.create", f"url={self.endpoint.url}", "events[]=pool.*")
            for i in range(count):
                self.api(tenant, "pools.create", f"name=pool-{i}", url=self.daemon.url)
        wait_for(lambda: self.counts("dead") == pools, "every delivery is dead")

    def api(self, tenant, method, *words, url=None):
        extra = ["--url", url] if url else []
        done = self.deployment.cli("api", method, f"tenantId={tenant}", *words, "--json", *extra, token=self.tokens[tenant])
        self.assertEqual(done.status, 0, done.err)
        return done.json

    def ask(self, *args, status=0, **kwargs):
        """The JSON a command prints, after its exit status was as expected."""
        done = self.deployment.cli(*args, "--json", **kwargs)
        self.assertEqual(done.status, status, f"{args}: {done.out} {done.err}")
        return done.json

    def refused(self, status, code, *args, **kwargs):
        done = self.deployment.cli(*args, **kwargs)
        self.assertEqual((done.status, done.err.split(":")[0], done.out), (status, code, ""), done.err)
        return done.err

    def deployment_file(self, name, text):
        path = os.path.join(self.deployment.dir, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(path, 0o600)
        return path

    def counts(self, what):
        return {row["tenantId"]: row[what] for row in self.ask("webhooks", "list")["items"]}

    def dead_ids(self, tenant):
        return [row["id"] for row in self.ask("webhooks", "deliveries", "--tenant", tenant, "--state", "dead", "--limit", "200")["items"]]

    def start(self, *args):
        return subprocess.Popen(
            [BINARY, *args], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env=self.deployment.env({"BETTER_COMPUTE_CONFIG": self.deployment.config}), cwd=self.deployment.dir,
        )

    def on_a_terminal(self, answer, *args):
        """Runs a command on a terminal of its own, where somebody types `answer`; its exit status and what it wrote."""
        master, slave = pty.openpty()
        env = self.deployment.env({"BETTER_COMPUTE_CONFIG": self.deployment.config})
        with subprocess.Popen(
            [BINARY, *args], stdin=slave, stdout=slave, stderr=slave, env=env, cwd=self.deployment.dir
        ) as process:
            os.close(slave)
            os.write(master, answer.encode() + b"\n")
            text = b""
            while True:
                try:
                    text += os.read(master, 65536)
                except OSError:  # how the end of a terminal shows
                    break
        os.close(master)
        return process.returncode, text.decode()

    def interrupt(self, *args):
        """Runs a redelivery by filter until its first batch is through, then SIGINT; returns its result and its job's id."""
        before = {job["id"] for job in self.ask("webhooks", "jobs", "list")["items"]}

        def begun():
            jobs = [j for j in self.ask("webhooks", "jobs", "list")["items"] if j["id"] not in before and j["redelivered"] > 0]
            return jobs and jobs[0]

        process = self.start("webhooks", "redeliver", *args, "--yes", "--json")
        job = wait_for(begun, "the first batch")
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 1, err)
        self.assertIn("webhooks jobs resume " + job["id"], err)
        return json.loads(out), job["id"]

    def mend(self):
        self.down = False


class Outage(Operator):
    __test__ = False

    def test_from_the_first_dead_letter_to_the_proof(self):
        self.begin({"acme": 12, "rival": 3})
        self.look_at_it()
        self.dry_runs()
        self.mend()
        self.by_id()
        self.by_filter()
        self.afterwards()

    def look_at_it(self):
        report = self.ask("doctor")
        letters = [f for f in report["findings"] if f["check"] == "events.webhook-dead-letters"]
        self.assertEqual([(f["severity"], f["count"]) for f in letters], [("warning", 15)])
        self.assertTrue(report["ok"])
        one = self.ask("doctor", "--strict", "--check", "events.webhook-dead-letters", status=1)
        self.assertEqual((one["checks"], len(one["findings"])), (["events.webhook-dead-letters"], 1))

        for check in report["checks"]:
            self.assertEqual(self.ask("doctor", "--check", check)["checks"], [check])

        self.assertEqual(len(self.ask("webhooks", "list", "--tenant", "acme")["items"]), 1)
        self.refused(2, "INVALID_INPUT", "webhooks", "list", "--url", self.daemon.url, token=self.tokens["acme"])
        over_http = self.ask("webhooks", "list", "--tenant", "acme", "--url", self.daemon.url, token=self.tokens["acme"])
        self.assertEqual(len(over_http["items"]), 1)

        first = self.ask("webhooks", "deliveries", "--tenant", "acme", "--limit", "8")
        rest = self.ask("webhooks", "deliveries", "--tenant", "acme", "--limit", "8", "--cursor", first["nextCursor"])
        self.assertEqual((len(first["items"]), len(rest["items"]), "nextCursor" in rest), (8, 4, False))
        told = self.ask("webhooks", "explain", first["items"][0]["id"])
        self.assertEqual([a["status"] for a in told["attempts"]], [410])
        self.assertEqual((told["delivery"]["state"], told["webhook"]["url"]), ("dead", self.endpoint.url))
        self.refused(1, "NOT_FOUND", "webhooks", "explain", "dlv_00000000000000000000000000")

    def dry_runs(self):
        def run(*args, status=0, **kwargs):
            answer = self.ask("webhooks", "redeliver", *args, "--dry-run", status=status, **kwargs)
            self.assertEqual((answer["dryRun"], answer["redelivered"], "jobId" in answer), (True, 0, False))
            return answer

        self.assertEqual(run("--all-tenants")["matched"], 15)
        self.assertEqual(run("--tenant", "acme")["matched"], 12)
        self.assertEqual(run("--tenant", "acme", "--limit", "5")["matched"], 5)
        self.assertEqual(run("--tenant", "acme", "--type", "pool.created", "--since", "1h")["matched"], 12)
        self.assertEqual(run("--tenant", "acme", "--type", "node.*", status=1)["matched"], 0)
        self.assertEqual(run("--tenant", "acme", "--until", "1h", status=1)["matched"], 0)
        self.assertEqual(run("--tenant", "acme", "--state", "delivered", "--state", "cancelled", status=1)["matched"], 0)
        webhook = self.ask("webhooks", "list", "--tenant", "rival")["items"][0]["id"]
        self.assertEqual(run("--all-tenants", "--webhook", webhook)["matched"], 3)

        mine, foreign = self.dead_ids("acme")[0], self.dead_ids("rival")[0]
        self.assertEqual(run(mine, foreign)["matched"], 2)
        for extra, token in ([], None), (["--url", self.daemon.url], self.tokens["acme"]):
            answer = run(mine, foreign, "--tenant", "acme", *extra, status=1, token=token)
            self.assertEqual((answer["matched"], [s["id"] for s in answer["skipped"]]), (1, [foreign]))
            self.assertEqual(answer["skipped"][0]["code"], "NOT_FOUND")
        over_http = run("--tenant", "acme", "--limit", "7", "--url", self.daemon.url, token=self.tokens["acme"])
        self.assertEqual(over_http["matched"], 7)
        self.refused(2, "INVALID_INPUT", "webhooks", "redeliver", "--tenant", "acme")
        status, text = self.on_a_terminal("n", "webhooks", "redeliver", "--tenant", "acme")
        self.assertIn("send 12 deliveries again? [y/N]", text)
        self.assertEqual((status, "INVALID_STATE: nothing was sent again" in text), (1, True), text)
        self.assertEqual(self.counts("dead"), {"acme": 12, "rival": 3})

    def by_id(self):
        ids = self.dead_ids("acme")
        begin = time.monotonic()
        answer = self.ask("webhooks", "redeliver", *ids[:3], ids[0], "--rate", "5")
        self.assertGreaterEqual(time.monotonic() - begin, 0.4)
        self.assertEqual((answer["matched"], answer["redelivered"], answer["skipped"]), (3, 3, []))
        over_http = self.ask(
            "webhooks", "redeliver", ids[3], "--tenant", "acme", "--url", self.daemon.url, token=self.tokens["acme"]
        )
        self.assertEqual(over_http["redelivered"], 1)
        wait_for(lambda: self.counts("dead")["acme"] == 8 and self.counts("pending")["acme"] == 0, "four are delivered")

    def by_filter(self):
        interrupted, job = self.interrupt("--tenant", "acme", "--rate", "3")
        self.assertEqual(interrupted["jobId"], job)
        self.assertLess(interrupted["redelivered"], 8)
        shown = self.ask("webhooks", "jobs", "show", job)
        self.assertEqual((shown["state"], shown["filter"]["tenantId"]), ("running", "acme"))
        resumed = self.ask("webhooks", "jobs", "resume", job, "--rate", "1000")
        self.assertEqual((resumed["matched"], resumed["redelivered"], resumed["jobId"]), (8, 8, job))
        self.assertEqual(self.ask("webhooks", "jobs", "show", job)["state"], "done")

        _, cancelled = self.interrupt("--all-tenants", "--rate", "1")
        self.assertEqual(self.ask("webhooks", "jobs", "cancel", cancelled)["state"], "cancelled")
        self.refused(1, "INVALID_STATE", "webhooks", "jobs", "resume", cancelled)
        self.refused(1, "INVALID_STATE", "webhooks", "jobs", "cancel", job)
        self.refused(1, "NOT_FOUND", "webhooks", "jobs", "show", "rdj_00000000000000000000000000")
        left = 3 - self.ask("webhooks", "jobs", "show", cancelled)["redelivered"]
        over_http = self.ask(
            "webhooks", "redeliver", "--tenant", "rival", "--yes", "--rate", "1000", "--url", self.daemon.url,
            token=self.tokens["rival"], status=0 if left else 1,
        )
        self.assertEqual(over_http["redelivered"], left)

    def afterwards(self):
        delivered = {"acme": 0, "rival": 0}
        wait_for(lambda: self.counts("dead") == delivered and self.counts("pending") == delivered, "all are delivered")
        self.assertEqual([f for f in self.ask("doctor")["findings"] if f["check"].startswith("events.webhook-")], [])
        proof = self.ask("webhooks", "proof", "--since", "1h")
        self.assertEqual((proof["ok"], proof["expected"], proof["found"], proof["gaps"]), (True, 15, 15, []))
        self.assertEqual(self.ask("webhooks", "proof", "--since", "1h", "--tenant", "rival")["expected"], 3)
        times = [d.id for d in self.endpoint.seen()]
        self.assertEqual((len(times), len(set(times))), (30, 15))

        rows = self.ask("audit", "list", "--action", "redeliveryJobs/*")["items"]
        self.assertEqual(
            [row["method"].split("/")[1] for row in reversed(rows)], ["create", "resume", "create", "cancel"]
        )
        self.assertTrue(all(row["actor"]["identityId"].startswith("os:") for row in rows))
        batches = self.ask("audit", "list", "--tenant", "acme", "--action", "webhooks/redeliver")["items"]
        self.assertEqual(sum(row.get("admission", {}).get("redelivered", 1) for row in batches), 12)
        own = self.ask("audit", "list", "--actor", "ops", "--tenant", "acme", "--action", "compute:pools:*", "--limit", "5")
        self.assertEqual([row["method"] for row in own["items"]], ["pools/create"] * 5)
        self.assertEqual(self.ask("audit", "list", "--action", "compute:POOLS:*")["items"], [])
        one = self.ask("audit", "list", "--request", own["items"][0]["requestId"], "--since", "1h")["items"]
        self.assertEqual(one, own["items"][:1])


class Keeping(Operator):
    """Secrets, copies, migrations."""

    __test__ = False

    def configure(self, secret, previous=()):
        with open(self.deployment.config, encoding="utf-8") as file:
            lines = [line for line in file.read().splitlines() if not line.startswith(("secret", "previous_secrets"))]
        with open(self.deployment.config, "w", encoding="utf-8") as file:
            file.write("\n".join([f'secret = "{secret}"', f"previous_secrets = {json.dumps(list(previous))}", *lines]) + "\n")

    def finding(self, check, **kwargs):
        return [f["severity"] for f in self.ask("doctor", "--check", check, **kwargs)["findings"]]

    def test_a_new_deployment_secret(self):
        self.begin({"acme": 1})
        self.mend()
        self.assertEqual(self.daemon.stop(), 0)
        old, new = self.deployment.secret, "another-deployment-secret-" + "n" * 20
        # The webhook's secret, and the key of the audit trail once its reconciler has made one.
        sealed = 1 + int(self.deployment.sql("select count(*) from audit_keys")[0][0])

        self.configure(new)
        self.assertEqual(self.finding("events.unreadable-secrets", status=1), ["error"])
        lost = self.ask("secrets", "rotate", status=1)
        self.assertEqual((lost["resealed"], lost["remaining"]), (0, sealed))

        self.configure(new, [old])
        self.assertEqual(self.finding("events.unreadable-secrets"), [])
        self.assertEqual(self.finding("events.secret-rotation-pending"), ["warning"])
        self.assertEqual(self.ask("secrets", "rotate", "--dry-run")["remaining"], sealed)
        done = self.ask("secrets", "rotate")
        self.assertEqual((done["resealed"], done["remaining"]), (sealed, 0))
        self.assertEqual(self.ask("secrets", "rotate")["resealed"], 0)
        rows = self.ask("audit", "list", "--action", "secrets/*")["items"]  # one for webhooks' secrets, one for the trail's keys
        self.assertEqual(len(rows), 2 if sealed > 1 else 1)

        self.configure(new)
        self.assertEqual(self.finding("events.unreadable-secrets"), [])
        self.daemon = self.deployment.serve()
        self.ask("webhooks", "redeliver", "--tenant", "acme", "--yes")
        wait_for(lambda: self.counts("dead") == {"acme": 0} and self.counts("pending") == {"acme": 0}, "delivered")

    def test_a_copy_is_as_good_as_the_original(self):
        self.begin({"acme": 3})
        self.mend()
        copy = os.path.join(self.deployment.dir, "copy.db")
        if self.engine == "postgres":
            err = self.refused(1, "UNSUPPORTED", "backup", copy)
            self.assertIn("pg_dump", err)
            self.restore_dump()
        else:
            self.assertGreater(self.ask("backup", copy)["bytes"], 0)
            self.assertEqual(self.daemon.stop(), 0)
            self.use("sqlite:" + copy)
        self.assertEqual(self.ask("migrate", "verify")["ok"], True)
        self.daemon = self.deployment.serve()
        self.assertEqual(self.counts("dead"), {"acme": 3})
        self.ask("webhooks", "redeliver", "--tenant", "acme", "--yes")
        self.api("acme", "pools.create", "name=after", url=self.daemon.url)
        wait_for(lambda: len(self.endpoint.ids()) == 4 and self.counts("pending") == {"acme": 0}, "old and new are delivered")
        self.assertTrue(self.ask("webhooks", "proof", "--since", "1h")["ok"])

    def use(self, database):
        with open(self.deployment.config, encoding="utf-8") as file:
            text = file.read().replace(self.deployment.database, database)
        with open(self.deployment.config, "w", encoding="utf-8") as file:
            file.write(text)
        self.deployment.database = database

    def restore_dump(self):
        self.assertEqual(self.daemon.stop(), 0)
        dump, name = os.path.join(self.deployment.dir, "dump"), self.deployment._name + "_copy"
        subprocess.run(["pg_dump", "--format=custom", "--file=" + dump, self.deployment.database], check=True)
        self.deployment._psql(self.deployment._admin, f"create database {name}")
        self.addCleanup(self.deployment._psql, self.deployment._admin, f"drop database {name} with (force)")
        copy = self.deployment.database.replace(self.deployment._name, name)
        subprocess.run(["pg_restore", "--no-owner", "--dbname=" + copy, dump], check=True)
        self.use(copy)

    def test_migrations(self):
        self.deployment = self.make()
        if self.engine == "sqlite":
            status = self.ask("migrate", "status", status=1)
            self.assertEqual(status["applied"], [])
            self.assertIn("events/0001_webhooks", [one["name"] for one in status["pending"]])
            planned = self.ask("migrate", "--dry-run")["pending"]
            self.assertEqual([one["name"] for one in planned], [one["name"] for one in status["pending"]])
            self.assertIn("create table", planned[0]["sql"].lower())
            self.ask("migrate", "status", status=1)
            self.assertEqual(len(self.ask("migrate")["applied"]), len(planned))
        self.assertEqual(self.ask("migrate", "up")["applied"], [])
        status = self.ask("migrate", "status")
        self.assertEqual(status["pending"], [])
        self.assertEqual(self.ask("migrate", "--dry-run")["pending"], [])
        self.assertTrue(self.ask("migrate", "verify")["ok"])
        rows = self.ask("audit", "list", "--action", "migrate/up")["items"]
        self.assertEqual([len(row["admission"]["applied"]) for row in rows], [len(status["applied"])])


class Access(Operator):
    """Who may do what, and what a method is told."""

    __test__ = False

    def test_every_form_of_the_input_and_of_the_answer(self):
        self.deployment = self.make()
        self.daemon = self.deployment.serve()
        token = self.tokens = self.deployment.tenant("acme")
        self.deployment_file("labels.json", '{"row": "7"}')
        for place in ([], ["--url", self.daemon.url], ["--url", self.daemon.url + "/api/compute/"]):
            name = f"h100-{len(place)}-{len(''.join(place))}"

            def call(*args, status=0, stdin=None, place=place):
                done = self.deployment.cli("api", *args, *place, token=token, stdin=stdin)
                self.assertEqual(done.status, status, f"{args} {done.err}")
                return done.out

            made = json.loads(call(
                "pools.create", "tenantId=acme", f"name={name}", "labels:=@labels.json", "labels.zone=b", "cleanupSeconds:=5"
            ))
            self.assertEqual((made["labels"], made["cleanupSeconds"]), ({"row": "7", "zone": "b"}, 5))
            data = json.dumps({"tenantId": "acme", "poolId": made["id"]})
            self.assertEqual(call("pools.get", "--data", data, "--query", "name"), name + "\n")
            self.assertEqual(call("pools.get", "--data", "-", "--query", "labels", "--json", stdin=data), '{"row":"7","zone":"b"}\n')
            self.assertEqual(call("pools/get", "tenantId=acme", "poolId=" + made["id"], "--query", "version"), "1\n")
            self.assertIn(name + "\n", call("pools.list", "tenantId=acme", "--query", "items[].name"))
            self.assertEqual(len(call("pools.list", "tenantId=acme", "--format", "compact").splitlines()), 1)
            table = call("pools.list", "tenantId=acme", "--format", "table").splitlines()
            self.assertIn("name", table[0].split())
            call("pools.list", "tenantId=acme", "--query", "items[].nothing", status=1)
            call("pools.get", "tenantId", status=2)
            call("pools.lst", "tenantId=acme", status=1)
            missing = self.deployment.cli("api", "pools.get", "tenantId=acme", *place, token=token)
            self.assertEqual((missing.status, missing.err.split("\n")[0][:22]), (1, "INVALID_INPUT: poolId:"))
            taken = self.deployment.cli("api", "pools.create", "tenantId=acme", f"name={name}", *place, token=token)
            self.assertEqual((taken.status, taken.err[:9]), (1, "CONFLICT:"))
            self.assertEqual(json.loads(taken.err.split("Details: ")[1])["reason"], "name-taken")
        elsewhere = self.deployment.cli("api", "pools.list", "tenantId=acme", "--url", "http://compute.invalid", token=token)
        self.assertEqual(elsewhere.status, 1)
        self.assertIn("warning: the token goes to compute.invalid unencrypted", elsewhere.err)
        nobody = self.deployment.cli("api", "pools.list", "tenantId=acme", "--url", self.daemon.url, token="bct_service_wrong")
        self.assertEqual((nobody.status, nobody.err[:15]), (1, "UNAUTHENTICATED"))

    def test_identities_and_tokens(self):
        self.deployment = self.make()
        self.daemon = self.deployment.serve()
        self.deployment.tenant("acme")
        made = self.ask("iam", "tokens", "create", "--tenant", "acme", "--identity", "ops", "--expires", "30d")
        token_file = self.deployment_file("ops.token", made["token"])

        def calls():
            # In process: a server may trust what it has just seen for half a minute.
            return self.deployment.cli("api", "pools.list", "tenantId=acme", token=made["token"]).err[:15]

        def explained(action, resource, status):
            return self.ask("iam", "explain", "--token-file", token_file, action, resource, status=status)

        self.assertTrue(explained("compute:pools:create", "compute-tenant/acme", 0)["allowed"])
        self.assertFalse(explained("iam:tokens:create", "compute-tenant/acme", 1)["allowed"])
        self.assertEqual(calls(), "")
        for what, name in ("identity", "acme/ops"), ("tenant", "acme"):
            self.assertEqual(self.deployment.cli("iam", "disable", what, name).status, 0)
            self.assertNotEqual(calls(), "")
            self.assertEqual(self.deployment.cli("iam", "enable", what, name).status, 0)
            self.assertEqual(calls(), "")
        document = self.ask("iam", "export")
        self.deployment_file("iam.json", json.dumps(document))
        self.assertEqual(self.ask("iam", "apply", "iam.json", "--dry-run", "--prune")["changes"], [])
        self.refused(1, "NOT_FOUND", "iam", "tokens", "create", "--tenant", "acme", "--identity", "nobody")
        listed = self.ask("iam", "tokens", "list", "--tenant", "acme", "--identity", "ops")["items"]
        self.assertIn(made["id"], [row["id"] for row in listed])
        self.assertNotIn(made["token"], json.dumps(listed))
        self.assertEqual(self.deployment.cli("iam", "tokens", "revoke", made["id"]).status, 0)
        self.assertEqual(calls(), "UNAUTHENTICATED")
        self.refused(1, "UNAUTHENTICATED", "iam", "explain", "--token-file", token_file, "compute:pools:list", "compute-tenant/acme")

    def test_an_agent_asks_and_a_person_rules(self):
        self.deployment = self.make()
        self.daemon = self.deployment.serve()
        self.deployment.tenant("acme")
        self.deployment.apply({
            "version": 1,
            "identities": [{"tenant": "acme", "id": "bot", "kind": "agent", "policies": ["ops"]}],
            "delegations": [{
                "id": "dlg_1", "tenant": "acme", "agent": "bot", "subject": "ops", "scopes": ["compute:*"],
                "confirm": ["compute:webhooks:manage"], "maxSeconds": 3600,
            }],
        })
        bot = self.ask("iam", "tokens", "create", "--tenant", "acme", "--identity", "bot", "--delegation", "dlg_1")["token"]
        self.deployment_file("bot.token", bot)
        explained = self.ask("iam", "explain", "--token-file", "bot.token", "compute:webhooks:manage", "compute-tenant/acme", status=1)
        self.assertEqual((explained["allowed"], explained["held"]), (False, True))

        for ruling, state in ("deny", "denied"), ("approve", "approved"):
            words = ("webhooks.create", "tenantId=acme", f"url={self.receiver().url}", "events[]=pool.*")
            held = self.deployment.cli("api", *words, token=bot)
            self.assertEqual((held.status, held.err.split(":")[0]), (1, "CONFIRMATION_REQUIRED"), held.err)
            pending = self.ask("iam", "confirmations", "list", "--state", "pending", "--tenant", "acme")["items"]
            self.assertEqual(
                [(row["action"], row["id"]) for row in pending],
                [("compute:webhooks:manage", json.loads(held.err.split("Details: ")[1])["confirmationId"])],
            )
            self.assertEqual(self.ask("iam", "confirmations", ruling, pending[0]["id"])["state"], state)
            again = self.deployment.cli("api", *words, "--url", self.daemon.url, token=bot)
            self.assertEqual(again.status, 1 if ruling == "deny" else 0, again.err)
        self.assertEqual(len(self.ask("webhooks", "list")["items"]), 1)

    def test_where_a_delivery_may_go(self):
        endpoint = self.receiver()
        for settings, ok in ((None, True), ("", False)):
            self.deployment = self.make() if settings is None else self.make(settings)
            answer = self.ask("webhooks", "check", endpoint.url, status=0 if ok else 1)
            self.assertEqual(answer["ok"], ok)
        self.assertEqual(endpoint.seen(), [])


both_engines(globals(), Outage)
both_engines(globals(), Keeping)
both_engines(globals(), Access)
del Operator

if __name__ == "__main__":
    unittest.main(verbosity=2)
