"""The Debian package: what is in it, what its scripts and unit say, and that its program runs from where it is unpacked.

usage: package_test.py BUILD-FOLDER. Installing it into a clean system is install_test.py's.
"""

import gzip
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
BUILD = os.path.abspath(sys.argv.pop(1)) if len(sys.argv) > 1 else os.path.join(ROOT, "build/test")
sys.path.insert(0, os.path.join(ROOT, "tests/e2e"))
from harness import wait_for  # noqa: E402


def run(*args, **kwargs):
    done = subprocess.run(args, capture_output=True, text=True, check=False, **kwargs)
    assert done.returncode == 0, f"{args}: {done.stdout}{done.stderr}"
    return done.stdout


def make_package(folder, build=BUILD, version=None):
    """Packs what `build` has built; returns the path of the .deb."""
    extra = ["-D", "CPACK_PACKAGE_VERSION=" + version] if version else []
    run("cpack", "--config", os.path.join(build, "CPackConfig.cmake"), "-B", folder, *extra)
    made = [name for name in os.listdir(folder) if name.endswith(".deb")]
    assert len(made) == 1, made
    return os.path.join(folder, made[0])


class Package(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.dir = tempfile.mkdtemp(prefix="better-compute-package-")
        cls.addClassCleanup(shutil.rmtree, cls.dir, True)
        cls.deb = make_package(os.path.join(cls.dir, "made"))
        cls.root, cls.control = os.path.join(cls.dir, "root"), os.path.join(cls.dir, "control")
        run("dpkg-deb", "-x", cls.deb, cls.root)
        run("dpkg-deb", "-e", cls.deb, cls.control)

    def path(self, name):
        return os.path.join(self.root, name)

    def read(self, name):
        with open(self.path(name), encoding="utf-8") as file:
            return file.read()

    def test_the_fields_say_what_it_needs(self):
        field = lambda name: run("dpkg-deb", "-f", self.deb, name).strip()  # noqa: E731
        self.assertRegex(os.path.basename(self.deb), r"^better-compute_[0-9.]+_[a-z0-9]+\.deb$")
        self.assertEqual(field("Package"), "better-compute")
        depends = field("Depends")
        for package in ("adduser", "libc6", "libpq5", "libssl3", "libsqlite3-0", "libcurl4"):
            self.assertIn(package, depends)
        self.assertNotIn("-dev", depends)
        self.assertTrue(field("Maintainer"))
        self.assertIn("\n", field("Description"))

    def test_everything_is_where_debian_looks_for_it(self):
        manuals = [name for name in os.listdir(os.path.join(ROOT, "man")) if name[-1].isdigit()]
        self.assertGreater(len(manuals), 10)
        wanted = [
            "usr/bin/better-compute", "lib/systemd/system/better-compute.service", "etc/better-compute/better-compute.toml",
            "usr/share/bash-completion/completions/better-compute", "usr/share/zsh/vendor-completions/_better-compute",
            "usr/share/fish/vendor_completions.d/better-compute.fish", "usr/share/better-compute/grafana-dashboard.json",
            "usr/share/doc/better-compute/copyright", "usr/share/doc/better-compute/changelog.gz",
        ] + [f"usr/share/man/man{name[-1]}/{name}.gz" for name in manuals]
        for name in wanted:
            found = name if os.path.exists(self.path(name)) else "usr/" + name
            self.assertTrue(os.path.isfile(self.path(found)), name)
            # The program and the folders aside, nothing is executable, and nothing is writable by others.
            mode = os.stat(self.path(found)).st_mode & 0o777
            self.assertEqual(mode, 0o755 if name.startswith("usr/bin/") else 0o644, name)
        for name in manuals:
            with gzip.open(self.path(f"usr/share/man/man{name[-1]}/{name}.gz")) as page, open(os.path.join(ROOT, "man", name), "rb") as source:
                self.assertEqual(page.read(), source.read(), name)
        # No header, library or test comes along.
        files = run("dpkg-deb", "-c", self.deb)
        for stray in ("include/", ".a\n", "cmake/", "/tests/"):
            self.assertNotIn(stray, files)

    def test_the_scripts_hold(self):
        for name in ("postinst", "prerm", "postrm"):
            path = os.path.join(self.control, name)
            run("sh", "-n", path)
            self.assertEqual(os.stat(path).st_mode & 0o777, 0o755)
            with open(path, encoding="utf-8") as file:
                text = file.read()
            self.assertTrue(text.startswith("#!/bin/sh\nset -e\n"), name)
            self.assertNotIn("rm -r", text, "data is nobody's to delete but its owner's")
        with open(os.path.join(self.control, "conffiles"), encoding="utf-8") as file:
            self.assertEqual(file.read(), "/etc/better-compute/better-compute.toml\n")

    def test_the_unit_is_sound_and_confined(self):
        unit = os.path.join(ROOT, "packaging/better-compute.service")
        with open(unit, encoding="utf-8") as file:
            text = file.read()
        for line in ("Type=notify", "WatchdogSec=30", "User=better-compute", "ExecReload=/bin/kill -HUP $MAINPID", "Restart=on-failure"):
            self.assertIn(line + "\n", text)
        # It must outlast a clean stop: the default delivery time-out and two seconds.
        self.assertGreaterEqual(int(re.search(r"TimeoutStopSec=(\d+)", text)[1]), 12)
        if not shutil.which("systemd-analyze"):
            self.fail("systemd-analyze is missing: apt-get install systemd")
        verdict = run("systemd-analyze", "security", "--offline=true", "--no-pager", unit)
        level = float(re.search(r"Overall exposure level for \S+: ([0-9.]+)", verdict)[1])
        self.assertLessEqual(level, 2.0, verdict)
        # The same unit with the program it would start, where it is unpacked.
        trial = os.path.join(self.dir, "better-compute.service")
        with open(trial, "w", encoding="utf-8") as file:
            file.write(text.replace("/usr/bin/better-compute", self.path("usr/bin/better-compute")))
        done = subprocess.run(["systemd-analyze", "verify", "--man=no", trial], capture_output=True, text=True, check=False)
        said = [line for line in done.stderr.splitlines() if "better-compute" in line]
        self.assertEqual((done.returncode, said), (0, []))

    def test_the_example_configuration_is_taken(self):
        program, config = self.path("usr/bin/better-compute"), self.path("etc/better-compute/better-compute.toml")
        env = {"PATH": os.environ["PATH"]}
        run(program, "config", "check", "--config", config, env=env)
        # What stands there as a comment is taken too.
        lines = []
        for line in self.read("etc/better-compute/better-compute.toml").splitlines():
            match = re.match(r"# (\[?[a-z_.]+\]?( = .*)?)$", line)
            lines.append(match[1] if match and not match[1].startswith(("url", "secret")) else line)
        full = os.path.join(self.dir, "full.toml")
        with open(full, "w", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")
        self.assertIn("\nbehind_proxy = true", "\n".join(lines))
        run(program, "config", "check", "--config", full, env=env)

    def test_it_runs_from_where_it_is_unpacked(self):
        program, work = self.path("usr/bin/better-compute"), os.path.join(self.dir, "work")
        os.mkdir(work)
        config = os.path.join(work, "better-compute.toml")
        with open(config, "w", encoding="utf-8") as file:
            file.write(self.read("etc/better-compute/better-compute.toml").replace("/var/lib/better-compute", work).replace(":8420", ":0"))
        env = {"PATH": os.environ["PATH"], "BETTER_COMPUTE_CONFIG": config}
        with subprocess.Popen(
            [program, "serve", "--ready-file", "ready"], cwd=work, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        ) as serve:
            try:
                wait_for(lambda: os.path.exists(os.path.join(work, "ready")) or serve.poll() is not None, "serve is ready")
                run(program, "doctor", cwd=work, env=env)
                self.assertEqual(run(program, "api", "pools.list", "tenantId=root", "--query", "items", "--json", cwd=work, env=env), "[]\n")
            finally:
                serve.terminate()
            self.assertEqual(serve.wait(60), 0)


if __name__ == "__main__":
    unittest.main(verbosity=2)
