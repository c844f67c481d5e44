"""A receiver that hangs is nobody else's trouble, however much waits for it."""

import collections
import sqlite3
import threading
import time
import unittest

from harness import OPEN_RECEIVERS, EngineCase, both_engines, post, wait_for

BACKLOG = 5_000
HEALTHY = 19
EVENTS = 50
BOUND_SECONDS = 5

BACKLOG_SQL = {
    "sqlite": "with recursive n(i) as (select 0 union all select i + 1 from n where i + 1 < ?) "
    "insert into outbox_events (txid, id, tenant_id, type, subject, time, data) "
    "select (select coalesce(max(seq), 0) + 1 from outbox_events), printf('evt_%026d', i), 'stuck', 'pool.created', 'pool/p' || i, "
    "1790244902000, '{}' from n",
    "postgres": "insert into outbox_events (txid, id, tenant_id, type, subject, time, data) "
    "select outbox_txid(), 'evt_' || lpad(i::text, 26, '0'), 'stuck', 'pool.created', 'pool/p' || i, 1790244902000, '{}' "
    f"from generate_series(0, {BACKLOG} - 1) i",
}


def commit_backlog(deployment):
    """BACKLOG events of the tenant `stuck`, in one transaction."""
    if deployment.engine == "postgres":
        deployment.sql(BACKLOG_SQL["postgres"])
        return
    connection = sqlite3.connect(deployment.database.removeprefix("sqlite:"), timeout=30)
    with connection:
        connection.execute(BACKLOG_SQL["sqlite"], (BACKLOG,))
    connection.close()


def hanging_receiver(case):
    """Takes every request and does not answer before the test ends."""
    is_over = threading.Event()

    def answer(_):
        is_over.wait(300)
        return 204

    receiver = case.receiver(answer)
    case.addCleanup(is_over.set)
    return receiver


class Fairness(EngineCase):
    __test__ = False

    def test_a_hanging_receiver_with_a_backlog_delays_no_healthy_one(self):
        deployment = self.make()
        stuck, healthy = hanging_receiver(self), self.receiver()
        daemon = deployment.serve()
        stuck_token, token = deployment.tenant("stuck"), deployment.tenant("acme")
        post(daemon.url, "webhooks/create", {"tenantId": "stuck", "url": stuck.url, "events": ["*"]}, stuck_token).data
        for number in range(HEALTHY):
            post(
                daemon.url, "webhooks/create",
                {"tenantId": "acme", "url": f"{healthy.url}/{number}", "events": ["pool.created"]}, token,
            ).data
        commit_backlog(deployment)
        wait_for(
            lambda: deployment.sql("select count(*) from webhook_deliveries where state = 0") == [(str(BACKLOG),)] and stuck.seen(),
            "the backlog is due and its first request hangs",
        )

        called = {}
        for number in range(EVENTS):
            begun = time.time()
            made = post(daemon.url, "pools/create", {"tenantId": "acme", "name": f"p{number}"}, token)
            called["pool/" + made.data["id"]] = begun  # before the commit, so the wait is not made too short
        wait_for(lambda: len(healthy.ids()) == HEALTHY * EVENTS, "every healthy delivery")

        late = [d for d in healthy.seen() if d.at - called[d.event["subject"]] > BOUND_SECONDS]
        self.assertEqual(late, [])
        pending = deployment.sql(
            "select count(*) from webhook_deliveries d join webhooks w on w.num = d.webhook where w.tenant_id = 'stuck' and d.state = 0"
        )
        self.assertEqual(pending, [(str(BACKLOG),)])


both_engines(globals(), Fairness)


class TwoWorkers(EngineCase):
    engine = "postgres"

    def test_two_workers_make_each_attempt_at_a_hanging_receiver_once(self):
        attempts, timeout_ms, events = 4, 250, 6
        deployment = self.make(
            OPEN_RECEIVERS
            + f"[events.delivery]\nmax_attempts = {attempts}\nbackoff_seconds = [1]\ntimeout_ms = {timeout_ms}\n"
        )
        receiver = hanging_receiver(self)
        api = deployment.serve("--roles", "api")
        for _ in range(2):
            deployment.serve("--roles", "controllers")
        token = deployment.tenant("acme")
        post(api.url, "webhooks/create", {"tenantId": "acme", "url": receiver.url, "events": ["pool.*"]}, token).data
        for number in range(events):
            post(api.url, "pools/create", {"tenantId": "acme", "name": f"p{number}"}, token).data

        wait_for(
            lambda: deployment.sql("select count(*) from webhook_deliveries where state = 2") == [(str(events),)],
            "every delivery is dead",
        )

        requests = collections.Counter(d.id for d in receiver.seen())
        self.assertEqual(set(requests.values()), {attempts})
        records = collections.defaultdict(list)
        for delivery, attempt, outcome in deployment.sql(
            "select d.id, a.attempt, a.outcome from webhook_attempts a join webhook_deliveries d on d.seq = a.delivery order by a.attempt"
        ):
            self.assertEqual(outcome, "1")  # sent, nobody knows what became of it
            records[delivery].append(int(attempt))
        self.assertEqual(dict(records), {delivery: list(range(1, attempts + 1)) for delivery in requests})
        spans = [
            (int(started), int(ended))
            for started, ended in deployment.sql("select started_at, ended_at from webhook_attempts order by started_at, ended_at")
        ]
        for (_, ended), (started, _) in zip(spans, spans[1:]):
            self.assertGreaterEqual(started, ended, "two requests were under way at once")


if __name__ == "__main__":
    unittest.main(verbosity=2)
