"""Serves the metrics of a gateway to Prometheus: GET /metrics, and nothing else.

A gateway's admin listens on its own machine alone. This program runs beside it, as the same user with the same CLEW_HOME,
asks the admin by its unix socket, and passes the answer on. Usage: metrics_bridge.py [PORT], 9464 by default.
"""

import os
import socket
import sys
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

SECONDS = 5.0


class LocalConnection(HTTPConnection):
    """HTTP over a unix socket."""

    def __init__(self, path: Path) -> None:
        super().__init__("clew", timeout=SECONDS)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(SECONDS)
        self.sock.connect(str(self._path))


def read_metrics(home: Path) -> tuple[int, bytes]:
    """The newest gateway's; or 503 and why there are none."""
    sockets = sorted((home / "run").glob("admin-*.sock"), key=lambda path: path.stat().st_mtime, reverse=True)
    for path in sockets:
        connection = LocalConnection(path)
        try:
            connection.request("GET", "/metrics")
            answer = connection.getresponse()
            return answer.status, answer.read()
        except OSError:
            continue  # a process that was killed left it
        finally:
            connection.close()
    return 503, b"no gateway answers\n"


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        status, body = read_metrics(Path(os.environ["CLEW_HOME"])) if self.path == "/metrics" else (404, b"only /metrics\n")
        self.send_response(status)
        self.send_header("content-type", "text/plain; version=0.0.4; charset=utf-8")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *arguments: object) -> None:
        """Say nothing: a probe every few seconds fills a log."""


if __name__ == "__main__":
    port = int(sys.argv[1]) if len(sys.argv) > 1 else 9464
    ThreadingHTTPServer(("", port), Handler).serve_forever()  # every address: Prometheus comes from elsewhere
