"""What the end-to-end tests stand on: deployments on either engine, daemons, the command line, and a receiver.

The binary is BETTER_COMPUTE_BINARY; PostgreSQL is the cluster of BETTER_COMPUTE_TEST_POSTGRES (tests on it fail without). Nothing
here sleeps to let time pass: `wait_for` polls for a fact until a deadline.
"""

import hashlib
import hmac
import http.client
import http.server
import json
import os
import signal
import socket
import sqlite3
import subprocess
import tempfile
import threading
import time
import unittest
import urllib.parse
import uuid

BINARY = os.environ.get("BETTER_COMPUTE_BINARY") or os.path.join(
    os.path.dirname(os.path.abspath(__file__)), "../../build/test/better-compute"
)
ENGINES = ("sqlite", "postgres")
DEADLINE = float(os.environ.get("BETTER_COMPUTE_TEST_DEADLINE", "60"))
ALLOW_ALL = {"version": 1, "statements": [{"effect": "allow", "actions": ["compute:*"], "resources": ["*"]}]}


def wait_for(fact, what, deadline=None):
    """Returns the first truthy value of fact(); fails naming `what` after the deadline."""
    end = time.monotonic() + (deadline or DEADLINE)
    while True:
        value = fact()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError(f"did not happen in time: {what}")
        time.sleep(0.01)


class Answer:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    @property
    def json(self):
        return json.loads(self.body)

    @property
    def data(self):
        assert self.status == 200, f"{self.status}: {self.body[:500]!r}"
        return self.json["data"]

    @property
    def code(self):
        return self.json["error"]["code"]


def post(url, path, body, token=None, headers=None, base="/api/compute/"):
    """One POST; `body` is an object or raw bytes. `headers` replace the usual ones; a None value drops one."""
    parts = urllib.parse.urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=DEADLINE)
    all_headers = {"Content-Type": "application/json", "X-Better-Compute": "1"}
    if token:
        all_headers["Authorization"] = "Bearer " + token
    all_headers.update(headers or {})
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    try:
        connection.request("POST", base + path, data, {k: v for k, v in all_headers.items() if v is not None})
        answer = connection.getresponse()
        return Answer(answer.status, dict(answer.getheaders()), answer.read())
    finally:
        connection.close()


class Result:
    def __init__(self, process):
        self.status, self.out, self.err = process.returncode, process.stdout, process.stderr

    @property
    def json(self):
        return json.loads(self.out)


class Daemon:
    """A running `serve`. Its standard error goes to `log_path`."""

    def __init__(self, deployment, args, env, expect_ready=True):
        self.ready_file = os.path.join(deployment.dir, f"ready-{uuid.uuid4().hex}")
        self.log_path = os.path.join(deployment.dir, f"serve-{uuid.uuid4().hex}.log")
        self.args = [BINARY, "serve", "--config", deployment.config, "--ready-file", self.ready_file, *args]
        with open(self.log_path, "wb") as log:
            self.process = subprocess.Popen(
                self.args, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=env, cwd=deployment.dir
            )
        if expect_ready and not self.wait_ready():
            raise AssertionError("serve ended: " + self.log())

    def wait_ready(self):
        """Waits until it answers; False when it ended first."""
        wait_for(lambda: os.path.exists(self.ready_file) or self.process.poll() is not None, "serve is ready")
        if not os.path.exists(self.ready_file):
            return False
        with open(self.ready_file, encoding="utf-8") as ready:
            self.url = json.load(ready)["url"]
        return True

    def log(self):
        with open(self.log_path, encoding="utf-8", errors="replace") as log:
            return log.read()

    def kill(self):
        self.process.kill()
        self.process.wait(DEADLINE)

    def wait_killed(self):
        """Waits until the process has died by itself (a fail point)."""
        self.process.wait(DEADLINE)
        assert self.process.returncode == -signal.SIGKILL, f"{self.process.returncode}: {self.log()}"

    def stop(self):
        """SIGTERM; returns the exit status."""
        if self.process.poll() is None:
            self.process.terminate()
            self.process.wait(DEADLINE)
        return self.process.returncode


