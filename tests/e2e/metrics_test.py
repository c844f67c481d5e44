"""What /metrics says: every metric that operators were promised, in Prometheus's format, and the dashboard draws nothing else."""

import json
import math
import os
import re
import unittest
import urllib.error
import urllib.request

from harness import EngineCase, both_engines, post, wait_for

DASHBOARD = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../packaging/grafana-dashboard.json")
LINE = re.compile(r'^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{((?:[a-z_]+="[^"\n]*",?)*)\})? (\S+)$')
LABEL = re.compile(r'([a-z_]+)="([^"]*)"')
NAME = re.compile(r"\bbetter_compute_[a-z_]+")
SUFFIX = re.compile(r"_(bucket|sum|count)$")


class Scrape:
    """One answer of /metrics, taken apart; a line that is no sample fails."""

    def __init__(self, url):
        with urllib.request.urlopen(url + "/metrics", timeout=30) as answer:
            self.text = answer.read().decode()
        self.types, self.samples = {}, []
        for line in self.text.splitlines():
            if line.startswith("# TYPE "):
                _, _, name, kind = line.split(" ")
                assert name not in self.types, f"{name} comes twice"
                self.types[name] = kind
            elif line and not line.startswith("#"):
                match = LINE.match(line)
                assert match, f"no sample: {line}"
                self.samples.append((match[1], dict(LABEL.findall(match[2] or "")), float(match[3])))

    def family(self, name):
        return name if name in self.types else SUFFIX.sub("", name)

    def value(self, name, **labels):
        found = [v for n, l, v in self.samples if n == name and all(l.get(k) == w for k, w in labels.items())]
        assert found, f"no sample {name} {labels}"
        return sum(found)


class Metrics(EngineCase):
    __test__ = False

    def setUp(self):
        self.down = False
        self.receiver_ = self.receiver(lambda delivery: 410 if self.down else 204)
        self.deployment = self.make()
        self.daemon = self.deployment.serve()
        self.token = self.deployment.tenant("acme")

    def call(self, path, **fields):
        return post(self.daemon.url, path, {"tenantId": "acme", **fields}, self.token)

    def scrape(self):
        return Scrape(self.daemon.url)

    def test_only_this_machine_and_the_admin_listener_see_them(self):
        self.assertEqual(self.daemon.stop(), 0)
        with open(self.deployment.config, encoding="utf-8") as file:
            text = file.read()
        with open(self.deployment.config, "w", encoding="utf-8") as file:
            file.write('admin_listen = "127.0.0.1:0"\nbehind_proxy = true\n' + text)
        daemon = self.deployment.serve()
        admin = re.search(r"^metrics too: (http://.*)/metrics$", daemon.log(), re.M)[1]

        def status(url, path, **headers):
            try:
                with urllib.request.urlopen(urllib.request.Request(url + path, headers=headers), timeout=30) as answer:
                    return answer.status
            except urllib.error.HTTPError as refused:
                return refused.code

        away = {"X-Forwarded-For": "203.0.113.9"}
        self.assertEqual(status(daemon.url, "/metrics"), 200)
        self.assertEqual(status(daemon.url, "/metrics", **away), 404)
        self.assertEqual(status(admin, "/metrics", **away), 200)
        self.assertEqual(status(daemon.url, "/healthz", **away), 200)
        self.assertEqual(post(admin, "pools/list", {"tenantId": "acme"}, self.token).status, 404)  # no methods there

    def test_what_happens_is_counted(self):
        self.call("webhooks/create", url=self.receiver_.url, events=["pool.*"])
        self.assertEqual(self.call("pools/create", name="a100").status, 200)
        self.assertEqual(self.call("pools/create", name="a100").code, "CONFLICT")
        wait_for(lambda: self.scrape().value("better_compute_webhook_attempts_total", result="delivered") == 1, "a delivery")
        self.down = True
        self.assertEqual(self.call("pools/create", name="h100").status, 200)
        wait_for(lambda: self.scrape().value("better_compute_webhook_queue", state="dead") == 1, "a dead letter")

        seen = self.scrape()

        self.assertEqual(seen.value("better_compute_calls_total", method="pools/create", code="OK"), 2)
        self.assertEqual(seen.value("better_compute_calls_total", method="pools/create", code="CONFLICT"), 1)
        self.assertEqual(seen.value("better_compute_call_seconds_count", method="pools/create"), 3)
        self.assertEqual(seen.value("better_compute_decision_seconds_count"), 4)
        self.assertEqual(seen.value("better_compute_webhook_attempts_total", result="dead"), 1)
        self.assertEqual(seen.value("better_compute_webhook_claims_total"), 2)
        self.assertEqual(seen.value("better_compute_webhook_queue", state="pending"), 0)
        self.assertEqual(seen.value("better_compute_webhook_oldest_due_seconds"), 0)
        self.assertEqual(seen.value("better_compute_outbox_lag_seconds"), 0)
        self.assertGreaterEqual(seen.value("better_compute_database_transaction_seconds_count", kind="write", purpose="call"), 3)
        self.assertGreaterEqual(seen.value("better_compute_database_pool", state="open"), 1)
        self.assertGreaterEqual(seen.value("better_compute_database_pool", state="size"), seen.value("better_compute_database_pool", state="in_use"))
        if self.engine == "sqlite":
            self.assertGreater(seen.value("better_compute_database_file_bytes", file="wal"), 0)

    def test_the_format_holds(self):
        self.call("pools/list")

        seen = self.scrape()

        for name, labels, value in seen.samples:
            family = seen.family(name)
            self.assertIn(family, seen.types, name)
            self.assertTrue(family.startswith("better_compute_"), name)
            self.assertFalse(math.isnan(value), name)
            # Labels have few values: nothing in them comes from a tenant.
            self.assertLessEqual(set(labels), {"method", "code", "purpose", "kind", "state", "result", "file", "le", "quantile"}, name)
            self.assertEqual(family.endswith("_total"), seen.types[family] == "counter", name)
        self.assertNotIn("acme", seen.text)
        buckets = [v for n, l, v in seen.samples if n == "better_compute_decision_seconds_bucket"]
        self.assertEqual(buckets, sorted(buckets))
        self.assertEqual(buckets[-1], seen.value("better_compute_decision_seconds_count"))

    def test_the_dashboard_draws_what_there_is(self):
        self.call("pools/list")
        with open(DASHBOARD, encoding="utf-8") as file:
            dashboard = json.load(file)
        drawn = set()
        for panel in dashboard["panels"]:
            for target in panel["targets"]:
                drawn |= set(NAME.findall(target["expr"]))
        drawn |= set(NAME.findall(dashboard["templating"]["list"][1]["query"]))
        seen = self.scrape()
        families = {seen.family(name) for name in drawn}

        missing = families - set(seen.types)
        if self.engine == "postgres":
            missing.discard("better_compute_database_file_bytes")  # the server has the files
        self.assertEqual(missing, set())
        for name in drawn - families:
            self.assertIn(seen.types[seen.family(name)], ("histogram", "summary"), name)
        ids = [panel["id"] for panel in dashboard["panels"]]
        self.assertEqual(len(ids), len(set(ids)))


both_engines(globals(), Metrics)

if __name__ == "__main__":
    unittest.main(verbosity=2)
