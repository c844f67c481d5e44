"""The OpenAPI document: a public linter finds nothing, and a client that a public generator makes of it calls a server."""

import os
import shutil
import subprocess
import tempfile
import unittest

from harness import EngineCase, both_engines

PROJECT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../npm/openapi")


def run(*args, **kwargs):
    done = subprocess.run(args, capture_output=True, text=True, check=False, **kwargs)
    assert done.returncode == 0, f"{args}: {done.stdout}{done.stderr}"
    return done.stdout


def setUpModule():
    """The packages of the lock file, from the registry that npm is set to."""
    global FOLDER
    if not shutil.which("npm"):
        raise AssertionError("npm is missing: apt-get install nodejs npm")
    FOLDER = os.path.join(tempfile.mkdtemp(prefix="better-compute-openapi-"), "project")
    unittest.addModuleCleanup(shutil.rmtree, os.path.dirname(FOLDER), True)
    shutil.copytree(PROJECT, FOLDER)
    run("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", cwd=FOLDER)


class OpenApi(EngineCase):
    __test__ = False

    def test_a_generated_client_makes_real_calls(self):
        deployment = self.make()
        document = os.path.join(FOLDER, "openapi.json")
        with open(document, "w", encoding="utf-8") as file:
            file.write(deployment.cli("api:surface", "--format", "openapi").out)
        run("node", "lint.mjs", document, cwd=FOLDER)
        run("npx", "--no-install", "openapi-typescript", document, "--output", "paths.ts", cwd=FOLDER)
        run("npx", "--no-install", "tsc", "--project", ".", cwd=FOLDER)
        daemon = deployment.serve()

        said = run("node", "client.js", daemon.url, deployment.tenant("acme"), cwd=FOLDER)

        self.assertEqual(said, "called\n")

    def test_the_linter_is_awake(self):
        faulty = os.path.join(FOLDER, "faulty.json")
        with open(faulty, "w", encoding="utf-8") as file:
            file.write('{"openapi": "3.1.0", "info": {"title": "x"}, "paths": {}}')
        done = subprocess.run(["node", "lint.mjs", faulty], cwd=FOLDER, capture_output=True, check=False)
        self.assertEqual(done.returncode, 1)


both_engines(globals(), OpenApi)

if __name__ == "__main__":
    unittest.main(verbosity=2)
