#!/usr/bin/env python3
"""A webhook receiver in forty lines: verifies each delivery, prints one line for it, and fails while a file `broken` exists.

usage: receiver.py PORT SECRET_FILE
"""

import hashlib
import hmac
import http.server
import json
import os
import sys
import time

TOLERANCE_SECONDS = 300


def is_valid(secret, signature, timestamp, body):
    """True when one v1= value of the header is the HMAC of `timestamp.body` and the timestamp is recent."""
    if not timestamp.isdecimal() or abs(time.time() - int(timestamp)) > TOLERANCE_SECONDS:
        return False
    expected = hmac.new(secret.encode(), timestamp.encode() + b"." + body, hashlib.sha256).hexdigest()
    values = [part.strip()[3:] for part in signature.split(",") if part.strip().startswith("v1=")]
    return any(hmac.compare_digest(value, expected) for value in values)


class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", "0")))  # the raw bytes: verify before parsing
        with open(sys.argv[2], encoding="utf-8") as file:
            secret = file.read().strip()
        valid = is_valid(
            secret, self.headers.get("X-Better-Compute-Signature", ""), self.headers.get("X-Better-Compute-Timestamp", ""), body
        )
        status = 401 if not valid else 500 if os.path.exists("broken") else 204
        event = json.loads(body) if valid else {}
        print(status, self.headers.get("X-Better-Compute-Delivery"), event.get("type"), event.get("subject"), flush=True)
        self.send_response(status)
        self.end_headers()

    def log_message(self, *args):
        pass


if __name__ == "__main__":
    http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
