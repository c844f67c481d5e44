"""What the command line says, word for word, against files of this folder; and the generated pages, which must be fresh.

`cli_test.py --update` writes the files anew; the difference is for a reviewer. The binary is BETTER_COMPUTE_BINARY.
"""

import json
import os
import pty
import random
import re
import shutil
import string
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.abspath(os.path.join(HERE, "../.."))
BINARY = os.path.abspath(os.environ.get("BETTER_COMPUTE_BINARY") or os.path.join(ROOT, "build/test/better-compute"))
UPDATE = "--update" in sys.argv


class Work(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="better-compute-golden-")
        self.addCleanup(shutil.rmtree, self.dir, True)

    def run_cli(self, *args, env=None, stdin=""):
        clean = {k: v for k, v in os.environ.items() if not k.startswith("BETTER_COMPUTE_")}
        clean.update(env or {})
        return subprocess.run(
            [BINARY, *args], cwd=self.dir, env=clean, input=stdin, capture_output=True, text=True, timeout=60, check=False
        )

    def write(self, name, text):
        with open(os.path.join(self.dir, name), "w", encoding="utf-8") as file:
            file.write(text)

    def assert_golden(self, name, text):
        path = os.path.join(HERE, "cli", name)
        if UPDATE:
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            return
        with open(path, encoding="utf-8") as file:
            self.assertEqual(file.read(), text, f"{name}: run tests/golden/cli_test.py --update and look at the difference")

    def told(self, *args, **kwargs):
        done = self.run_cli(*args, **kwargs)
        return f"$ better-compute {' '.join(args)}\n{done.stdout}{done.stderr}[exit {done.returncode}]\n"


def subcommands(help_text):
    block = re.search(r"^Subcommands:\n((?:  .*\n)+)", help_text, re.M)
    return re.findall(r"^  (\S+)", block.group(1), re.M) if block else []


class Help(Work):
    def walk(self, path):
        done = self.run_cli(*path, "--help")
        self.assertEqual((done.returncode, done.stderr), (0, ""), path)
        pages = [f"$ better-compute {' '.join([*path, '--help'])}\n{done.stdout}"]
        if path:
            self.assertIn("Example:\n  better-compute ", done.stdout, path)
        for name in subcommands(done.stdout):
            pages += self.walk([*path, name])
        return pages

    def test_every_command_has_help_with_an_example(self):
        self.assert_golden("help.txt", "\n".join(self.walk([])))


