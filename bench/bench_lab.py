"""What the measurements stand on: a sink, the raw rate, deployments with events or deliveries put into their tables beforehand."""

import contextlib
import json
import os
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
sys.path.insert(0, os.path.join(ROOT, "tests/e2e"))
from harness import Deployment, post  # noqa: E402

BUILD = os.environ.get("BETTER_COMPUTE_BENCH_BUILD", os.path.join(ROOT, "build/bench"))
SETTINGS = "[events]\nallow_insecure = true\nallow_private = true\nmax_per_tenant = 100000\n"
PER_TENANT = 20
DATA_BYTES = 360  # makes a body of about 600 bytes
DAY_MS = 86_400_000


class Sink:
    """bench_sink on a free port; with `tls` a second port that speaks TLS under a certificate of this run (`ca_file`)."""

    def __init__(self, tls=False):
        args = [BUILD + "/bench/sink/bench_sink", "--port", "0"]
        self._temp = tempfile.TemporaryDirectory(prefix="better-compute-bench-")
        self.ca_file = None
        if tls:
            self.ca_file, key = os.path.join(self._temp.name, "cert.pem"), os.path.join(self._temp.name, "key.pem")
            subprocess.run(
                ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj",
                 "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", self.ca_file],
                check=True, capture_output=True,
            )
            args += ["--tls-port", "0", "--cert", self.ca_file, "--key", key]
        self.process = subprocess.Popen(args, stdout=subprocess.PIPE, text=True)
        ports = self.process.stdout.readline().split(", TLS on ")
        self.control = f"http://127.0.0.1:{int(ports[0].rsplit(':', 1)[1])}"
        self.url = f"https://127.0.0.1:{int(ports[1])}" if tls else self.control

    def count(self):
        with urllib.request.urlopen(self.control + "/count", timeout=10) as answer:
            return json.load(answer)

    def reset(self):
        urllib.request.urlopen(urllib.request.Request(self.control + "/reset", method="POST", data=b""), timeout=10).close()

    def wait(self, fact, deadline=200):
        """The figures once fact(figures) holds; asked seldom, for the sink keeps the times itself."""
        end = time.monotonic() + deadline
        while not fact(figures := self.count()):
            if time.monotonic() > end:
                raise AssertionError(f"did not come to an end: {figures}")
            time.sleep(0.05)
        return figures

    def close(self):
        self.process.terminate()
        self.process.wait()
        self._temp.cleanup()


def raw(sink, count):
    """POSTs a second of one libcurl loop to the same sink, in the same minute."""
    args = [BUILD + "/bench/bench_raw_curl", sink.url + "/hook", str(count), "64", *([sink.ca_file] if sink.ca_file else [])]
    return json.loads(subprocess.run(args, capture_output=True, text=True, check=True).stdout)["perSecond"]


def cpu_seconds(pid):
    with open(f"/proc/{pid}/stat", encoding="utf-8") as stat:
        fields = stat.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextlib.contextmanager
def deployment(engine, sink=None, settings=SETTINGS):
    if sink and sink.ca_file:
        settings += f'ca_file = "{sink.ca_file}"\n'
    made = Deployment(engine, settings)
    try:
        yield made
    finally:
        made.close()


def execute(made, sql):
    """One statement or script straight on the database, committed; for filling tables."""
    if made.engine == "postgres":
        made.sql(sql)
        return
    connection = sqlite3.connect(made.database.removeprefix("sqlite:"), timeout=60)
    with connection:
        connection.executescript(sql)
    connection.close()


def make_webhooks(made, urls):
    """One webhook per URL, 20 to a tenant; returns the tenants. No worker runs meanwhile."""
    daemon = made.serve("--roles", "api")
    tenants = [f"t{i}" for i in range((len(urls) + PER_TENANT - 1) // PER_TENANT)]
    for number, tenant in enumerate(tenants):
        token = made.tenant(tenant)
        for url in urls[number * PER_TENANT : (number + 1) * PER_TENANT]:
            post(daemon.url, "webhooks/create", {"tenantId": tenant, "url": url, "events": ["pool.*"]}, token).data
    assert daemon.stop() == 0
    return tenants


def numbers(made, count):
    """The FROM item n(i) with 0 .. count - 1."""
    if made.engine == "postgres":
        return f"generate_series(0, {count} - 1) n(i)"
    return f"(with recursive n(i) as (select 0 union all select i + 1 from n where i + 1 < {count}) select i from n) n"


def data_text():
    return json.dumps({"name": "x" * DATA_BYTES, "changed": []})


def fill_outbox(made, tenants, events):
    """`events` events for each tenant, as one transaction would have left them."""
    txid = "outbox_txid()" if made.engine == "postgres" else "(select coalesce(max(seq), 0) + 1 from outbox_events)"
    digits = "lpad(n.i::text, 20, '0')" if made.engine == "postgres" else "printf('%020d', n.i)"
    for number, tenant in enumerate(tenants):
        execute(made, (
            "insert into outbox_events (txid, id, tenant_id, type, subject, time, data) "
            f"select {txid}, 'evt_{number:06d}' || {digits}, '{tenant}', 'pool.created', "
            f"'pool/pool_' || {digits}, 1790244902000, '{data_text()}' from {numbers(made, events)}"
        ))


def fill_queue(made, tenants, events, queued_at=0, state=0, prefix="q"):
    """`events` events for each tenant, queued for each of its webhooks, as fan-out would have left them: pending and due, or settled."""
    body = json.dumps({
        "id": "evt_" + "0" * 26, "type": "pool.created", "tenantId": tenants[0], "subject": "pool/pool_" + "0" * 26,
        "time": "2026-09-24T10:15:02.114Z", "sequence": "88213.51120", "data": json.loads(data_text()),
    }, separators=(",", ":"))
    for tenant in tenants:
        execute(made, (
            "insert into webhook_bodies (event_id, tenant_id, type, position, body) "
            f"select 'evt_{prefix}{tenant}-' || n.i, '{tenant}', 'pool.created', '1.' || n.i, '{body}' from {numbers(made, events)}"
        ))
    execute(made, (
        "insert into webhook_deliveries (id, webhook, event, state, next_at, queued_at, done_at, attempts, last_status) "
        f"select 'dlv_{prefix}' || w.num || '-' || b.event, w.num, b.event, {state}, {queued_at}, {queued_at}, "
        f"{'null, 0, null' if state == 0 else f'{queued_at}, 1, 204'} "
        f"from webhook_bodies b join webhooks w on w.tenant_id = b.tenant_id where b.event_id like 'evt_{prefix}%' order by b.event, w.num"
    ))
    if state == 0:
        execute(made, "update webhook_lanes set due_at = 0")
    if made.engine == "postgres":
        made.sql("vacuum analyze")


def spread(values):
    return {"median": statistics.median(values), "min": min(values), "max": max(values)}


def cell(values, digits=0):
    """`median (min-max)`."""
    s = spread(values)
    return f"{s['median']:,.{digits}f} ({s['min']:,.{digits}f}-{s['max']:,.{digits}f})"
