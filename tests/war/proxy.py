"""A proxy before the service that loses, delays, refuses and falsifies answers."""

import json
import random
import re
import threading
import time
from collections import Counter
from http.client import HTTPConnection, HTTPException
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

SLOW_S = (0.2, 1.0)
ANSWER_TIMEOUT_S = 60.0
FAULTS = ("502", "dropped before", "dropped after", "cut", "429", "slow")
LIES = ("empty list", "half list")
"""What the list of all pages may be instead."""
LIST = re.compile(r"/wikis(\?|$)")
PAGE = re.compile(r"/wikis/[^/?]+")
HOP = {"connection", "keep-alive", "transfer-encoding", "content-length", "date"}
PAGING = {"etag", "link"}


class Proxy(ThreadingHTTPServer):
    """Forwards to a port of this machine; a share of the requests meets a fault."""

    daemon_threads = True

    def __init__(self, port: int, seed: int) -> None:
        super().__init__(("127.0.0.1", 0), Forward)
        self.target = port
        self.rate = 0.0
        """Share of requests that meet a fault, 0 to 1."""
        self.faults: Counter[str] = Counter()
        self._random = random.Random(seed)
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self.serve_forever, args=(0.05,))
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def draw(self, method: str, path: str) -> tuple[str, float]:
        """The fault of this request, "" for none, and a number from 0 to 1."""
        choices = list(FAULTS)
        if method == "GET" and LIST.search(path):
            choices += LIES
        elif PAGE.search(path):
            choices.append("404")
        with self._lock:
            if self._random.random() >= self.rate:
                return "", 0.0
            fault = self._random.choice(choices)
            self.faults[fault] += 1
            return fault, self._random.random()

    def handle_error(self, *_of: Any) -> None:
        """Nothing: clients of this proxy are killed and hang up."""

    def close(self) -> None:
        self.shutdown()
        self._thread.join()
        self.server_close()


class Forward(BaseHTTPRequestHandler):
    """One connection of a client."""

    protocol_version = "HTTP/1.1"
    server: Proxy
    timeout = ANSWER_TIMEOUT_S

    def forward(self) -> None:
        """Answer one request with the service's answer, or with a fault."""
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        fault, part = self.server.draw(self.command, self.path)
        if fault == "502":
            return self._answer(502, {}, b"<h1>Bad gateway</h1>")
        if fault == "429":
            return self._answer(429, {"Retry-After": "1"}, b"Retry later")
        if fault == "404":
            return self._answer(404, {}, b'{"message":"404 Not Found"}')
        if fault == "dropped before":
            self.close_connection = True
            return None
        if fault == "slow":
            time.sleep(SLOW_S[0] + part * (SLOW_S[1] - SLOW_S[0]))
        try:
            status, headers, content = self._ask(body)
        except (OSError, HTTPException):
            return self._answer(502, {}, b"the service is gone")
        if fault == "dropped after":
            self.close_connection = True
            return None
        if fault in LIES and status == 200:
            headers = {
                name: value
                for name, value in headers.items()
                if name.lower() not in PAGING and not name.lower().startswith("x-")
            }
            pages = json.loads(content)
            kept = 0 if fault == "empty list" else len(pages) // 2
            content = json.dumps(pages[:kept]).encode()
        cut = int(len(content) * part) if fault == "cut" else None
        return self._answer(status, headers, content, cut)

    def _ask(self, body: bytes) -> tuple[int, dict[str, str], bytes]:
        connection = HTTPConnection(
            "127.0.0.1", self.server.target, timeout=ANSWER_TIMEOUT_S
        )
        headers = {
            name: value
            for name, value in self.headers.items()
            if name.lower() not in HOP and name.lower() != "accept-encoding"
        }
        try:
            connection.request(self.command, self.path, body or None, headers)
            answer = connection.getresponse()
            kept = {
                name: value
                for name, value in answer.getheaders()
                if name.lower() not in HOP
            }
            return answer.status, kept, answer.read()
        finally:
            connection.close()

    def _answer(
        self, status: int, headers: dict[str, str], body: bytes, cut: int | None = None
    ) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        if status not in {204, 304} and self.command != "HEAD":
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body if cut is None else body[:cut])
        if cut is not None:
            self.close_connection = True

    def log_message(self, *_of: Any) -> None:
        """Nothing: the counts of faults are the log."""


for _verb in ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"):
    setattr(Forward, f"do_{_verb}", Forward.forward)