class Deployment:
    """A configuration with a database of its own, and all that runs on it."""

    def __init__(self, engine, settings=""):
        self.engine = engine
        self._temp = tempfile.TemporaryDirectory(prefix="better-compute-e2e-")
        self.dir = self._temp.name
        self.daemons = []
        self.tokens = []
        self.secret = "e2e-deployment-secret-" + uuid.uuid4().hex
        if engine == "sqlite":
            self.database = "sqlite:" + os.path.join(self.dir, "compute.db")
        else:
            admin = os.environ.get("BETTER_COMPUTE_TEST_POSTGRES")
            assert admin, "BETTER_COMPUTE_TEST_POSTGRES is not set: run the tests with ./dev test"
            self._admin = admin
            self._name = "e2e_" + uuid.uuid4().hex
            self._psql(admin, f"create database {self._name}")
            parts = urllib.parse.urlsplit(admin)
            self.database = urllib.parse.urlunsplit(parts._replace(path="/" + self._name))
        self.config = os.path.join(self.dir, "better-compute.toml")
        with open(self.config, "w", encoding="utf-8") as config:
            config.write(f'listen = "127.0.0.1:0"\nsecret = "{self.secret}"\n{settings}\n')
            if "[database]" not in settings:
                config.write(f'[database]\nurl = "{self.database}"\n')
        os.chmod(self.config, 0o600)
        if engine == "postgres":
            assert self.cli("migrate").status == 0

    @staticmethod
    def _psql(url, sql):
        done = subprocess.run(
            ["psql", "-X", "-q", "-t", "-A", "-F", "\x1f", "-v", "ON_ERROR_STOP=1", "-c", sql, url],
            capture_output=True, text=True, check=False,
        )
        assert done.returncode == 0, done.stderr
        return [tuple(line.split("\x1f")) for line in done.stdout.splitlines()]

    def sql(self, text):
        """Rows of a query straight on the database, cells as text."""
        if self.engine == "postgres":
            return self._psql(self.database, text)
        connection = sqlite3.connect(f"file:{self.database.removeprefix('sqlite:')}?mode=ro", uri=True, timeout=10)
        try:
            return [tuple("" if cell is None else str(cell) for cell in row) for row in connection.execute(text)]
        finally:
            connection.close()

    def root_token_file(self):
        """Where the first `serve` on an empty database leaves the root token."""
        base = self.database.removeprefix("sqlite:") if self.engine == "sqlite" else os.path.join(self.dir, self._name)
        return base + ".root-token"

    def env(self, extra=None):
        env = {k: v for k, v in os.environ.items() if not k.startswith("BETTER_COMPUTE_")}
        env.update(extra or {})
        return env

    def serve(self, *args, env=None, expect_ready=True):
        daemon = Daemon(self, args, self.env(env), expect_ready)
        self.daemons.append(daemon)
        return daemon

    def cli(self, *args, token=None, env=None, stdin=None):
        extra = dict(env or {})
        extra.setdefault("BETTER_COMPUTE_CONFIG", self.config)
        if token:
            extra["BETTER_COMPUTE_TOKEN"] = token
        done = subprocess.run(
            [BINARY, *args], capture_output=True, text=True, check=False, env=self.env(extra), input=stdin,
            cwd=self.dir, timeout=DEADLINE,
        )
        return Result(done)

    def tenant(self, tenant, identity="ops", document=None):
        """Makes a tenant with an identity that may do everything in it (or what `document` says); returns its token."""
        self.apply({
            "version": 1,
            "tenants": [{"id": tenant}],
            "policies": [{"tenant": tenant, "name": identity, "document": document or ALLOW_ALL}],
            "identities": [{"tenant": tenant, "id": identity, "kind": "service", "policies": [identity]}],
        })
        made = self.cli("iam", "tokens", "create", "--tenant", tenant, "--identity", identity, "--json")
        assert made.status == 0, made.err
        self.tokens.append(made.json["token"])
        return made.json["token"]

    def apply(self, document):
        path = os.path.join(self.dir, "iam.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(document, file)
        done = self.cli("iam", "apply", path)
        assert done.status == 0, done.err

    def close(self):
        for daemon in self.daemons:
            if daemon.process.poll() is None:
                daemon.kill()
        if self.engine == "postgres":
            self._psql(self._admin, f"drop database {self._name} with (force)")
        self._temp.cleanup()


class Delivery:
    def __init__(self, path, headers, body):
        self.at, self.path, self.headers, self.body = time.time(), path, headers, body

    @property
    def id(self):
        return self.headers["X-Better-Compute-Delivery"]

    @property
    def event(self):
        return json.loads(self.body)


class Receiver:
    """An HTTP/1.1 receiver on a free port; `answer(delivery)` gives the status (204 when None)."""

    def __init__(self, answer=None):
        self.deliveries = []
        self.answer = answer
        self._lock = threading.Lock()
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def do_POST(self):
                body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
                delivery = Delivery(self.path, dict(self.headers.items()), body)
                with receiver._lock:
                    receiver.deliveries.append(delivery)
                status = receiver.answer(delivery) if receiver.answer else 204
                self.send_response(status)
                if status != 204:
                    self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *args):
                pass

        class Server(http.server.ThreadingHTTPServer):
            request_queue_size = 128
            daemon_threads = True

            def handle_error(self, request, client_address):
                pass  # a daemon that was killed in the middle of a send

        self._server = Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/hook"
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def seen(self):
        with self._lock:
            return list(self.deliveries)

    def ids(self):
        return {delivery.id for delivery in self.seen()}

    def close(self):
        self._server.shutdown()
        self._server.server_close()


def openssl_signature(secret, timestamp, body):
    """The HMAC as the openssl program computes it."""
    done = subprocess.run(
        ["openssl", "dgst", "-sha256", "-hmac", secret, "-hex"],
        input=timestamp.encode() + b"." + body, capture_output=True, check=True,
    )
    return done.stdout.decode().strip().rpartition(" ")[2]


def is_signed(delivery, secret):
    expected = hmac.new(
        secret.encode(), delivery.headers["X-Better-Compute-Timestamp"].encode() + b"." + delivery.body, hashlib.sha256
    ).hexdigest()
    parts = [part.strip() for part in delivery.headers["X-Better-Compute-Signature"].split(",")]
    return "v1=" + expected in parts


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


OPEN_RECEIVERS = "[events]\nallow_insecure = true\nallow_private = true\n"


class EngineCase(unittest.TestCase):
    """Base of the test classes: `make(settings)` gives a deployment on the class's engine. See both_engines()."""

    engine = None

    def make(self, settings=OPEN_RECEIVERS):
        deployment = Deployment(self.engine, settings)
        self.addCleanup(deployment.close)
        return deployment

    def receiver(self, answer=None):
        receiver = Receiver(answer)
        self.addCleanup(receiver.close)
        return receiver


def both_engines(namespace, base):
    """Puts one subclass of `base` for each engine into `namespace` and takes `base` out of the loader's sight.

    They belong to the module of `namespace`: unittest runs the setUpModule of the module that a class says it is from."""
    for engine in ENGINES:
        name = base.__name__ + engine.capitalize()
        namespace[name] = type(name, (base,), {"engine": engine, "__test__": True, "__module__": namespace["__name__"]})
    namespace.pop(base.__name__, None)
