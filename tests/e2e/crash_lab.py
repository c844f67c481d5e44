"""A deployment that is killed again and again under load, and the oracle that says whether anything was lost.

Each life of the daemon starts "a minute later" (BETTER_COMPUTE_CLOCK_OFFSET_MS, test builds only), so that what a dead process had leased
is free again at once, as it would be had the next one been started a minute later.
"""

import collections
import http.client
import random
import signal
import subprocess
import threading
import time
import uuid

from harness import Deployment, Receiver, post, wait_for

MINUTE_MS = 60_000
DAY_MS = 86_400_000

# Where a daemon may be told to die, in the order of the way (git grep 'fail_point("').
DAEMON_POINTS = (
    "envelope.committed",
    "fanout-after-cursor",
    "fanout-before-commit",
    "fanout-after-commit",
    "deliver-before-commit",
    "deliver-after-claim",
    "deliver-before-renew",
    "deliver-after-renew",
    "deliver-before-send",
    "deliver-before-settle",
    "deliver-after-settle",
)
PRUNE_POINTS = ("prune-before-attempts", "prune-before-commit", "prune-after-commit")
ROTATE_POINTS = ("rotate-after-row", "rotate-before-commit", "rotate-after-commit")

SETTINGS = """[events]
allow_insecure = true
allow_private = true
[events.delivery]
timeout_ms = 1000
backoff_seconds = [1]
[events.retention]
delivered_days = 1
dead_days = 1
[outbox]
retention_days = 36500
"""

STATES = {"0": "pending", "1": "delivered", "2": "dead", "3": "cancelled"}
PATTERNS = (["pool.*"], ["*"], ["pool.created"], ["pool.deleted", "project.*"])

# Every claim raises `attempts` by one; a claim handed back lowers it. The log is the oracle's own count of both.
CLAIM_LOG = {
    "sqlite": """
create table claim_log (seq integer not null, round integer not null, step integer not null);
create trigger count_claims after update of attempts on webhook_deliveries
when new.attempts <> old.attempts and new.round = old.round
begin insert into claim_log values (new.seq, new.round, new.attempts - old.attempts); end;
""",
    "postgres": """
create table claim_log (seq bigint not null, round bigint not null, step bigint not null);
create function log_claim() returns trigger language plpgsql as
'begin insert into claim_log values (new.seq, new.round, new.attempts - old.attempts); return new; end';
create trigger count_claims after update on webhook_deliveries for each row
when (new.attempts <> old.attempts and new.round = old.round) execute function log_claim();
""",
}


def matches(patterns, event_type):
    return any(p in ("*", event_type) or (p.endswith(".*") and event_type.startswith(p[:-1])) for p in patterns)


