"""The audit trail from outside: sealed beside a daemon, tampered with in the database, verified and proved by commands alone."""

import base64
import hashlib
import json
import os
import sqlite3
import struct
import subprocess
import unittest

from harness import EngineCase, both_engines, post, wait_for

# The columns of a row in the order in which they are hashed; docs/audit.md says the same.
COLUMNS = (
    "id time tenantId identityId identityKind actorTenantId sessionId sessionKind agentId delegationId method action resourceType resourceId"
    " decisionReason admission requestId sourceIp parentId"
).split()
CHECKPOINT = "number seal tenantId tenantNumber from to firstTime lastTime sealedAt rows root previous tenantPrevious keyId".split()
SEAL_POINTS = ("audit-seal-before-write", "audit-seal-before-commit", "audit-seal-after-commit")


def fields(*values):
    """Each value behind its length; None is the length 0xFFFFFFFF."""
    out = b""
    for value in values:
        raw = value if isinstance(value, bytes) else None if value is None else str(value).encode()
        out += struct.pack(">I", 0xFFFFFFFF if raw is None else len(raw)) + (raw or b"")
    return out


def sha256(data):
    return hashlib.sha256(data).digest()


def root_of(leaf, index, size, path):
    """RFC 9162, section 2.1.3.2, from its text."""
    place, last, node = index, size - 1, leaf
    for beside in path:
        if place % 2 == 1 or place == last:
            node = sha256(b"\x01" + beside + node)
            while place % 2 == 0 and place != 0:
                place, last = place >> 1, last >> 1
        else:
            node = sha256(b"\x01" + node + beside)
        place, last = place >> 1, last >> 1
    return node if last == 0 else None


