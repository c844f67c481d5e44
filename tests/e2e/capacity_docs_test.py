"""docs/capacity.md, command by command, as an operator would type it."""

import os
import re
import shutil
import subprocess
import tempfile
import unittest

from harness import BINARY, free_port

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))


class CapacityPage(unittest.TestCase):
    def test_every_command_of_the_page_works(self):
        with open(os.path.join(ROOT, "docs/capacity.md"), encoding="utf-8") as page:
            script = "\n".join(re.findall(r"^```sh\n(.*?)^```$", page.read(), re.S | re.M))
        work = tempfile.mkdtemp(prefix="better-compute-docs-")
        self.addCleanup(shutil.rmtree, work, True)
        os.makedirs(os.path.join(work, "bin"))
        os.symlink(os.path.abspath(BINARY), os.path.join(work, "bin/better-compute"))
        env = {k: v for k, v in os.environ.items() if not k.startswith("BETTER_COMPUTE_")}
        env.update(PATH=os.path.join(work, "bin") + ":" + env["PATH"], EXAMPLES=os.path.join(ROOT, "docs/examples"), NO_COLOR="1")
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", "set -m\ntrap 'kill $(jobs -p) 2>/dev/null || true' EXIT\n" + script.replace("8420", str(free_port()))],
            cwd=work, env=env, capture_output=True, text=True, timeout=180, check=False,
        )
        told = done.stdout + done.stderr

        self.assertEqual(done.returncode, 0, told)
        self.assertIn("fleet of tenant acme: 4 to create", done.stdout)
        self.assertIn("+ pool h100", done.stdout)
        self.assertIn("fleet of tenant acme: nothing to do", done.stdout)
        self.assertRegex(done.stdout, r"(?m)^(placed|active)$", told)
        self.assertIn('"used":16000', done.stdout, told)
        self.assertIn("QUOTA_EXCEEDED: gpuMilli", done.stderr)
        self.assertIn("refused, as it should be", done.stdout)
        self.assertRegex(done.stdout, r"(?m)^released$", told)


if __name__ == "__main__":
    unittest.main(verbosity=2)