class Outputs(Work):
    def test_mistakes(self):
        cases = [
            [], ["sevre"], ["serve", "--lisen", "x"], ["migrate", "stauts"], ["doctor", "--check"], ["doctor", "--check", "core.databse"], ["webhooks"], ["webhooks", "redelivr"],
            ["webhooks", "redeliver"], ["webhooks", "redeliver", "--tenant", "a"], ["webhooks", "redeliver", "--all-tenants", "--tenant", "a", "--yes"],
            ["webhooks", "redeliver", "dlv_1", "--state", "dead"], ["webhooks", "proof", "--since", "x"], ["iam", "tokens", "create"],
            ["api"], ["completion", "tcsh"], ["migrate", "status", "--dry-run"], ["config", "check", "more"], ["webhooks", "jobs", "show"],
        ]
        text = ""
        for case in cases:
            with self.subTest(case):
                done = self.run_cli(*case)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertEqual(done.stdout, "")
                if case:
                    self.assertRegex(done.stderr, r"^INVALID_INPUT: .+\n")
            text += self.told(*case) if case else ""
        self.assert_golden("mistakes.txt", text)

    def test_refusals(self):
        text = self.told("api", "pools.list", "tenantId=acme")
        text += self.told("api", "pools.lst")
        text += self.told("doctor", "--database", "postgres://u:hunter2@h/d")
        text += self.told("config", env={"BETTER_COMPUTE_SECRET": "short"})
        self.write("better-compute.toml", "[events]\nalow_private = true\n")
        text += self.told("config", "check")
        self.assertEqual(text.count("hunter2"), 1, "only in the command line itself")
        self.assert_golden("refusals.txt", text)

    def test_a_file_without_json_is_named(self):
        self.write("note.txt", "no JSON")
        for case in (["api:surface", "--check", "note.txt"], ["api:surface", "--record", "note.txt"], ["audit", "verify-proof", "note.txt"],
                     ["api:surface", "--check", "absent.txt"]):
            with self.subTest(case):
                done = self.run_cli(*case)
                self.assertEqual(done.returncode, 1)
                self.assertRegex(done.stderr, rf"^INVALID_INPUT: {case[-1]}: .+\nHint: better-compute .+\n$")

    def test_config(self):
        self.write("better-compute.toml", f'secret = "{"s" * 40}"\n[limits]\nwaiting = 5\n[database]\nurl = "postgres://u:hunter2@h/d"\n')
        text = self.told("config", env={"BETTER_COMPUTE_LISTEN": "127.0.0.1:1"})
        text += self.told("config", "check", env={"BETTER_COMPUTE_LISTN": "127.0.0.1:1"})
        self.assertNotIn("hunter2", text)
        self.assertNotIn("s" * 40, text)
        self.assert_golden("config.txt", text)
        values = json.loads(self.run_cli("config", "--json").stdout)
        self.assertEqual(values["limits.waiting"], {"value": 5, "origin": "better-compute.toml:3"})

    def test_a_fresh_deployment(self):
        self.assertEqual(self.run_cli("migrate", "status").returncode, 1)
        self.assertFalse(os.path.exists(os.path.join(self.dir, "better-compute.db")), "status made a database")
        before = json.loads(self.run_cli("doctor", "--json").stdout)
        self.assertEqual((before["ok"], [f["severity"] for f in before["findings"]]), (True, ["info"]))
        self.assertEqual(self.run_cli("migrate", "--quiet").returncode, 0)
        self.assertEqual(self.run_cli("migrate").stdout, "nothing to apply\n")
        status = json.loads(self.run_cli("migrate", "status", "--json").stdout)
        self.assertEqual(status["pending"], [])
        self.assertEqual(set(status["applied"][0]), {"name", "appliedAt", "checksum"})
        self.assertEqual(self.run_cli("migrate", "verify").returncode, 0)
        doctor = self.run_cli("doctor", "--json")
        report = json.loads(doctor.stdout)
        self.assertEqual((doctor.returncode, report["ok"]), (0, True), doctor.stdout)
        self.assertEqual({f["severity"] for f in report["findings"]} - {"warning", "info"}, set())
        self.assert_golden("doctor_fresh.txt", self.told("doctor", "--deep"))

    def test_doctor_always_has_a_document(self):
        done = self.run_cli("doctor", "--json", "--database", "postgres://u@127.0.0.1:1/d")
        report = json.loads(done.stdout)
        self.assertEqual((done.returncode, report["ok"]), (1, False))
        self.assertEqual(report["findings"][0]["check"], "core.database")
        self.write("broken.db", "this is no database, whatever its name may say " * 100)
        done = self.run_cli("doctor", "--json", "--database", "broken.db")
        self.assertEqual((done.returncode, json.loads(done.stdout)["ok"]), (1, False))

    def test_deployment_commands_are_audited(self):
        self.run_cli("migrate", "--quiet")
        with open(os.path.join(ROOT, "docs/examples/acme.json"), encoding="utf-8") as document:
            self.write("acme.json", document.read())
        plan = self.run_cli("iam", "apply", "acme.json", "--dry-run")
        applied = self.run_cli("iam", "apply", "acme.json")
        again = self.run_cli("iam", "apply", "acme.json")
        self.assertEqual((plan.returncode, applied.returncode, again.returncode), (0, 0, 0), plan.stderr + applied.stderr)
        self.assert_golden("iam_apply.txt", plan.stdout + applied.stdout + again.stdout)
        token = json.loads(self.run_cli("iam", "tokens", "create", "--tenant", "acme", "--identity", "ops", "--expires", "30d", "--json").stdout)
        env = {"BETTER_COMPUTE_TOKEN": token["token"]}
        made = self.run_cli("api", "pools.create", "tenantId=acme", "name=h100", "--query", "name", env=env)
        self.assertEqual((made.returncode, made.stdout), (0, "h100\n"), made.stderr)
        denied = self.run_cli("api", "pools.create", "tenantId=other", "name=h100", env=env)
        self.assertEqual((denied.returncode, denied.stderr[:13]), (1, "ACCESS_DENIED"))
        self.write("token", token["token"] + "\n")
        os.chmod(os.path.join(self.dir, "token"), 0o600)
        allowed = self.run_cli("iam", "explain", "--token-file", "token", "compute:pools:create", "compute-tenant/acme")
        self.assertEqual(allowed.returncode, 0, allowed.stderr)
        rows = json.loads(self.run_cli("audit", "list", "--json").stdout)["items"]
        self.assertEqual([row["method"] for row in rows], ["pools/create", "iam/createToken", "iam/apply", "iam/apply", "migrate/up"])
        self.assertTrue(rows[1]["actor"]["identityId"].startswith("os:"))
        self.assertEqual(self.run_cli("iam", "tokens", "revoke", token["id"]).returncode, 0)
        gone = self.run_cli("api", "pools.list", "tenantId=acme", env=env)
        self.assertEqual((gone.returncode, gone.stderr[:15]), (1, "UNAUTHENTICATED"))
        for output in (self.run_cli("iam", "export"), self.run_cli("iam", "tokens", "list"), self.run_cli("audit", "list")):
            self.assertEqual(output.returncode, 0, output.stderr)
            self.assertNotIn(token["token"], output.stdout + output.stderr)

    def test_backup_is_a_database(self):
        self.run_cli("migrate", "--quiet")
        self.assertEqual(self.run_cli("backup", "copy.db").returncode, 0)
        self.assertEqual(os.stat(os.path.join(self.dir, "copy.db")).st_mode & 0o777, 0o600)
        self.assertEqual(self.run_cli("migrate", "verify", "--database", "copy.db").returncode, 0)
        again = self.run_cli("backup", "copy.db")
        self.assertEqual((again.returncode, again.stderr[:13]), (1, "INVALID_STATE"))
        self.assertEqual(sorted(name for name in os.listdir(self.dir) if "part" in name), [])

    def test_verify_tells_which_part_is_wrong(self):
        secret = "whsec_" + "A" * 43
        self.write("secret", secret + "\n")
        os.chmod(os.path.join(self.dir, "secret"), 0o600)
        self.write("body", '{"id":"evt_1"}')
        signature = "8167ca48ca237c46bb65d480d89d8cafc0d6e84b2b5f6b251402f91a499770d9"
        self.write("headers", f"POST /hook HTTP/1.1\nx-better-compute-timestamp: 1790244902\nX-Better-Compute-Signature: v1=00,v1={signature}\n")

        def part(*extra):
            done = self.run_cli("webhooks", "verify", "--secret-file", "secret", "--headers", "headers", "--body", "body", "--json", *extra)
            return json.loads(done.stdout)["part"]

        self.assertEqual(part("--tolerance", "1000000000"), "ok")
        self.assertEqual(part("--tolerance", "0"), "timestamp")
        self.write("body", '{"id":"evt_1"}\n')
        self.assertEqual(part("--tolerance", "1000000000"), "body")
        self.write("body", '{"id":"evt_2"}')
        self.assertEqual(part("--tolerance", "1000000000"), "signature")
        self.write("headers", "X-Better-Compute-Timestamp: 1790244902\n")
        self.assertEqual(part(), "headers")

    def on_a_terminal(self, *args, env=None):
        """What the command writes to a terminal of its own, and its exit status."""
        clean = {k: v for k, v in os.environ.items() if not k.startswith(("BETTER_COMPUTE_", "NO_COLOR"))}
        clean.update(env or {})
        master, slave = pty.openpty()
        with subprocess.Popen([BINARY, *args], cwd=self.dir, env=clean, stdin=slave, stdout=slave, stderr=slave) as process:
            os.close(slave)
            text = b""
            while True:
                try:
                    part = os.read(master, 65536)
                except OSError:  # how the end of a terminal shows
                    break
                if not part:
                    break
                text += part
        os.close(master)
        return process.returncode, text.decode()

    def test_colour_is_for_terminals(self):
        self.run_cli("migrate", "--quiet")
        # One check: how much a plain run reads within its second depends on the machine.
        command = ["doctor", "--check", "core.reconcilers"]
        plain = self.run_cli(*command).stdout
        self.assertNotIn("\x1b", plain)
        self.assertIn("\x1b[33mwarning\x1b[0m", self.on_a_terminal(*command)[1])
        status, text = self.on_a_terminal(*command, env={"NO_COLOR": "1"})
        self.assertEqual((status, text.replace("\r\n", "\n")), (0, plain))

    def test_a_table_fits_the_terminal(self):
        self.run_cli("migrate", "--quiet")
        document = {
            "version": 1,
            "tenants": [{"id": "acme", "name": "z\u00fcrich \u6771\u4eac"}],
            "policies": [{"tenant": "acme", "name": "all", "document": {"version": 1, "statements": [{"effect": "allow", "actions": ["*"], "resources": ["*"]}]}}],
            "identities": [{"tenant": "acme", "id": "an-identity-of-some-length-and-more", "kind": "service", "policies": ["all"]}],
        }
        self.write("acme.json", json.dumps(document))
        self.assertEqual(self.run_cli("iam", "apply", "acme.json").returncode, 0)
        self.run_cli("iam", "tokens", "create", "--tenant", "acme", "--identity", "an-identity-of-some-length-and-more")
        plain = self.run_cli("iam", "tokens", "list").stdout.splitlines()
        self.assertEqual((plain[0].split()[:3], len(plain)), (["ID", "TENANT", "IDENTITY"], 2))
        self.assertGreater(len(plain[1]), 80)

        status, text = self.on_a_terminal("iam", "tokens", "list", env={"NO_COLOR": "1"})

        rows = text.replace("\r\n", "\n").splitlines()
        self.assertEqual(status, 0)
        self.assertEqual([row.split()[0] for row in rows], plain[0].split())
        self.assertEqual([row.split()[1] for row in rows], plain[1].split())
        self.assertLessEqual(max(len(row) for row in rows), 80)

    def test_characters_of_any_width_stand_in_columns(self):
        self.run_cli("migrate", "--quiet")
        self.run_cli("iam", "apply", "-", stdin=json.dumps({
            "version": 1, "tenants": [{"id": "acme"}],
            "policies": [{"tenant": "acme", "name": "all", "document": {"version": 1, "statements": [{"effect": "allow", "actions": ["*"], "resources": ["*"]}]}}],
            "identities": [{"tenant": "acme", "id": "ops", "kind": "service", "policies": ["all"]}],
        }))
        token = json.loads(self.run_cli("iam", "tokens", "create", "--tenant", "acme", "--identity", "ops", "--json").stdout)["token"]
        env = {"BETTER_COMPUTE_TOKEN": token, "LC_ALL": "C"}
        for name, label in (("one", "\u6771\u4eac"), ("two", "abcd"), ("three", "z\u00fcri")):
            made = self.run_cli("api", "pools.create", "tenantId=acme", f"name={name}", f"labels.site={label}", env=env)
            self.assertEqual(made.returncode, 0, made.stderr)
        table = self.run_cli("api", "pools.list", "tenantId=acme", "--format", "table", env=env).stdout.splitlines()
        column = table[0].index("name")

        def cells(line, start):
            wide = 0
            for place, character in enumerate(line):
                if place + wide == start:
                    return line[place:]
                wide += character in "\u6771\u4eac"
            return ""

        self.assertEqual(sorted(cells(line, column).split()[0] for line in table[1:]), ["one", "three", "two"])

    def test_a_mistyped_pattern_is_told_with_the_nearest(self):
        self.run_cli("migrate", "--quiet")
        with open(os.path.join(ROOT, "docs/examples/acme.json"), encoding="utf-8") as document:
            self.write("acme.json", document.read())
        self.run_cli("iam", "apply", "acme.json")
        token = json.loads(self.run_cli("iam", "tokens", "create", "--tenant", "acme", "--identity", "ops", "--json").stdout)["token"]
        env = {"BETTER_COMPUTE_TOKEN": token, "BETTER_COMPUTE_SECRET": "s" * 40}
        made = self.run_cli("api", "webhooks.create", "tenantId=acme", "url=https://8.8.8.8/", "events[]=poll.*", env=env)
        self.assertEqual((made.returncode, made.stderr.splitlines()[:2]), (1, ["INVALID_INPUT: events: no event matches poll.*", "Hint: did you mean pool.*?"]))
        again = self.run_cli("webhooks", "redeliver", "--tenant", "acme", "--type", "pool.craeted", "--dry-run")
        self.assertEqual((again.returncode, again.stderr), (1, "no event of this release matches pool.craeted; did you mean pool.created?\n"))

    def test_a_breaking_change_of_the_surface_is_refused(self):
        self.assertEqual(self.run_cli("api:surface", "--record", "surface.json").returncode, 0)
        same = self.run_cli("api:surface", "--check", "surface.json", "--json")
        self.assertEqual((same.returncode, json.loads(same.stdout)), (0, {"ok": True, "breaking": [], "additions": []}))
        with open(os.path.join(self.dir, "surface.json"), encoding="utf-8") as file:
            surface = json.load(file)
        self.assertEqual(json.loads(self.run_cli("api:surface").stdout), surface)
        del surface["methods"]["webhooks/ping"]  # then it is an addition
        surface["methods"]["webhooks/gone"] = surface["methods"]["webhooks/get"]
        self.write("surface.json", json.dumps(surface))
        changed = self.run_cli("api:surface", "--check", "surface.json", "--json")
        report = json.loads(changed.stdout)
        self.assertEqual((changed.returncode, report["ok"]), (1, False))
        self.assertEqual([one["method"] for one in report["breaking"]], ["webhooks/gone"])
        self.assertEqual(self.run_cli("api:surface", "--record", "surface.json").returncode, 1)
        self.assertEqual(self.run_cli("api:surface", "--record", "surface.json", "--allow-breaking").returncode, 0)
        for format_ in ("openapi", "tools"):
            self.assertEqual(self.run_cli("api:surface", "--format", format_).returncode, 0)

    def test_version(self):
        self.assertEqual(set(json.loads(self.run_cli("version", "--json").stdout)), {"version", "commit", "engines", "plugins"})

    def test_a_reader_that_stops_early_is_no_failure(self):
        self.assertEqual(subprocess.run(["bash", "-o", "pipefail", "-c", f"{BINARY} config | head -n 1"], cwd=self.dir, capture_output=True, check=False).returncode, 0)
        full = subprocess.run(["bash", "-c", f"{BINARY} version > /dev/full"], capture_output=True, check=False)
        self.assertEqual(full.returncode, 1)

    def test_no_arguments_whatever_end_it_badly(self):
        words = ["migrate", "doctor", "config", "api", "webhooks", "iam", "audit", "secrets", "backup", "api:surface", "completion", "version", "list", "tokens",
                 "redeliver", "--json", "--tenant", "--since", "--limit", "--check", "--data", "{", "[]", "x:=1", "a.b[]=c", "-", "--", "=", "\x7f", "ä", "%s", "0", "-1", "9" * 40]
        choose = random.Random(7)
        for _ in range(120):
            args = [choose.choice(words) if choose.random() < 0.8 else "".join(choose.choices(string.printable[:94], k=5)) for _ in range(choose.randrange(1, 6))]
            if args[0] == "serve":
                continue
            done = self.run_cli(*args)
            self.assertIn(done.returncode, (0, 1, 2), (args, done.stderr))


