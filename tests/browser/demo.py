"""`clew serve --demo` in a process of its own, and the way in for a browser."""

import http.client
import json
import socket
from pathlib import Path
from typing import Any, Self

from tests.gateway.served import MOST_SECONDS, Served

MARK = "# The demo's backends, all simulated."
"""A config that begins like this is the demo's to overwrite."""


class Demo(Served):
    """`with Demo() as demo:`; or with a config of one's own, in place of the three simulated backends."""

    def __init__(self, config: str = "") -> None:
        super().__init__(config or MARK, *(() if config else ("--demo",)), "--admin-port", "0")

    def __enter__(self) -> Self:
        super().__enter__()
        self.admin: str = self.told["admin_url"]
        self.socket = Path(self.told["socket"])
        return self

    def login_url(self) -> str:
        """A new link for one browser."""
        return self.api("/api/login", method="POST", body={})["url"]

    def api(self, path: str, *, method: str = "GET", body: Any = None) -> Any:
        """What the admin answers to the owner."""
        status, raw = self.asked(path, method=method, body=body)
        assert status == 200, f"{method} {path}: {status} {raw[:500]!r}"
        return json.loads(raw)

    def asked(self, path: str, *, method: str = "GET", body: Any = None) -> tuple[int, bytes]:
        connection = _Unix(self.socket)
        given = {} if body is None else {"content-type": "application/json"}
        try:
            connection.request(method, path, None if body is None else json.dumps(body), given)
            response = connection.getresponse()
            return response.status, response.read()
        finally:
            connection.close()


class _Unix(http.client.HTTPConnection):
    def __init__(self, path: Path) -> None:
        super().__init__("clew", timeout=MOST_SECONDS)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(MOST_SECONDS)
        self.sock.connect(str(self._path))
