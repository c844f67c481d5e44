"""The example plugin, built from outside the tree with the installed headers only, loaded by a daemon and called over HTTP."""

import os
import shutil
import socket
import subprocess
import tempfile
import unittest

from harness import BINARY, EngineCase, both_engines, post, wait_for

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
BUILD = os.environ.get("BETTER_COMPUTE_BUILD", os.path.join(ROOT, "build/test"))


def run(*args):
    done = subprocess.run(args, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(args)}\n{done.stdout}{done.stderr}")


def build(name):
    """Builds tests/plugin/<name> in a copy, so that nothing of the tree but the installed headers is in reach."""
    source, made = f"{FOLDER}/{name}", f"{FOLDER}/build-{name}"
    shutil.copytree(os.path.join(ROOT, "tests/plugin", name), source)
    run("cmake", "-S", source, "-B", made, "-G", "Ninja", "-DCMAKE_PREFIX_PATH=" + FOLDER + "/sdk",
        *(["-DCMAKE_CXX_COMPILER=" + os.environ["CXX"]] if "CXX" in os.environ else []))
    run("cmake", "--build", made)
    return f"{made}/{name}.so"


def setUpModule():
    global FOLDER, PLUGIN, BROKEN
    FOLDER = tempfile.mkdtemp(prefix="better-compute-plugin-")
    run("cmake", "--install", BUILD, "--component", "plugin-sdk", "--prefix", FOLDER + "/sdk")
    PLUGIN, BROKEN = build("acme"), build("broken")


def tearDownModule():
    shutil.rmtree(FOLDER)


def settings(*paths):
    return "[events]\nallow_insecure = true\nallow_private = true\n" + "".join(f'[[plugins]]\npath = "{p}"\n' for p in paths)


class Plugin(EngineCase):
    __test__ = False

    def test_its_methods_are_served_decided_audited_and_their_events_delivered(self):
        deployment = self.make(settings(PLUGIN))
        receiver = self.receiver()
        daemon = deployment.serve()
        token = deployment.tenant("acme")
        blue = deployment.tenant("acme", "blue", {"version": 1, "statements": [{
            "effect": "allow", "actions": ["compute:acme:poke"], "resources": ["compute-acme-widget/*"],
            "conditions": {"StringEquals": {"resource.colour": ["red"]}}}]})
        post(daemon.url, "webhooks/create", {"tenantId": "acme", "url": receiver.url, "events": ["acme.widget.*"]}, token).data
        widget = {"tenantId": "acme", "widgetId": "w-1"}

        made = post(daemon.url, "plugins/acme/widgets/create", widget, token)
        poked = post(daemon.url, "plugins/acme/widgets/poke", widget, token)
        denied = post(daemon.url, "plugins/acme/widgets/poke", widget, blue)
        missing = post(daemon.url, "plugins/acme/widgets/poke", {**widget, "widgetId": "w-2"}, token)
        unknown = post(daemon.url, "plugins/acme/widgets/poke", {**widget, "x": 1}, token)

        self.assertEqual(made.data, {"widgetId": "w-1"})
        self.assertEqual(poked.data, {"poked": "w-1"})
        self.assertEqual((denied.code, missing.code, unknown.code), ("ACCESS_DENIED", "NOT_FOUND", "INVALID_INPUT"))
        wait_for(lambda: [d.event["type"] for d in receiver.seen()] == ["acme.widget.created", "acme.widget.poked"], "its events")
        self.assertEqual(deployment.sql("select pokes from acme_widgets"), [("1",)])
        rows = deployment.sql("select method, action, resource_type, resource_id from audit_events where method like 'plugins/%' order by seq")
        self.assertEqual(rows, [
            ("plugins/acme/widgets/create", "compute:acme:create", "compute-tenant", "acme"),
            ("plugins/acme/widgets/poke", "compute:acme:poke", "compute-acme-widget", "w-1"),
        ])
        version = deployment.cli("version", "--json")
        self.assertEqual((version.status, version.json["plugins"]), (0, ["acme"]))
        status = deployment.cli("migrate", "status", "--json")
        self.assertIn("acme/0001_widgets", [m["name"] for m in status.json["applied"]])

    def test_what_is_no_plugin_is_refused_by_name(self):
        for path in (FOLDER + "/nothing.so", BINARY, os.path.join(ROOT, "README.md")):
            with self.subTest(path):
                deployment = self.make(settings(path)) if self.engine == "sqlite" else None
                if deployment is None:
                    continue
                daemon = deployment.serve(expect_ready=False)
                self.assertEqual(daemon.process.wait(30), 1)
                self.assertIn("INVALID_CONFIG", daemon.log())
                self.assertIn(path, daemon.log())

    def test_M12_a_bad_method_keeps_serve_from_listening(self):
        with socket.create_server(("127.0.0.1", 0)) as taken:
            listen = f"127.0.0.1:{taken.getsockname()[1]}"
            deployment = self.make(settings(PLUGIN))
            sound = deployment.serve("--listen", listen, expect_ready=False)
            self.assertEqual(sound.process.wait(60), 1)
            with open(deployment.config, "a", encoding="utf-8") as config:
                config.write(f'[[plugins]]\npath = "{BROKEN}"\n')

            broken = deployment.serve("--listen", listen, expect_ready=False)

            self.assertEqual(broken.process.wait(60), 1)
        # With sound methods it comes as far as the address, which is taken; with a bad one it never tries it.
        self.assertIn(listen, sound.log())
        self.assertNotIn(listen, broken.log())
        self.assertIn("INVALID_CONFIG: method plugins/broken/things/peek: action: ", broken.log())
        self.assertFalse(os.path.exists(broken.ready_file))


both_engines(globals(), Plugin)

if __name__ == "__main__":
    unittest.main(verbosity=2)