class CrashLab:
    """Lives, loads and dies; check() raises AssertionError at the first thing that is not as promised."""

    def __init__(self, engine, seed=1, flaky=0.05):
        self.random = random.Random(seed)
        whim = random.Random(seed + 1)
        self.offset_ms = 0
        self.pools = 0
        self.settled = {}  # (webhook, event id) -> state, before some life: pruning may take them
        self.taken = set()  # (webhook, event id) that the receiver answered with 204
        self.kills = collections.Counter()
        self.receiver = Receiver(lambda delivery: 500 if whim.random() < flaky else self.take(delivery))
        self.deployment = Deployment(engine, SETTINGS)
        self.webhooks = {}  # id -> patterns
        first = self.serve()
        self.token = self.deployment.tenant("acme")
        self.execute(CLAIM_LOG[engine])
        for number, patterns in enumerate(PATTERNS):
            made = post(first.url, "webhooks/create", {
                "tenantId": "acme", "url": f"{self.receiver.url}/{number}", "events": patterns,
            }, self.token).data["webhook"]
            self.webhooks[made["id"]] = patterns
        assert first.stop() == 0

    def take(self, delivery):
        self.taken.add((delivery.headers["X-Better-Compute-Webhook"], delivery.event["id"]))
        return 204

    def close(self):
        self.deployment.close()
        self.receiver.close()

    def execute(self, script):
        """Writes past the product: for what only the test needs."""
        if self.deployment.engine == "postgres":
            self.deployment.sql(script)
            return
        path = self.deployment.database.removeprefix("sqlite:")
        subprocess.run(["sqlite3", "-cmd", ".timeout 10000", path, script], check=True, capture_output=True)

    def env(self, point=None, at_pass=1):
        env = {"BETTER_COMPUTE_CLOCK_OFFSET_MS": str(self.offset_ms)}
        if point:
            env["BETTER_COMPUTE_FAIL_POINT"] = f"{point}:{at_pass}"
        return env

    def serve(self, point=None, at_pass=1, later_ms=MINUTE_MS):
        if self.webhooks:
            self.note_settled()
        self.offset_ms += later_ms
        return self.deployment.serve(env=self.env(point, at_pass), expect_ready=point is None)

    def load(self, daemon, seconds, enough=10**9):
        """Changes of three kinds until the daemon is gone, the time is up or `enough` were made; returns how many were answered."""
        answered = 0
        end = time.monotonic() + seconds
        while time.monotonic() < end and answered < enough and daemon.process.poll() is None:
            self.pools += 1
            try:
                made = post(daemon.url, "pools/create", {"tenantId": "acme", "name": f"p{self.pools}"}, self.token)
                if made.status == 200 and self.pools % 3 == 0:
                    post(daemon.url, "pools/delete", {"tenantId": "acme", "poolId": made.data["id"]}, self.token)
                answered += 1
            except (OSError, http.client.HTTPException):
                daemon.wait_killed()  # it died under the call, so a moment later it is gone
        return answered

    def die_at(self, point, at_pass, seconds):
        """One life: load until the fail point is met, else kill -9 wherever the daemon is then."""
        later_ms = MINUTE_MS
        if point in PRUNE_POINTS:
            later_ms += DAY_MS
            self.check_settled(self.rows())  # before they are gone
        daemon = self.serve(point, at_pass, later_ms)
        if daemon.wait_ready():
            threads = [threading.Thread(target=self.load, args=(daemon, seconds)) for _ in range(2)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        if daemon.process.poll() is None:
            daemon.kill()
            self.kills["anywhere"] += 1
        else:
            assert daemon.process.returncode == -signal.SIGKILL, daemon.log()
            self.kills[point] += 1

    def rotate(self, point):
        """A new deployment secret, with the command that seals anew killed halfway and repeated after a life beside it."""
        old = self.deployment.secret
        self.deployment.secret = "crash-secret-" + uuid.uuid4().hex + uuid.uuid4().hex
        self.write_secrets(self.deployment.secret, [old])
        died = self.deployment.cli("secrets", "rotate", "--json", env=self.env(point))
        assert died.status == -signal.SIGKILL, (point, died.status, died.err)
        self.kills[point] += 1
        between = self.serve()
        self.load(between, 0.3)
        between.kill()
        again = self.deployment.cli("secrets", "rotate", "--json", env=self.env())
        assert again.status == 0 and again.json["remaining"] == 0, (again.out, again.err)
        self.write_secrets(self.deployment.secret, [])

    def write_secrets(self, secret, previous):
        with open(self.deployment.config, encoding="utf-8") as file:
            lines = [line for line in file if not line.startswith(("secret =", "previous_secrets ="))]
        listed = ", ".join(f'"{one}"' for one in previous)
        with open(self.deployment.config, "w", encoding="utf-8") as file:
            file.writelines([f'secret = "{secret}"\n', f"previous_secrets = [{listed}]\n", *lines])

    def rows(self):
        """(webhook, event id) -> (delivery id, state, attempts, round, seq)."""
        return {
            (webhook, event): (identity, STATES[state], int(attempts), int(round_), seq)
            for webhook, event, identity, state, attempts, round_, seq in self.deployment.sql(
                "select w.id, b.event_id, d.id, d.state, d.attempts, d.round, d.seq from webhook_deliveries d "
                "join webhooks w on w.num = d.webhook join webhook_bodies b on b.event = d.event"
            )
        }

    def note_settled(self):
        """Every life prunes when it starts. What is settled now may be gone after it, and what it delivers; nothing else."""
        for key, (_, state, *_rest) in self.rows().items():
            if state != "pending":
                self.settled[key] = state

    def finish(self):
        """A last life without a fail point; returns when nothing is pending."""
        daemon = self.serve()
        assert self.load(daemon, 10, enough=3) > 0
        wait_for(
            lambda: self.deployment.sql("select count(*) from webhook_deliveries where state = 0") == [("0",)]
            and not self.missing(),
            "everything is settled",
        )
        assert daemon.stop() == 0

    def expected(self):
        events = self.deployment.sql("select id, type from outbox_events where tenant_id = 'acme'")
        return {
            (webhook, event) for event, kind in events for webhook, patterns in self.webhooks.items() if matches(patterns, kind)
        }

    def missing(self):
        return self.expected() - set(self.rows()) - set(self.settled) - self.taken

    def check(self):
        rows = self.rows()
        expected = self.expected()
        assert expected, "the load left no event"
        assert not (lost := self.missing()), f"lost: {sorted(lost)[:5]} of {len(lost)}"
        assert not (extra := set(rows) - expected), f"nobody asked for: {sorted(extra)[:5]}"
        self.check_settled(rows)
        return rows

    def check_settled(self, rows):
        self.check_receipts(rows)
        self.check_attempts(rows)

    def check_receipts(self, rows):
        bodies = dict(self.deployment.sql("select event_id, body from webhook_bodies"))
        copies = collections.defaultdict(list)
        for delivery in self.receiver.seen():
            copies[(delivery.headers["X-Better-Compute-Webhook"], delivery.event["id"])].append(delivery)
        for key, each in copies.items():
            assert len({d.id for d in each}) == 1, f"{key}: the id changed"
            assert len({d.body for d in each}) == 1, f"{key}: the bytes changed"
            if key in rows:
                assert each[0].id == rows[key][0], f"{key}: another id than the queue's"
                assert each[0].body.decode() == bodies[key[1]], f"{key}: other bytes than the queue's"
        for key, (identity, state, *_rest) in rows.items():
            assert state != "delivered" or copies[key], f"{identity} is delivered and never came"
        self.copies = copies

    def check_attempts(self, rows):
        records = collections.defaultdict(dict)
        for seq, round_, attempt, outcome in self.deployment.sql("select delivery, round, attempt, outcome from webhook_attempts"):
            records[(seq, int(round_))][int(attempt)] = outcome
        claims = collections.Counter()
        for seq, round_, step, count in self.deployment.sql("select seq, round, step, count(*) from claim_log group by seq, round, step"):
            assert step in ("1", "-1"), f"delivery {seq}: attempts moved by {step}"
            claims[(seq, int(round_))] += int(step) * int(count)
        for key, (identity, state, attempts, round_, seq) in rows.items():
            assert claims[(seq, round_)] == attempts, f"{identity}: {attempts} attempts, {claims[(seq, round_)]} claims"
            if state not in ("delivered", "dead"):
                continue  # what a dead process claimed is recorded when its lane is taken up again
            numbers = sorted(records[(seq, round_)])
            assert numbers == list(range(1, attempts + 1)), f"{identity}: {attempts} attempts, records of {numbers}"
            # Each copy belongs to an attempt of its own, answered or unknown: so one of two is marked unknown, or was refused.
            outcomes = collections.Counter(records[(seq, round_)].values())
            assert outcomes["1"] + outcomes["2"] >= len(self.copies[key]), f"{identity}: came {len(self.copies[key])} times, attempts {outcomes}"
