"""Upgrades: a database of every earlier state, with data in it, comes to the newest; one from the future is left alone."""

import contextlib
import hashlib
import json
import os
import sqlite3
import unittest

from harness import EngineCase, both_engines, post, wait_for

LEDGER = (
    "create table schema_migrations (position integer not null unique, name text primary key, applied_at bigint not null, checksum text not null)"
)
FUTURE = "insert into schema_migrations (position, name, applied_at, checksum) values (9999, 'core/9999_future', 1, 'x')"


class Store:
    """Straight access to the database of a deployment, writing too."""

    def __init__(self, deployment):
        self.deployment = deployment

    def script(self, text):
        if self.deployment.engine == "postgres":
            self.deployment.sql("begin;" + text + ";commit")
            return
        with contextlib.closing(sqlite3.connect(self.deployment.database.removeprefix("sqlite:"))) as connection:
            connection.executescript("begin;" + text + ";commit")

    def columns(self):
        """Every table with its columns."""
        if self.deployment.engine == "postgres":
            rows = self.deployment.sql(
                "select table_name, column_name from information_schema.columns where table_schema = 'public' and is_generated = 'NEVER'"
                " order by table_name, ordinal_position"
            )
        else:
            rows = self.deployment.sql(
                "select m.name, c.name from sqlite_schema m, pragma_table_info(m.name) c where m.type = 'table' and m.name not like 'sqlite_%'"
                " order by m.name, c.cid"
            )
        tables = {}
        for table, column in rows:
            tables.setdefault(table, []).append(column)
        tables.pop("schema_migrations", None)
        return tables

    def rows(self, tables):
        """The rows of each table, with these columns, each as one line of JSON, sorted."""
        if self.deployment.engine == "postgres":
            parts = [f"select '{t}', to_jsonb(x)::text from (select {', '.join(columns)} from {t}) x" for t, columns in tables.items()]
        else:
            pairs = {t: ", ".join(f"'{column}', {column}" for column in columns) for t, columns in tables.items()}
            parts = [f"select '{t}', json_object({pairs[t]}) from {t}" for t in tables]
        found = {table: [] for table in tables}
        for table, row in self.deployment.sql(" union all ".join(parts)):
            found[table].append(row)
        return {table: sorted(rows) for table, rows in found.items()}

    def move_sequences(self):
        """PostgreSQL's sequences go on behind what was put in by hand."""
        if self.deployment.engine == "postgres":
            self.deployment.sql(
                "do $$ declare c record; begin for c in select table_name t, column_name n from information_schema.columns where table_schema = 'public'"
                " and (is_identity = 'YES' or column_default like 'nextval%') loop execute format("
                "'select setval(pg_get_serial_sequence(%L, %L), coalesce((select max(%I) from %I), 0) + 1)', c.t, c.n, c.n, c.t); end loop; end $$"
            )

    def insert(self, table, columns, row):
        """The statement that puts a row, one line of JSON, into a table."""
        names, text = ", ".join(columns), row.replace("'", "''")
        if self.deployment.engine == "postgres":
            values = f"select {names} from jsonb_populate_record(null::{table}, '{text}'::jsonb)"
            return f"insert into {table} ({names}) overriding system value {values};"
        values = ", ".join(f"json_extract('{text}', '$.{column}')" for column in columns)
        return f"insert into {table} ({names}) values ({values});"


