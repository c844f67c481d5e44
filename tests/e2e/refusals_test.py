"""What is refused leaves nothing behind; what is secret never shows."""

import http.client
import json
import os
import subprocess
import unittest
import urllib.parse

from harness import DEADLINE, EngineCase, both_engines, post, wait_for


class Refusals(EngineCase):
    __test__ = False

    def state(self):
        tables = ("pools", "webhooks", "outbox_events")
        counts = [self.deployment.sql(f"select count(*) from {table}")[0][0] for table in tables]
        audit = self.deployment.sql("select count(*) from audit_events where identity_id = 'ops'")[0][0]
        return (*counts, audit)

    def test_each_has_its_settled_error_and_stores_nothing(self):
        self.deployment = self.make()
        daemon = self.deployment.serve()
        token, other = self.deployment.tenant("acme"), self.deployment.tenant("other")
        viewer = self.deployment.tenant("acme", "viewer", {"version": 1, "statements": [
            {"effect": "allow", "actions": ["compute:*:read", "compute:*:list"], "resources": ["*"]}]})
        good = {"tenantId": "acme", "name": "a100"}
        padded = json.dumps(good)[:-1].encode()
        exact = padded + b" " * (65536 - len(padded) - 1) + b"}"
        before = self.state()
        typo = token[:-1] + ("a" if token[-1] != "a" else "b")
        cases = [
            ("wrong token", post(daemon.url, "pools/create", good, "bct_service_" + "A" * 49), 401, "UNAUTHENTICATED"),
            ("mistyped token", post(daemon.url, "pools/create", good, typo), 401, "UNAUTHENTICATED"),
            ("no token", post(daemon.url, "pools/create", good), 401, "UNAUTHENTICATED"),
            ("no token and a bad body", post(daemon.url, "pools/create", {"x": 1}), 401, "UNAUTHENTICATED"),
            ("wrong tenant", post(daemon.url, "pools/create", good, other), 403, "ACCESS_DENIED"),
            ("not allowed", post(daemon.url, "pools/create", good, viewer), 403, "ACCESS_DENIED"),
            ("no header", post(daemon.url, "pools/create", good, token, {"X-Better-Compute": None}), 403, "CSRF_REJECTED"),
            ("header 0", post(daemon.url, "pools/create", good, token, {"X-Better-Compute": "0"}), 403, "CSRF_REJECTED"),
            ("form", post(daemon.url, "pools/create", good, token, {"Content-Type": "text/plain"}), 403, "CSRF_REJECTED"),
            ("bad JSON", post(daemon.url, "pools/create", b'{"tenantId":', token), 400, "INVALID_INPUT"),
            ("duplicate key", post(daemon.url, "pools/create", b'{"tenantId":"acme","tenantId":"acme","name":"a"}', token), 400, "INVALID_INPUT"),
            ("array", post(daemon.url, "pools/create", b"[]", token), 400, "INVALID_INPUT"),
            ("65,537 bytes", post(daemon.url, "pools/create", exact + b" ", token), 413, "PAYLOAD_TOO_LARGE"),
            ("unknown field", post(daemon.url, "pools/create", {**good, "x": 1}, token), 400, "INVALID_INPUT"),
            ("missing field", post(daemon.url, "pools/create", {"tenantId": "acme"}, token), 400, "INVALID_INPUT"),
            ("unknown route", post(daemon.url, "pools/creat", good, token), 404, "NOT_FOUND"),
            ("other base", post(daemon.url, "pools/create", good, token, base="/api/"), 404, "NOT_FOUND"),
            ("query", post(daemon.url, "pools/create?x=1", good, token), 404, "NOT_FOUND"),
            ("encoded", post(daemon.url, "pools%2Fcreate", good, token), 404, "NOT_FOUND"),
        ]
        for name, answer, status, code in cases:
            with self.subTest(name):
                self.assertEqual((answer.status, answer.code), (status, code), answer.body)
                self.assertIn("X-Request-Id", answer.headers)
        self.assertEqual(cases[13][1].json["error"]["message"], "Unknown field x")
        parts = urllib.parse.urlsplit(daemon.url)
        for verb in ("GET", "PUT", "DELETE", "HEAD", "OPTIONS"):
            connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=DEADLINE)
            connection.request(verb, "/api/compute/pools/create")
            self.assertEqual(connection.getresponse().status, 405, verb)
            connection.close()
        self.assertEqual(self.state(), before)

        self.assertEqual(post(daemon.url, "pools/create", exact, token).status, 200)
        after = self.state()
        self.assertEqual((int(after[0]), int(after[3])), (int(before[0]) + 1, int(before[3]) + 1))

    def test_urls_that_may_not_be_reached_are_refused_when_saved(self):
        self.deployment = self.make("")
        daemon = self.deployment.serve()
        token = self.deployment.tenant("acme")
        for url in ("http://hooks.example.com/", "https://127.0.0.1/", "https://2130706433/", "https://0x7f.1/", "https://017700000001/",
                    "https://[::ffff:10.0.0.1]/", "https://[::1]/", "https://LOCALHOST./", "https://a.localhost/", "https://db.internal/",
                    "https://10.0.0.1/", "https://169.254.169.254/latest", "https://user:pw@hooks.example.com/", "https:///x", "ftp://h/", ""):
            with self.subTest(url):
                answer = post(daemon.url, "webhooks/create", {"tenantId": "acme", "url": url, "events": ["*"]}, token)
                self.assertEqual((answer.status, answer.code), (400, "INVALID_INPUT"))
                self.assertIn("url", answer.json["error"]["message"])
        self.assertEqual(self.deployment.sql("select count(*) from webhooks"), [("0",)])
        good = post(daemon.url, "webhooks/create", {"tenantId": "acme", "url": "https://8.8.8.8/hook", "events": ["*"]}, token)
        self.assertEqual(good.status, 200)


