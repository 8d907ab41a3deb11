"""The control routes, for tests and tools: everything under `/_sim/`, without a key.

GET  /_sim/journal[?since=N]     the entries after number N
GET  /_sim/journal/N/body        the body of entry N, byte for byte
POST /_sim/fault                 {"fault": "status 529 retry-after=2", "times": 2, "path": "/v1/messages", "key": "sim-a-1"};
                                 times null: from now on; without key: any request; without
                                 path: the path of conversations
POST /_sim/reset                 clear journal, cache, waiting faults and used ids
GET  /_sim/scenarios             the scenarios that can be played
"""

from __future__ import annotations

import re
from typing import Final, Protocol
from urllib.parse import parse_qs

import msgspec

from clew.errors import SettingsInvalid
from clew.http.message import HttpRequest
from clew.simulator.faults import FaultQueue, parse
from clew.simulator.journal import Journal, entries_json
from clew.simulator.steps import End, Send, SendHead, Steps, json_reply
from clew.simulator.turns import shipped

PREFIX: Final = "/_sim/"
_BODY: Final = re.compile(r"/_sim/journal/(\d+)/body")


class Controlled(Protocol):
    """What the routes act on."""

    journal: Journal
    faults: FaultQueue

    def reset(self) -> None: ...


class _FaultOrder(msgspec.Struct, forbid_unknown_fields=True):
    fault: str
    times: int | None = 1
    path: str = ""
    key: str = ""


def answer(simulator: Controlled, request: HttpRequest) -> Steps:
    """Carry out a control request."""
    match request.method, request.path:
        case "GET", "/_sim/journal":
            given = parse_qs(request.query).get("since", ["0"])[-1]
            return _json_bytes(entries_json(simulator.journal.since(int(given) if given.isdecimal() else 0)))
        case "GET", "/_sim/scenarios":
            return json_reply({name: scenario.about for name, scenario in shipped().items()})
        case "POST", "/_sim/fault":
            return _put_fault(simulator, request.body)
        case "POST", "/_sim/reset":
            simulator.reset()
            return json_reply({"ok": True})
        case _:
            return _body(simulator, request)


def _put_fault(simulator: Controlled, body: bytes) -> Steps:
    try:
        order = msgspec.json.decode(body, type=_FaultOrder)
        simulator.faults.put(parse(order.fault), times=order.times, path=order.path, key=order.key)
    except (msgspec.DecodeError, SettingsInvalid) as error:
        return json_reply({"ok": False, "error": str(error)}, status=400)
    return json_reply({"ok": True, "waiting": simulator.faults.waiting()})


def _body(simulator: Controlled, request: HttpRequest) -> Steps:
    found = _BODY.fullmatch(request.path)
    entry = simulator.journal.find(int(found[1])) if found and request.method == "GET" else None
    if entry is None or entry.body is None:
        return json_reply({"ok": False, "error": f"there is no {request.method} {request.path}"}, status=404)
    return _json_bytes(entry.body)


def _json_bytes(data: bytes) -> Steps:
    return (SendHead(200, (("content-type", "application/json"),)), Send(data), End())
