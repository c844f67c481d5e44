"""`serve` as a service: what it tells a service manager, certificates and log level at run time, an end in time, a schema that moved on."""

import http.client
import json
import os
import signal
import socket
import ssl
import subprocess
import threading
import time
import unittest
import urllib.error
import urllib.parse
import urllib.request

from harness import EngineCase, both_engines, post, wait_for
from upgrade_test import FUTURE, Store

TIMEOUT_MS = 1500
SETTINGS = f"log_level = \"info\"\n[events]\nallow_insecure = true\nallow_private = true\n[events.delivery]\ntimeout_ms = {TIMEOUT_MS}\n"


class Manager:
    """The service manager's side of NOTIFY_SOCKET."""

    def __init__(self, folder):
        self.path = os.path.join(folder, "notify")
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(self.path)
        self.socket.settimeout(0.05)
        self.heard = []

    def has(self, state, times=1):
        try:
            while True:
                self.heard.append(self.socket.recv(4096).decode())
        except TimeoutError:
            return self.heard.count(state) >= times


class Hanging:
    """A receiver that takes requests and never answers."""

    def __init__(self):
        self.server = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.server.getsockname()[1]}/hook"
        self.held = []
        threading.Thread(target=self.take, daemon=True).start()

    def take(self):
        try:
            while True:
                self.held.append(self.server.accept()[0])
        except OSError:
            pass

    def close(self):
        self.server.close()
        for connection in self.held:
            connection.close()


def certificate(folder, name):
    """A self-signed certificate for 127.0.0.1 whose subject carries `name`; (certificate, key)."""
    cert, key = os.path.join(folder, name + ".pem"), os.path.join(folder, name + ".key")
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "30", "-subj", "/CN=" + name, "-addext",
         "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", cert],
        check=True, capture_output=True,
    )
    return cert, key


def served_certificate(url):
    parts = urllib.parse.urlsplit(url)
    return ssl.get_server_certificate((parts.hostname, parts.port))


class Service(EngineCase):
    __test__ = False

    def setting(self, deployment, line, instead):
        with open(deployment.config, encoding="utf-8") as file:
            text = file.read()
        self.assertIn(line, text)
        with open(deployment.config, "w", encoding="utf-8") as file:
            file.write(text.replace(line, instead))

    def test_the_manager_hears_of_start_life_reload_and_end(self):
        deployment = self.make(SETTINGS)
        manager = Manager(deployment.dir)
        self.addCleanup(manager.socket.close)

        daemon = deployment.serve(env={"NOTIFY_SOCKET": manager.path, "WATCHDOG_USEC": "200000"})

        wait_for(lambda: manager.has("READY=1"), "ready")
        wait_for(lambda: manager.has("WATCHDOG=1", 3), "signs of life")
        daemon.process.send_signal(signal.SIGHUP)
        wait_for(lambda: manager.has("RELOADING=1") and manager.has("READY=1", 2), "reloaded")
        self.assertEqual(daemon.stop(), 0)
        wait_for(lambda: manager.has("STOPPING=1"), "stopping")

    def test_certificate_and_log_level_are_read_again(self):
        deployment = self.make(SETTINGS)
        first, second = (certificate(deployment.dir, name) for name in ("first", "second"))
        for source, target in zip(first, ("cert.pem", "key.pem")):
            os.rename(source, os.path.join(deployment.dir, target))
        daemon = deployment.serve("--tls-cert", os.path.join(deployment.dir, "cert.pem"), "--tls-key", os.path.join(deployment.dir, "key.pem"))
        self.assertTrue(daemon.url.startswith("https://127.0.0.1:"))
        before = served_certificate(daemon.url)
        self.assertNotIn("http.refused", daemon.log())

        for source, target in zip(second, ("cert.pem", "key.pem")):
            os.rename(source, os.path.join(deployment.dir, target))
        self.setting(deployment, 'log_level = "info"', 'log_level = "debug"')
        daemon.process.send_signal(signal.SIGHUP)

        wait_for(lambda: served_certificate(daemon.url) != before, "the second certificate")
        parts = urllib.parse.urlsplit(daemon.url)
        with open(os.path.join(deployment.dir, "cert.pem"), encoding="utf-8") as file:
            trusted = ssl.create_default_context(cadata=file.read())
        connection = http.client.HTTPSConnection(parts.hostname, parts.port, context=trusted, timeout=30)
        self.addCleanup(connection.close)
        connection.request("GET", "/nothing", headers={"X-Request-Id": "req-at-night"})
        self.assertEqual(connection.getresponse().status, 404)
        wait_for(lambda: "http.refused" in daemon.log(), "a line of the level debug")
        self.assertIn("req-at-night", daemon.log())

        # What cannot be used leaves what is in force.
        self.setting(deployment, 'log_level = "debug"', 'log_level = "loud"')
        daemon.process.send_signal(signal.SIGHUP)
        wait_for(lambda: "serve.reload_failed" in daemon.log(), "the refusal")
        self.assertNotEqual(served_certificate(daemon.url), before)

    def test_a_receiver_that_hangs_does_not_hold_up_the_end(self):
        deployment = self.make(SETTINGS)
        hanging = Hanging()
        self.addCleanup(hanging.close)
        daemon = deployment.serve()
        token = deployment.tenant("acme")
        post(daemon.url, "webhooks/create", {"tenantId": "acme", "url": hanging.url, "events": ["*"]}, token).data
        post(daemon.url, "pools/create", {"tenantId": "acme", "name": "a100"}, token).data
        wait_for(lambda: hanging.held, "a delivery under way")

        begin = time.monotonic()
        self.assertEqual(daemon.stop(), 0, daemon.log())
        self.assertLess(time.monotonic() - begin, TIMEOUT_MS / 1000 + 2)

        rows = deployment.sql("select count(*) from webhook_deliveries where state = 0")
        self.assertEqual(rows, [("1",)])

    def test_a_daemon_that_was_overtaken_says_so(self):
        deployment = self.make(SETTINGS)
        daemon = deployment.serve()

        def readiness():
            try:
                with urllib.request.urlopen(daemon.url + "/readyz", timeout=30) as answer:
                    return answer.status, answer.read().decode()
            except urllib.error.HTTPError as error:
                return error.code, error.read().decode()

        self.assertEqual(readiness()[0], 200)
        Store(deployment).script(FUTURE)

        wait_for(lambda: readiness()[0] == 503, "it is not ready any more")
        self.assertIn("another schema", readiness()[1])
        self.assertIn("core/9999_future", daemon.log())
        self.assertEqual(daemon.log().count("health.schema_changed"), 1)
        with urllib.request.urlopen(daemon.url + "/healthz", timeout=30) as answer:
            self.assertEqual(json.load(answer)["ok"], True)


both_engines(globals(), Service)

if __name__ == "__main__":
    unittest.main(verbosity=2)