class Upgrade(EngineCase):
    __test__ = False

    def wipe(self, deployment):
        """Takes every table away."""
        if self.engine == "postgres":
            deployment.sql("drop schema public cascade; create schema public")
            return
        for end in ("", "-wal", "-shm"):
            with contextlib.suppress(FileNotFoundError):
                os.remove(deployment.database.removeprefix("sqlite:") + end)

    def lived_in(self):
        """A deployment of this release in which something has happened."""
        deployment = self.make()
        endpoint = self.receiver(lambda delivery: 410 if delivery.event["type"] == "pool.deleted" else 204)
        daemon = deployment.serve()
        token = deployment.tenant("acme")

        def call(path, **fields):
            return post(daemon.url, path, {"tenantId": "acme", **fields}, token).data

        call("webhooks/create", url=endpoint.url, events=["*"], description="who says 'so'")
        pools = [call("pools/create", name=name) for name in ("a100", "h100")]
        call("projects/create", name="training", idempotencyKey="training-1")
        call("pools/delete", poolId=pools[0]["id"])
        wait_for(lambda: deployment.sql("select count(*) from webhook_deliveries where state = 2") == [("1",)], "a dead letter")
        wait_for(lambda: deployment.sql("select count(*) from webhook_deliveries where state = 0") == [("0",)], "the queue is empty")
        self.assertEqual(daemon.stop(), 0)
        return deployment

    def test_every_earlier_state_with_data_comes_to_the_newest(self):
        source = self.lived_in()
        origin = Store(source)
        full = origin.columns()
        content = origin.rows(full)
        old = self.make()
        self.use_secret_of(old, source)
        self.wipe(old)
        migrations = old.cli("migrate", "--dry-run", "--json").json["pending"]
        self.assertGreaterEqual(len(migrations), 8)

        for count in range(1, len(migrations)):
            with self.subTest(last=migrations[count - 1]["name"]):
                self.wipe(old)
                self.upgrade_from(migrations[:count], full, content, old, source.tokens[0])

    def upgrade_from(self, applied, full, content, old, token):
        store = Store(old)
        script = LEDGER + ";"
        for position, migration in enumerate(applied, 1):
            checksum = hashlib.sha256(migration["sql"].encode()).hexdigest()
            script += f"{migration['sql']};insert into schema_migrations values ({position}, '{migration['name']}', 1, '{checksum}');"
        store.script(script)
        # What the release of that time would have had of the same history.
        script, known = "", {}
        for table, columns in store.columns().items():
            known[table] = [column for column in columns if column in full[table]]
            script += f"delete from {table};"
            for row in content[table]:
                script += store.insert(table, known[table], json.dumps({k: v for k, v in json.loads(row).items() if k in known[table]}))
        store.script(script)
        store.move_sequences()
        before = store.rows(known)
        self.assertEqual({table: len(rows) for table, rows in before.items()}, {table: len(content[table]) for table in known})
        self.assertEqual(old.cli("migrate", "status").status, 1)

        done = old.cli("migrate", "--json")

        self.assertEqual(done.status, 0, done.err)
        self.assertEqual(old.cli("migrate", "verify").status, 0)
        after = store.rows(known)
        # The upgrade itself is audited.
        after["audit_events"] = [row for row in after.get("audit_events", []) if row in before.get("audit_events", [])]
        if self.engine == "postgres":
            # Each start notes how far the server's transaction ids have come.
            was, now = (json.loads(state["outbox_state"].pop()) for state in (before, after))
            self.assertGreaterEqual(now.pop("highest_txid"), was.pop("highest_txid"))
            self.assertEqual(now, was)
        for table, rows in before.items():
            self.assertEqual(after[table], rows, table)
        report = old.cli("doctor", "--json")
        self.assertEqual([f for f in report.json["findings"] if f["severity"] == "error"], [])
        if any(m["name"].startswith("iam/") for m in applied) and any(m["name"].startswith("capacity/0001") for m in applied):
            listed = old.cli("api", "pools.list", "tenantId=acme", "--query", "items[].name", token=token)
            self.assertEqual((listed.status, listed.out), (0, "h100\n"), listed.err)

    @staticmethod
    def use_secret_of(deployment, source):
        with open(deployment.config, encoding="utf-8") as file:
            text = file.read().replace(deployment.secret, source.secret)
        with open(deployment.config, "w", encoding="utf-8") as file:
            file.write(text)

    def test_a_database_of_a_newer_release_is_refused(self):
        deployment = self.make()
        self.assertEqual(deployment.cli("migrate").status, 0)
        Store(deployment).script(FUTURE)

        up = deployment.cli("migrate")
        self.assertEqual((up.status, up.err.split(":")[0]), (1, "INVALID_CONFIG"))
        self.assertIn("core/9999_future", up.err)
        self.assertIn("Hint: use the binary that this database was migrated with", up.err)
        self.assertEqual(deployment.cli("migrate", "verify").status, 1)
        doctor = deployment.cli("doctor", "--json")
        self.assertEqual((doctor.status, doctor.json["ok"]), (1, False))
        self.assertIn("core.migrations", [f["check"] for f in doctor.json["findings"]])
        serve = deployment.serve(expect_ready=False)
        self.assertEqual(serve.process.wait(60), 1)
        self.assertIn("core/9999_future", serve.log())

    def test_an_edited_migration_is_named(self):
        deployment = self.make()
        self.assertEqual(deployment.cli("migrate").status, 0)
        Store(deployment).script("update schema_migrations set checksum = 'y' where name = 'events/0001_webhooks'")

        verify = deployment.cli("migrate", "verify", "--json")
        self.assertEqual((verify.status, verify.json["ok"]), (1, False))
        self.assertIn("events/0001_webhooks", verify.json["drift"][0])
        self.assertEqual(deployment.cli("migrate").status, 1)


both_engines(globals(), Upgrade)

if __name__ == "__main__":
    unittest.main(verbosity=2)
