"""Idle and slow clients hold up nobody."""

import resource
import socket
import statistics
import time
import unittest
import urllib.parse

from harness import DEADLINE, EngineCase, both_engines, post


class Connections(EngineCase):
    __test__ = False

    def test_1001_idle_connections_do_not_slow_a_new_one(self):
        resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
        deployment = self.make()
        daemon = deployment.serve()
        token = deployment.tenant("acme")
        parts = urllib.parse.urlsplit(daemon.url)
        request = (
            f"POST /api/compute/pools/list HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nX-Better-Compute: 1\r\n"
            f"Authorization: Bearer {token}\r\nContent-Length: 19\r\n\r\n" + '{"tenantId":"acme"}'
        ).encode()

        def timed():
            spans = []
            for _ in range(50):
                start = time.monotonic()
                self.assertEqual(post(daemon.url, "pools/list", {"tenantId": "acme"}, token).status, 200)
                spans.append(time.monotonic() - start)
            return statistics.median(spans)

        alone = timed()
        idle = []
        for _ in range(1001):
            connection = socket.create_connection((parts.hostname, parts.port), DEADLINE)
            self.addCleanup(connection.close)
            connection.sendall(request)
            self.assertIn(b" 200 ", connection.recv(4096)[:20])
            idle.append(connection)
        crowded = timed()

        print(f"a new connection on {self.engine}: median {alone * 1000:.2f} ms alone, {crowded * 1000:.2f} ms beside 1,001 idle ones")
        self.assertLess(crowded, max(alone * 5, 0.05))
        for connection in (idle[0], idle[500], idle[-1]):
            connection.sendall(request)
            self.assertIn(b" 200 ", connection.recv(4096)[:20])

    def test_a_client_that_sends_a_byte_a_second_is_dropped(self):
        deployment = self.make("[limits]\nhead_timeout_ms = 1500\n")
        daemon = deployment.serve()
        parts = urllib.parse.urlsplit(daemon.url)
        connection = socket.create_connection((parts.hostname, parts.port), DEADLINE)
        self.addCleanup(connection.close)
        connection.settimeout(1)
        start = time.monotonic()
        dropped = False
        for byte in b"POST /api/compute/pools/list HTTP/1.1\r\nHost: x\r\n":
            try:
                connection.sendall(bytes([byte]))
                if connection.recv(4096) == b"":
                    dropped = True
                    break
                dropped = True  # an answer (408) before the end of the connection
            except socket.timeout:
                continue
            except OSError:
                dropped = True
                break
        self.assertTrue(dropped)
        self.assertLess(time.monotonic() - start, 10)


both_engines(globals(), Connections)

if __name__ == "__main__":
    unittest.main(verbosity=2)