def unpadded(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def holds_by_other_means(proof, folder):
    """Whether a proof holds, judged with hashlib and the openssl program instead of ours."""
    row, checkpoint = proof["row"], proof["checkpoint"]
    digest = sha256(fields("better-compute/audit-row/v1", row["position"], *[row.get(name) for name in COLUMNS]))
    leaf = sha256(b"\x00" + fields(row["id"], digest))
    root = root_of(leaf, proof["index"], checkpoint["rows"], [bytes.fromhex(one) for one in proof["path"]])
    message = fields("better-compute/audit-checkpoint/v1", *[checkpoint[name] for name in CHECKPOINT])
    files = {
        "key.der": bytes.fromhex("302a300506032b6570032100") + unpadded(proof["publicKey"]),
        "message": message,
        "signature": unpadded(checkpoint["signature"]),
    }
    for name, data in files.items():
        with open(os.path.join(folder, name), "wb") as file:
            file.write(data)
    signed = subprocess.run(
        ["openssl", "pkeyutl", "-verify", "-pubin", "-keyform", "DER", "-inkey", "key.der", "-rawin", "-in", "message", "-sigfile", "signature"],
        cwd=folder, capture_output=True, check=False,
    )
    return root is not None and root.hex() == checkpoint["root"] and signed.returncode == 0


class Audit(EngineCase):
    __test__ = False

    def change(self, deployment, text):
        """What somebody with access to the database could do."""
        if self.engine == "postgres":
            deployment.sql(text)
            return
        connection = sqlite3.connect(deployment.database.removeprefix("sqlite:"), timeout=10)
        with connection:
            connection.execute(text)
        connection.close()

    def make_trail(self, pools=4):
        deployment = self.make()
        if self.engine == "sqlite":
            self.assertEqual(deployment.cli("migrate", "--quiet").status, 0)
        token = deployment.tenant("acme")
        for i in range(pools):
            made = deployment.cli("api", "pools.create", "tenantId=acme", f"name=p{i}", token=token)
            self.assertEqual(made.status, 0, made.err)
        return deployment, token

    def verify(self, deployment, *args, status=0):
        done = deployment.cli("audit", "verify", "--json", *args)
        self.assertEqual(done.status, status, done.out + done.err)
        return done.json

    def rows_of(self, deployment):
        return deployment.cli("audit", "list", "--tenant", "acme", "--action", "pools/*", "--json").json["items"]

    def test_a_daemon_seals_and_commands_verify(self):
        deployment, token = self.make_trail(pools=2)
        before = self.verify(deployment)
        self.assertEqual(set(before), {"ok", "checkpoints", "rows", "unsealed", "faults"})
        self.assertEqual((before["ok"], before["checkpoints"], before["rows"], before["faults"]), (True, 0, 0, []))
        self.assertGreaterEqual(before["unsealed"], 4)

        first = deployment.serve()
        if self.engine == "postgres":
            deployment.serve()  # two processes, one trail
        wait_for(lambda: self.verify(deployment)["rows"] >= before["unsealed"], "the daemon seals what is there")
        post(first.url, "pools/create", {"tenantId": "acme", "name": "late"}, token).data

        self.assertEqual(self.verify(deployment)["unsealed"], 1)
        sealed = deployment.cli("audit", "seal", "--json")
        self.assertEqual((sealed.status, sealed.json), (0, {"rows": 1, "checkpoints": 1}), sealed.err)
        after = self.verify(deployment)
        self.assertEqual((after["ok"], after["unsealed"], after["rows"]), (True, 0, before["unsealed"] + 1))
        of_acme = self.verify(deployment, "--tenant", "acme")
        self.assertEqual((of_acme["rows"], of_acme["checkpoints"]), (3, 2))

    def test_what_was_tampered_with_is_named(self):
        deployment, _ = self.make_trail()
        self.assertEqual(deployment.cli("audit", "seal").status, 0)
        rows = self.rows_of(deployment)
        self.change(deployment, f"update audit_events set identity_id = 'mallory' where id = '{rows[1]['id']}'")
        self.change(deployment, f"delete from audit_events where id = '{rows[2]['id']}'")

        report = self.verify(deployment, status=1)
        self.assertFalse(report["ok"])
        self.assertEqual({fault["row"] for fault in report["faults"]}, {rows[1]["id"], rows[2]["id"]})
        self.assertEqual({set(fault) == {"row", "checkpoint", "message"} for fault in report["faults"]}, {True})
        people = deployment.cli("audit", "verify")
        self.assertEqual(people.status, 1)
        self.assertIn(f"row {rows[1]['id']}: was changed", people.out)
        self.assertIn(f"row {rows[2]['id']}: was removed", people.out)
        self.assertEqual(self.verify(deployment, "--tenant", "root")["faults"], [])

        self.change(deployment, "delete from audit_checkpoints where number = 1")
        self.assertIn(1, [fault.get("checkpoint") for fault in self.verify(deployment, status=1)["faults"]])

    def test_a_proof_holds_offline_and_by_other_means(self):
        deployment, _ = self.make_trail(pools=6)
        fresh = self.rows_of(deployment)[3]["id"]
        early = deployment.cli("audit", "prove", fresh)
        self.assertEqual((early.status, early.err[:13]), (1, "INVALID_STATE"))
        deployment.cli("audit", "seal")
        proof = deployment.cli("audit", "prove", fresh)
        self.assertEqual(proof.status, 0, proof.err)
        self.assertTrue(holds_by_other_means(proof.json, deployment.dir))
        forged = json.loads(proof.out)
        forged["row"]["method"] = "pools/delete"
        self.assertFalse(holds_by_other_means(forged, deployment.dir))

        def judged(text, *args):
            with open(os.path.join(deployment.dir, "proof.json"), "w", encoding="utf-8") as file:
                file.write(text)
            # Offline: neither a configuration nor a database that could be reached.
            return deployment.cli(
                "audit", "verify-proof", "proof.json", *args, env={"BETTER_COMPUTE_CONFIG": "/nonexistent.toml", "BETTER_COMPUTE_DATABASE_URL": "postgres://h.invalid/d"}
            )

        key = deployment.cli("audit", "key", "--json").json["keys"][0]
        self.assertEqual((key["trust"], key["inUse"]), ("vouched", True))
        self.assertEqual(judged(proof.out).status, 0)
        self.assertEqual(judged(proof.out, "--key", key["publicKey"]).status, 0)
        self.assertEqual(judged(json.dumps(forged)).status, 1)
        told = judged(proof.out, "--json").json
        self.assertEqual((told["ok"], told["row"], told["isKeyNamed"]), (True, fresh, False))
        self.assertEqual(judged("{").status, 1)
        unknown = deployment.cli("audit", "prove", "aud_none")
        self.assertEqual((unknown.status, unknown.err[:9]), (1, "NOT_FOUND"))

        made = deployment.cli("audit", "key", "--replace", "--json").json["keys"]
        self.assertEqual([one["inUse"] for one in made], [False, True])
        other = judged(proof.out, "--key", made[1]["publicKey"])
        self.assertEqual(other.status, 1)
        self.assertIn("not signed by the key you named", other.out)
        self.assertEqual(deployment.cli("audit", "seal", "--json").json, {"rows": 1, "checkpoints": 1})
        self.assertTrue(self.verify(deployment)["ok"])

    def test_a_rotated_secret_keeps_the_trail(self):
        deployment, _ = self.make_trail(pools=1)
        deployment.cli("audit", "seal")
        with open(deployment.config, encoding="utf-8") as file:
            old = file.read()
        fresh = "e2e-deployment-secret-" + "n" * 32

        def configure(text):
            with open(deployment.config, "w", encoding="utf-8") as file:
                file.write(text)

        configure(old.replace(deployment.secret, fresh))
        self.assertIn("no configured secret opens key", deployment.cli("audit", "verify").out)
        doctor = deployment.cli("doctor", "--check", "core.audit-seals", "--json")
        self.assertEqual((doctor.status, doctor.json["findings"][0]["severity"]), (1, "error"))
        deployment.cli("iam", "tokens", "create", "--tenant", "acme", "--identity", "ops")  # a row to seal
        refused = deployment.cli("audit", "seal")
        self.assertEqual((refused.status, refused.err[:14]), (1, "INVALID_CONFIG"), refused.out)

        configure(f'previous_secrets = ["{deployment.secret}"]\n' + old.replace(f'secret = "{deployment.secret}"', f'secret = "{fresh}"'))
        self.assertTrue(self.verify(deployment)["ok"])
        dry = deployment.cli("secrets", "rotate", "--dry-run", "--json").json
        self.assertEqual((dry["resealed"], dry["remaining"]), (0, 1))
        done = deployment.cli("secrets", "rotate", "--json").json
        self.assertEqual((done["resealed"], done["remaining"]), (1, 0))
        configure(old.replace(deployment.secret, fresh))
        self.assertTrue(self.verify(deployment)["ok"])
        self.assertEqual(deployment.cli("audit", "seal", "--json").json["rows"], 2, "the token's row and the rotation's")
        self.assertTrue(self.verify(deployment)["ok"])

    def test_a_sealer_that_dies_leaves_no_gap(self):
        deployment, token = self.make_trail(pools=1)
        self.assertEqual(deployment.cli("audit", "seal").status, 0)
        for i, point in enumerate(SEAL_POINTS):
            deployment.cli("api", "pools.create", "tenantId=acme", f"name=crash{i}", token=token)
            died = deployment.cli("audit", "seal", env={"BETTER_COMPUTE_FAIL_POINT": point})
            self.assertEqual(died.status, -9, point)
            is_sealed = point == "audit-seal-after-commit"
            self.assertEqual(self.verify(deployment)["unsealed"], 0 if is_sealed else 1, point)
            self.assertEqual(deployment.cli("audit", "seal", "--json").json["rows"], 0 if is_sealed else 1, point)
            self.assertTrue(self.verify(deployment)["ok"], point)

    def test_a_command_that_writes_first_after_a_restore_is_no_intruder(self):
        deployment, token = self.make_trail(pools=1)
        if self.engine == "postgres":
            # As data from a cluster whose transaction ids were a billion higher.
            deployment.sql("update outbox_state set txid_offset = 1000000000")
            deployment.cli("api", "pools.create", "tenantId=acme", "name=there", token=token)
            deployment.cli("audit", "seal")
            deployment.sql("update outbox_state set txid_offset = 0, system_identifier = '1'")
        else:
            deployment.cli("audit", "seal")
            self.assertEqual(deployment.cli("backup", "copy.db").status, 0)
            for suffix in ("", "-wal", "-shm"):
                if os.path.exists(deployment.database.removeprefix("sqlite:") + suffix):
                    os.remove(deployment.database.removeprefix("sqlite:") + suffix)
            os.rename(os.path.join(deployment.dir, "copy.db"), deployment.database.removeprefix("sqlite:"))
        made = deployment.cli("api", "pools.create", "tenantId=acme", "name=here", token=token)
        self.assertEqual(made.status, 0, made.err)

        self.assertEqual(self.verify(deployment)["unsealed"], 1)
        wait_for(lambda: deployment.cli("audit", "seal", "--json").json["rows"] == 1, "the row is sealed")
        self.assertTrue(self.verify(deployment)["ok"])

    def test_retention_prunes_sealed_rows_and_stays_verifiable(self):
        deployment, _ = self.make_trail(pools=2)
        # Before it is sealed a row may be anything: these are ten days old.
        self.change(deployment, "update audit_events set time = time - 864000000")
        deployment.cli("audit", "seal")
        kept = self.rows_of(deployment)[0]["id"]
        proof = deployment.cli("audit", "prove", kept).out
        with open(deployment.config, "a", encoding="utf-8") as file:
            file.write("[audit]\nretention_days = 1\n")
        doomed = deployment.serve(env={"BETTER_COMPUTE_FAIL_POINT": "audit-prune-before-commit"}, expect_ready=False)  # it may die first
        doomed.wait_killed()
        self.assertEqual(self.verify(deployment)["faults"], [])

        deployment.serve()
        wait_for(lambda: deployment.sql("select count(*) from audit_events where method = 'pools/create'") == [("0",)], "the rows are pruned")
        report = self.verify(deployment)
        self.assertTrue(report["ok"])
        self.assertEqual(deployment.cli("audit", "verify-proof", "-", stdin=proof).status, 0)
        gone = deployment.cli("audit", "prove", kept)
        self.assertEqual((gone.status, gone.err[:9]), (1, "NOT_FOUND"))


both_engines(globals(), Audit)

if __name__ == "__main__":
    unittest.main(verbosity=2)
