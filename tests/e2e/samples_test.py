"""The samples of docs/webhooks.md, as they stand there, judge real deliveries: right ones, and the same with one byte changed."""

import functools
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

from harness import DEADLINE, OPEN_RECEIVERS, EngineCase, both_engines, free_port, post, wait_for

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
PAGE = os.path.join(ROOT, "docs/webhooks.md")
SETTINGS = OPEN_RECEIVERS + "standard_headers = true\n"


def page():
    with open(PAGE, encoding="utf-8") as file:
        return file.read()


def block(language, word):
    """The one code block in `language` of the page that has `word` in it."""
    found = [text for text in re.findall(rf"^```{language}\n(.*?)^```", page(), re.M | re.S) if word in text]
    assert len(found) == 1, f"docs/webhooks.md has {len(found)} blocks in {language} with {word}"
    return found[0]


def linked(ending):
    """The one example that the page links to, by the ending of its name."""
    found = set(re.findall(rf"\((examples/[\w.]+{re.escape(ending)})\)", page()))
    assert len(found) == 1, f"docs/webhooks.md links to {found}"
    return os.path.join(ROOT, "docs", found.pop())


def run(args, **options):
    return subprocess.run(args, capture_output=True, check=False, timeout=DEADLINE, **options)


class Samples(EngineCase):
    __test__ = False

    def setUp(self):
        self.deployment = self.make(SETTINGS)
        self.daemon = self.deployment.serve()
        self.token = self.deployment.tenant("acme")

    def webhook(self, url):
        return post(
            self.daemon.url, "webhooks/create", {"tenantId": "acme", "url": url, "events": ["pool.*"]}, self.token
        ).data["secret"]

    def change(self):
        return post(self.daemon.url, "pools/create", {"tenantId": "acme", "name": "h100"}, self.token).data

    def delivery(self):
        """(secret, delivery) of one change."""
        receiver = self.receiver()
        secret = self.webhook(receiver.url)
        self.change()
        return secret, wait_for(receiver.seen, "a delivery")[0]

    def test_openssl(self):
        secret, delivery = self.delivery()
        sample = block("sh", "openssl")

        def signature(body):
            done = run(["sh", "-c", sample], env={
                **os.environ, "SECRET": secret, "BODY": body, "TIMESTAMP": delivery.headers["X-Better-Compute-Timestamp"],
            })
            self.assertEqual(done.returncode, 0, done.stderr)
            return "v1=" + done.stdout.decode().split()[-1]

        body = delivery.body.decode()
        self.assertEqual(signature(body), delivery.headers["X-Better-Compute-Signature"])
        self.assertNotEqual(signature(body.replace("h100", "h200")), delivery.headers["X-Better-Compute-Signature"])

    def test_node(self):
        self.assertTrue(shutil.which("node"), "node is missing: apt-get install nodejs, or run the tests with ./dev test")
        secret, delivery = self.delivery()
        headers = delivery.headers

        def verdict(body, with_secret=secret):
            done = run(
                ["node", linked(".mjs"), headers["X-Better-Compute-Timestamp"], headers["X-Better-Compute-Signature"]],
                input=body, env={**os.environ, "SECRET": with_secret},
            )
            return done.stdout.decode().strip(), done.returncode

        self.assertEqual(verdict(delivery.body), ("valid", 0))
        self.assertEqual(verdict(delivery.body.replace(b"h100", b"h200")), ("invalid", 1))
        self.assertEqual(verdict(delivery.body, secret[:-1]), ("invalid", 1))

    def test_python(self):
        with tempfile.TemporaryDirectory() as folder:
            port = free_port()
            secret_file = os.path.join(folder, "secret")
            secret = self.webhook(f"http://127.0.0.1:{port}/hook")
            with open(secret_file, "w", encoding="utf-8") as file:
                file.write(secret[:-1])
            with subprocess.Popen(
                [sys.executable, linked(".py"), str(port), secret_file], stdout=subprocess.PIPE, text=True, cwd=folder
            ) as receiver:
                try:
                    wait_for(lambda: self.is_listening(port), "the sample listens")
                    self.change()
                    refused = receiver.stdout.readline()
                    with open(secret_file, "w", encoding="utf-8") as file:
                        file.write(secret)
                    pool = self.change_again()
                    accepted = receiver.stdout.readline()
                finally:
                    receiver.terminate()
        self.assertRegex(refused, r"^401 dlv_\w+ None None\n$")
        self.assertRegex(accepted, rf"^204 dlv_\w+ pool\.created pool/{pool}\n$")

    def change_again(self):
        return post(self.daemon.url, "pools/create", {"tenantId": "acme", "name": "a100"}, self.token).data["id"]

    @staticmethod
    def is_listening(port):
        with open("/proc/net/tcp", encoding="ascii") as table:
            return any(line.split()[1].endswith(f":{port:04X}") and line.split()[3] == "0A" for line in list(table)[1:])

    def test_the_public_library_of_standard_webhooks(self):
        secret, delivery = self.delivery()
        script = os.path.join(library(), "verify.mjs")
        with open(script, "w", encoding="utf-8") as file:
            file.write("import { readFileSync } from 'node:fs';\nconst { body, headers } = JSON.parse(readFileSync(0));\n")
            file.write(block("js", "standardwebhooks"))
            file.write("console.log(event.id);\n")

        def verdict(body):
            done = run(
                ["node", script], input=json.dumps({"body": body, "headers": delivery.headers}).encode(),
                env={**os.environ, "SECRET": secret},
            )
            return done.returncode, done.stdout.decode().strip()

        body = delivery.body.decode()
        self.assertEqual(verdict(body), (0, delivery.event["id"]))
        self.assertNotEqual(verdict(body.replace("h100", "h200"))[0], 0)
        self.assertEqual(delivery.headers["webhook-id"], delivery.id)


@functools.cache
def library():
    """The folder of this run with the package, installed as the lock file says."""
    assert shutil.which("npm"), "npm is missing: apt-get install npm, or run the tests with ./dev test"
    folder = tempfile.TemporaryDirectory(prefix="better-compute-npm-")
    unittest.addModuleCleanup(folder.cleanup)
    for name in ("package.json", "package-lock.json"):
        shutil.copy(os.path.join(ROOT, "tests/npm", name), folder.name)
    done = run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"], cwd=folder.name)
    assert done.returncode == 0, "npm could not install what tests/npm/package-lock.json names: " + done.stderr.decode()
    return folder.name


both_engines(globals(), Samples)

if __name__ == "__main__":
    unittest.main(verbosity=2)
