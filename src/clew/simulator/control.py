"""The control routes, for tests and tools: everything under `/_sim/`, without a key.

GET  /_sim/journal[?since=N]     what happened, after entry N
GET  /_sim/journal/N/body        the body of entry N, byte for byte
POST /_sim/fault                 {"fault": "status 529 retry-after=2", "times": 2, "path": "/v1/messages", "key": "sim-a-1"};
                                 times null: from now on; without key: whoever comes; without
                                 path: where conversations are asked for
POST /_sim/reset                 forget journal, cache, faults in waiting, ids already given
GET  /_sim/scenarios             what can be played
"""

from __future__ import annotations

import re
from typing import Final, Protocol
from urllib.parse import parse_qs

import msgspec

from clew.errors import SettingsInvalid
from clew.http.message import HttpRequest
from clew.simulator import faults, turns
from clew.simulator.journal import Journal, encoded
from clew.simulator.queue import FaultQueue
from clew.simulator.replies import json_reply
from clew.simulator.steps import End, Head, Send, Steps

__all__ = ["PREFIX", "Controlled", "answer"]

PREFIX: Final = "/_sim/"
_BODY: Final = re.compile(r"/_sim/journal/(\d+)/body")


class Controlled(Protocol):
    """What the routes act on."""

    journal: Journal
    faults: FaultQueue

    def reset(self) -> None: ...


class _Order(msgspec.Struct, forbid_unknown_fields=True):
    fault: str
    times: int | None = 1
    path: str = ""
    key: str = ""


def answer(shell: Controlled, request: HttpRequest) -> Steps:
    """Do what the request says."""
    match request.method, request.path:
        case "GET", "/_sim/journal":
            return _bytes(encoded(shell.journal.since(_since(request.query))))
        case "GET", "/_sim/scenarios":
            return json_reply({name: scenario.about for name, scenario in turns.shipped().items()})
        case "POST", "/_sim/fault":
            return _fault(shell, request.body)
        case "POST", "/_sim/reset":
            shell.reset()
            return json_reply({"ok": True})
        case _:
            return _body(shell, request)


def _fault(shell: Controlled, body: bytes) -> Steps:
    try:
        order = msgspec.json.decode(body, type=_Order)
        shell.faults.put(faults.parse(order.fault), times=order.times, path=order.path, key=order.key)
    except (msgspec.DecodeError, SettingsInvalid) as error:
        return json_reply({"ok": False, "error": str(error)}, status=400)
    return json_reply({"ok": True, "waiting": shell.faults.waiting()})


def _body(shell: Controlled, request: HttpRequest) -> Steps:
    found = _BODY.fullmatch(request.path)
    entry = shell.journal.find(int(found[1])) if found and request.method == "GET" else None
    if entry is None or entry.body is None:
        return json_reply({"ok": False, "error": f"there is no {request.method} {request.path}"}, status=404)
    return _bytes(entry.body)


def _since(query: str) -> int:
    given = parse_qs(query).get("since", ["0"])[-1]
    return int(given) if given.isdecimal() else 0


def _bytes(data: bytes) -> Steps:
    return (Head(200, (("content-type", "application/json"),)), Send(data), End())