class Generated(Work):
    def assert_fresh(self, what, folder):
        self.assertEqual(self.run_cli("generate", what, self.dir).returncode, 0)
        target = os.path.join(ROOT, folder)
        made = sorted(os.listdir(self.dir))
        if UPDATE:
            for name in os.listdir(target):
                os.remove(os.path.join(target, name))
            for name in made:
                shutil.copy(os.path.join(self.dir, name), os.path.join(target, name))
        self.assertEqual(made, sorted(os.listdir(target)), f"run: better-compute generate {what} {folder}")
        for name in made:
            with open(os.path.join(self.dir, name), encoding="utf-8") as new, open(os.path.join(target, name), encoding="utf-8") as old:
                self.assertEqual(new.read(), old.read(), f"{name}: run better-compute generate {what} {folder}")

    def test_manual_pages_are_fresh(self):
        self.assert_fresh("man", "man")

    def test_completions_are_fresh(self):
        self.assert_fresh("completions", "completions")

    def test_bash_takes_the_completions(self):
        script = self.run_cli("completion", "bash").stdout
        self.write("completion.bash", script)
        check = (
            "source completion.bash; COMP_WORDS=(better-compute webhooks redeliver --a); COMP_CWORD=3; _better_compute; echo \"${COMPREPLY[*]}\";"
            "COMP_WORDS=(better-compute api:s); COMP_CWORD=1; _better_compute; echo \"${COMPREPLY[*]}\""
        )
        done = subprocess.run(["bash", "-c", check], cwd=self.dir, capture_output=True, text=True, check=False)
        self.assertEqual((done.stdout, done.stderr), ("--all-tenants\napi:surface\n", ""))


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *[arg for arg in sys.argv[1:] if arg != "--update"]], verbosity=2)
