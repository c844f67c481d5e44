"""The README's tour, command by command, as a newcomer would type it."""

import os
import re
import shutil
import subprocess
import tempfile
import unittest

from harness import BINARY, free_port

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))


def blocks():
    with open(os.path.join(ROOT, "README.md"), encoding="utf-8") as readme:
        text = readme.read()
    tour = text[text.index("## Five minutes"):text.index("## From a request")]
    return re.findall(r"^```sh\n(.*?)^```$", tour, re.S | re.M)


class Tour(unittest.TestCase):
    def test_every_command_of_the_readme_works(self):
        script = "\n".join(blocks())
        self.assertIn("webhooks redeliver", script)
        # What differs from a newcomer's machine: the binary is built already, and the ports are free ones.
        work = tempfile.mkdtemp(prefix="better-compute-tour-")
        self.addCleanup(shutil.rmtree, work, True)
        os.makedirs(os.path.join(work, "build/release"))
        os.symlink(os.path.abspath(BINARY), os.path.join(work, "build/release/better-compute"))
        os.symlink(os.path.join(ROOT, "docs"), os.path.join(work, "docs"))
        with open(os.path.join(work, "dev"), "w", encoding="utf-8") as dev:
            dev.write("#!/bin/sh\n")
        os.chmod(os.path.join(work, "dev"), 0o755)
        script = script.replace("8420", str(free_port())).replace("9000", str(free_port()))
        env = {k: v for k, v in os.environ.items() if not k.startswith("BETTER_COMPUTE_")}
        env.update(TMPDIR=work, NO_COLOR="1")
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", "set -m\ntrap 'kill $(jobs -p) 2>/dev/null || true' EXIT\n" + script],
            cwd=work, env=env, capture_output=True, text=True, timeout=120, check=False,
        )

        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("events.webhook-dead-letters", done.stdout)
        self.assertRegex(done.stdout, r"204 dlv_\w+ pool\.created pool/pool_")


if __name__ == "__main__":
    unittest.main(verbosity=2)
