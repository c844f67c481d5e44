"""Agents as whole processes: joining, a fleet in one process, silence, a daemon that dies, nodes that are taken away."""

import json
import os
import signal
import stat
import subprocess
import time
import unittest
import urllib.parse

import fleet
from harness import BINARY, DEADLINE, EngineCase, both_engines, post, wait_for

# Where the daemon may die while a node joins.
FAIL_POINTS = ("capacity.node-admitted.uncommitted", "capacity.node-admitted.committed", "agents.before-welcome")


class Agent:
    def __init__(self, case, deployment, url, *args, token=None):
        self.log_path = os.path.join(deployment.dir, f"agent-{time.monotonic_ns()}.log")
        with open(self.log_path, "wb") as log:
            self.process = subprocess.Popen(
                [BINARY, "agent", "--url", url, "--config", deployment.config, *args], stdin=subprocess.PIPE,
                stdout=subprocess.PIPE, stderr=log, cwd=deployment.dir, text=True,
                env=deployment.env({"BETTER_COMPUTE_TOKEN": token} if token else {}),
            )
        case.addCleanup(self.close)

    def log(self):
        with open(self.log_path, encoding="utf-8", errors="replace") as log:
            return log.read()

    def order(self, text):
        self.process.stdin.write(text + "\n")
        self.process.stdin.flush()

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(DEADLINE)
        self.process.stdin.close()
        self.process.stdout.close()


class Nodes(EngineCase):
    __test__ = False

    def setUp(self):
        self.deployment = self.make("")
        self.daemon = self.deployment.serve()
        self.token = self.deployment.tenant("acme")

    def call(self, path, **body):
        return post(self.daemon.url, path, {"tenantId": "acme", **body}, self.token).data

    def nodes(self, **filters):
        items, cursor = [], {}
        while True:
            page = self.call("nodes/list", limit=200, **filters, **cursor)
            items += page["items"]
            if "nextCursor" not in page:
                return items
            cursor = {"cursor": page["nextCursor"]}

    def enrol(self, *args, uses=1, pool=None):
        """A token of a new pool in a file, and an agent that joins with it; returns the agent."""
        pool = pool or self.call("pools/create", name="a")["id"]
        made = self.call("nodes/createToken", poolId=pool, maxUses=uses)
        path = os.path.join(self.deployment.dir, "token")
        with open(path, "w", encoding="utf-8") as file:
            file.write(made["token"] + "\n")
        return Agent(self, self.deployment, self.daemon.url, "--token-file", path, "--fake-gpus", "2:T4", "--name", "n1",
                     "--data", os.path.join(self.deployment.dir, "data"), *args)

    def one_node(self, connection="ready"):
        return wait_for(lambda: next((n for n in self.nodes() if n["connection"] == connection), None), connection)

    def restart(self, env=None):
        """Another daemon at the same address."""
        port = urllib.parse.urlsplit(self.daemon.url).port
        self.daemon = self.deployment.serve("--listen", f"127.0.0.1:{port}", env=env)

    def test_an_agent_joins_and_returns_with_its_credential(self):
        agent = self.enrol()
        node = self.one_node()
        self.assertEqual([gpu["model"] for gpu in node["gpus"]], ["T4", "T4"])
        credential = os.path.join(self.deployment.dir, "data", "credential.json")
        wait_for(lambda: os.path.exists(credential), "the credential is kept")
        self.assertEqual(stat.S_IMODE(os.stat(credential).st_mode), 0o600)
        agent.process.terminate()
        self.assertEqual(agent.process.wait(DEADLINE), 0)

        again = Agent(self, self.deployment, self.daemon.url, "--credential-file", credential, "--fake-gpus", "2:T4", "--name", "n1")
        back = wait_for(lambda: next((n for n in self.nodes() if n["epoch"] == 2), None), "the node is back")
        self.assertEqual((back["id"], back["connection"]), (node["id"], "ready"))
        with open(credential, encoding="utf-8") as file:
            secret = json.load(file)["credential"]
        for text in (self.daemon.log(), again.log()):
            self.assertNotIn(secret, text)

    def test_an_agent_whose_node_was_removed_ends_and_says_why(self):
        agent = self.enrol()
        node = self.one_node()
        self.call("nodes/remove", nodeId=node["id"])

        self.assertEqual(agent.process.wait(DEADLINE), 1)
        self.assertIn("UNAUTHENTICATED: ", agent.log())
        self.assertIn("Hint: ", agent.log())

    def test_mistakes_are_told(self):
        url = self.daemon.url
        for args, text in (
            (["--url", url], "--token-file or --credential-file"),
            (["--url", url, "--token-file", "/nothing"], "holds no token"),
            (["--url", "http://compute.example", "--token-file", "/nothing"], "plain http"),
            (["--url", url, "--simulate", "/nothing"], "BETTER_COMPUTE_TOKEN"),
            (["--url", url, "--token-file", "x", "--fake-gpus", "99:T4"], "--fake-gpus"),
        ):
            done = self.deployment.cli("agent", *args)
            self.assertNotEqual(done.status, 0)
            self.assertIn(text, done.err)

    def crash_at(self, point):
        pool = self.call("pools/create", name="a")["id"]
        self.daemon.stop()
        self.restart(env={"BETTER_COMPUTE_FAIL_POINT": point})
        self.enrol(pool=pool)
        self.daemon.wait_killed()
        self.restart()

        node = self.one_node()
        self.assertEqual(len(self.nodes()), 1)
        rows = self.deployment.sql("select uses from node_tokens")
        self.assertEqual([int(cell) for (cell,) in rows], [1])
        types = [cell for (cell,) in self.deployment.sql("select type from outbox_events where type like 'node.%' order by type")]
        self.assertEqual(types, ["node.ready", "node.registered"])
        # What died may have been admitted before: then the row said ready all along, and coming back is the next epoch.
        wait_for(lambda: self.nodes()[0]["connection"] == "ready" and self.nodes()[0]["epoch"] >= node["epoch"], "it stays")

    def test_the_fleet_joins_in_one_process_and_survives_a_daemon(self):
        rows, _ = fleet.nodes()
        groups = [group for pool in fleet.pools() for group in pool["nodeGroups"]]
        pool = self.call("pools/create", name="openb", nodeGroups=groups)
        document = os.path.join(self.deployment.dir, "fleet.json")
        with open(document, "w", encoding="utf-8") as file:
            json.dump({"version": 1, "tenantId": "acme", "pools": [{"name": "openb", "nodeGroups": groups}]}, file)
        begin = time.monotonic()
        agent = Agent(self, self.deployment, self.daemon.url, "--simulate", document, token=self.token)
        self.assertEqual(agent.process.stdout.readline(), f"ready {len(rows)}\n", agent.log())
        print(f"{self.engine}: {len(rows)} nodes joined in {time.monotonic() - begin:.2f} s", flush=True)
        nodes = self.nodes(poolId=pool["id"])
        self.assertEqual(sorted(n["name"] for n in nodes), sorted(row[0] for row in rows))
        self.assertEqual({n["connection"] for n in nodes}, {"ready"})
        self.assertEqual(sum(len(n["gpus"]) for n in nodes), sum(row[2] for row in rows))

        # A GPU is pulled and a clock goes wrong; meanwhile the daemon dies and comes back.
        first, second = nodes[0], nodes[1]
        agent.order(f"skew {second['name']} 90")
        agent.order(f"pull {first['name']} 0")
        self.daemon.kill()
        self.restart()
        wait_for(
            lambda: all(n["connection"] == "ready" and n["epoch"] == 2 for n in self.nodes()), "every node is back", 120
        )
        missing = wait_for(lambda: self.nodes(degraded=True), "a GPU is missing")
        self.assertEqual([n["id"] for n in missing], [first["id"]])
        self.assertEqual(missing[0]["gpus"][0]["health"], "missing")
        findings = wait_for(
            lambda: self.deployment.cli("doctor", "--json", "--check", "capacity.node-clock-skew").json["findings"], "doctor sees the clock"
        )
        self.assertEqual(findings[0]["count"], 1)
        lost = self.deployment.sql("select count(*) from outbox_events where type in ('node.lost', 'node.disconnected')")
        self.assertEqual(lost, [("0",)])

        connection = lambda: next(n["connection"] for n in self.nodes() if n["id"] == second["id"])  # noqa: E731
        agent.order(f"drop {second['name']}")
        wait_for(lambda: connection() == "disconnected", "the node is away")
        agent.order(f"return {second['name']}")
        wait_for(lambda: connection() == "ready", "the node is back")
        agent.order("quit")
        self.assertEqual(agent.process.wait(DEADLINE), 0)


