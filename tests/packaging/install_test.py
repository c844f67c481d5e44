"""The package in a clean Debian: installed with what it needs, started, upgraded, removed and purged.

usage: install_test.py BUILD-FOLDER. Needs root, debootstrap and the Debian mirror; takes minutes. The base system is kept in
BUILD-FOLDER/packaging/base.tar for the next time. Nothing outside its temporary folder is touched.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from package_test import BUILD, make_package, run, wait_for  # noqa: E402

SUITE = "bookworm"
MIRROR = os.environ.get("BETTER_COMPUTE_DEBIAN_MIRROR", "http://deb.debian.org/debian")
HOME = "var/lib/better-compute"


def base_system(root):
    """Unpacks a minimal Debian at `root`."""
    kept = os.path.join(BUILD, "packaging/base.tar")
    if not os.path.exists(kept):
        os.makedirs(os.path.dirname(kept), exist_ok=True)
        made = root + ".base"
        run("debootstrap", "--variant=minbase", "--include=ca-certificates", SUITE, made, MIRROR)
        run("tar", "-C", made, "-cf", kept + ".new", ".")
        os.rename(kept + ".new", kept)
        shutil.rmtree(made)
    os.mkdir(root)
    run("tar", "-C", root, "-xf", kept)
    shutil.copy("/etc/resolv.conf", os.path.join(root, "etc/resolv.conf"))
    # The mirror as this machine reaches it.
    if os.path.exists("/etc/apt/apt.conf.d"):
        for name in os.listdir("/etc/apt/apt.conf.d"):
            if "prox" in name:
                shutil.copy(os.path.join("/etc/apt/apt.conf.d", name), os.path.join(root, "etc/apt/apt.conf.d", name))


class Install(unittest.TestCase):
    def setUp(self):
        self.assertEqual(os.geteuid(), 0, "install_test.py needs root")
        self.dir = tempfile.mkdtemp(prefix="better-compute-install-")
        self.addCleanup(shutil.rmtree, self.dir, True)
        self.root = os.path.join(self.dir, "root")
        base_system(self.root)

    def inside(self, *args, status=0):
        env = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C.UTF-8"}
        env.update({k: v for k, v in os.environ.items() if k.lower().endswith("_proxy")})
        done = subprocess.run(["chroot", self.root, *args], capture_output=True, text=True, check=False, env=env)
        self.assertEqual(done.returncode, status, f"{args}: {done.stdout}{done.stderr}")
        return done.stdout + done.stderr

    def path(self, name):
        return os.path.join(self.root, name)

    def as_service(self, *args):
        """A command line as the unit would run it: the user, the folder, the configuration."""
        return [
            "chroot", self.root, "setpriv", "--reuid=better-compute", "--regid=better-compute", "--clear-groups", "env", "-C", "/" + HOME,
            "BETTER_COMPUTE_CONFIG=/etc/better-compute/better-compute.toml", "BETTER_COMPUTE_LISTEN=127.0.0.1:0", "better-compute", *args,
        ]

    def command(self, *args):
        return run(*self.as_service(*args)).strip()

    def serve(self):
        ready = self.path(HOME + "/ready")
        process = subprocess.Popen(self.as_service("serve", "--ready-file", "ready"), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.kill)
        wait_for(lambda: os.path.exists(ready) or process.poll() is not None, "serve is ready")
        if process.poll() is not None:
            self.fail(process.stderr.read())
        return process

    def stop(self, process):
        process.terminate()
        self.assertEqual(process.wait(60), 0)
        process.stderr.close()

    def install(self, deb):
        shutil.copy(deb, self.path("tmp/better-compute.deb"))
        return self.inside("apt-get", "install", "-y", "-q", "--no-install-recommends", "/tmp/better-compute.deb")

    def test_its_whole_life(self):
        first = make_package(os.path.join(self.dir, "first"))
        second = make_package(os.path.join(self.dir, "second"), version="99.0.0")
        self.inside("apt-get", "update", "-q")

        self.install(first)
        user = self.inside("getent", "passwd", "better-compute").strip().split(":")
        self.assertEqual((user[5], user[6]), ("/" + HOME, "/usr/sbin/nologin"))
        home, config = os.stat(self.path(HOME)), os.stat(self.path("etc/better-compute/better-compute.toml"))
        self.assertEqual((home.st_mode & 0o777, home.st_uid), (0o700, int(user[2])))
        self.assertEqual((config.st_mode & 0o777, config.st_uid, config.st_gid), (0o640, 0, int(user[3])))
        self.assertTrue(os.path.islink(self.path("etc/systemd/system/multi-user.target.wants/better-compute.service")))

        serve = self.serve()
        self.command("api", "pools.create", "tenantId=root", "name=h100")
        self.stop(serve)
        with open(self.path("etc/better-compute/better-compute.toml"), "a", encoding="utf-8") as file:
            file.write("\n[events.retention]\ndelivered_days = 7\n")

        # An upgrade keeps what the operator wrote, and the data.
        self.install(second)
        self.assertIn("99.0.0", self.inside("dpkg-query", "-W", "better-compute"))
        with open(self.path("etc/better-compute/better-compute.toml"), encoding="utf-8") as file:
            self.assertIn("delivered_days = 7", file.read())
        serve = self.serve()
        self.assertEqual(self.command("api", "pools.list", "tenantId=root", "--query", "items[].name"), "h100")
        self.stop(serve)

        # Removing leaves configuration and data; purging takes the configuration and says what it leaves.
        self.inside("apt-get", "remove", "-y", "-q", "better-compute")
        self.assertFalse(os.path.exists(self.path("usr/bin/better-compute")))
        self.assertTrue(os.path.exists(self.path("etc/better-compute/better-compute.toml")))
        said = self.inside("apt-get", "purge", "-y", "-q", "better-compute")
        self.assertIn("/var/lib/better-compute holds data", said)
        self.assertFalse(os.path.exists(self.path("etc/better-compute")))
        self.assertTrue(os.path.exists(self.path(HOME + "/better-compute.db")))
        self.assertFalse(os.path.islink(self.path("etc/systemd/system/multi-user.target.wants/better-compute.service")))

        # Installed again, it finds them.
        self.install(first)
        serve = self.serve()
        self.assertEqual(self.command("api", "pools.list", "tenantId=root", "--query", "items[].name"), "h100")
        self.stop(serve)


if __name__ == "__main__":
    unittest.main(verbosity=2)