class Secrets(EngineCase):
    __test__ = False

    def test_no_secret_or_token_shows_anywhere(self):
        deployment = self.make()
        receiver = self.receiver()
        daemon = deployment.serve(env={"BETTER_COMPUTE_LOG_LEVEL": "debug"} if False else None)
        token = deployment.tenant("acme")
        made = post(daemon.url, "webhooks/create", {"tenantId": "acme", "url": receiver.url, "events": ["*"]}, token).data
        webhook = made["webhook"]["id"]
        rotated = post(daemon.url, "webhooks/rotateSecret", {"tenantId": "acme", "webhookId": webhook, "keepPreviousSeconds": 60}, token).data
        post(daemon.url, "pools/create", {"tenantId": "acme", "name": "a100"}, token)
        wait_for(receiver.seen, "a delivery")
        ps = subprocess.run(["ps", "axww", "-o", "args"], capture_output=True, text=True, check=True).stdout
        outputs = [ps]
        for path, extra in (("webhooks/list", {}), ("webhooks/get", {"webhookId": webhook}), ("webhooks/deliveries", {})):
            outputs.append(post(daemon.url, path, {"tenantId": "acme", **extra}, token).body.decode())
        for path, body, bearer in (("pools/create", {"tenantId": "acme", "name": "a100"}, token), ("pools/list", {"tenantId": "acme"}, token + "x"),
                                   ("pools/list", {"tenantId": token}, token), ("pools/list", {"tenantId": "acme", token: 1}, "x" + token)):
            answer = post(daemon.url, path, body, bearer)
            if path == "pools/create":
                outputs.append(answer.body.decode())
        for args in (("doctor", "--json"), ("config", "--json"), ("config",), ("iam", "export"), ("webhooks", "list", "--tenant", "acme", "--json"),
                     ("iam", "tokens", "list", "--json"), ("audit", "list", "--json"), ("webhooks", "deliveries", "--tenant", "acme", "--json")):
            done = deployment.cli(*args)
            self.assertNotIn("Traceback", done.err)
            outputs += [done.out, done.err]
        self.assertEqual(daemon.stop(), 0)
        outputs.append(daemon.log())
        audit = deployment.sql("select * from audit_events")
        self.assertTrue(audit)
        outputs += [cell for row in audit for cell in row]
        hidden = {"token": token, "first secret": made["secret"], "second secret": rotated["secret"], "deployment secret": deployment.secret}
        with open(deployment.root_token_file(), encoding="utf-8") as file:
            self.assertEqual(os.stat(file.name).st_mode & 0o777, 0o600)
            hidden["root token"] = file.read().strip()
        for name, value in hidden.items():
            for output in outputs:
                self.assertNotIn(value, output, name)
        for table in ("webhooks", "iam_tokens"):
            for row in deployment.sql(f"select * from {table}"):
                for cell in row:
                    for name, value in hidden.items():
                        self.assertNotIn(value, cell, name)


both_engines(globals(), Refusals)
both_engines(globals(), Secrets)

if __name__ == "__main__":
    unittest.main(verbosity=2)