def add(point):
    def test(self):
        self.crash_at(point)

    setattr(Nodes, "test_a_daemon_that_dies_at_" + point.replace(".", "_").replace("-", "_"), test)


for name in FAIL_POINTS:
    add(name)

both_engines(globals(), Nodes)


class Silence(unittest.TestCase):
    """The one test that waits for real time: an agent that is stopped for a while, on both engines at once."""

    def test_an_agent_that_is_stopped_is_disconnected_and_comes_back(self):
        cases = []
        for engine in ("sqlite", "postgres"):
            case = type("One", (Nodes_of(engine),), {"runTest": lambda self: None})()
            case.setUp()
            self.addCleanup(case.doCleanups)
            agent = case.enrol()
            cases.append((case, agent, case.one_node()))
        for _, agent, _ in cases:
            agent.process.send_signal(signal.SIGSTOP)
        begin = time.monotonic()
        for case, agent, node in cases:
            self.assertEqual(case.one_node("disconnected")["id"], node["id"])
            self.assertGreater(time.monotonic() - begin, 14)  # 20 s after its last heartbeat
        for _, agent, _ in cases:
            agent.process.send_signal(signal.SIGCONT)
        for case, _, node in cases:
            back = case.one_node("ready")
            self.assertEqual((back["id"], back["epoch"]), (node["id"], node["epoch"]))
            types = [cell for (cell,) in case.deployment.sql("select type from outbox_events where type like 'node.%'")]
            self.assertEqual(types.count("node.disconnected"), 1)
            self.assertEqual(types.count("node.reconnected"), 1)
            self.assertNotIn("node.lost", types)


def Nodes_of(engine):
    return globals()["Nodes" + engine.capitalize()]


if __name__ == "__main__":
    unittest.main(verbosity=2)
