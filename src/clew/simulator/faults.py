"""Faults on demand: a small language, and a queue of faults for the next requests.

    status 529 retry-after=2              an error answer; also retry-after-ms=, type=, message=, body=, content-type=,
                                          should-retry=, location=
    error overloaded_error after=3        an `error` event (not streamed: a status); in Responses the type is the code of the
                                          error, and form= says how it comes: nested, flat, failed
    cut at=120 how=rst                    broken off: fin, rst, or end (looks whole)
    stall 2 after=3                       so many seconds of silence, then on
    slow-start 2                          silence before the head
    drip 1                                so many bytes in a chunk
    lump                                  the whole body in one chunk
    pings every=0.05                      pings without end, and nothing else
    flood 50000000 shape=event            so many bytes in one event; shape=line without any line break; shape=events so
                                          many small events; 0: without end
    bomb 1000000000 coding=gzip           a packed body of so many zeros: gzip, zstd; members: so many empty gzip members
    bad-utf8 after=4                      a byte that is no UTF-8, inside that event
    bad-json after=4                      the value of that event breaks off
    event odd data='{"type":"odd"}'       an event put in
    omit message_stop,message_delta       events left out
    repeat message_start                  events said twice
    index-gap 1 block=1                   blocks from that one on are numbered so much higher
    no-usage                              the usage is missing, in the events and in the message
    no-output                             the end of a stream of Responses does not repeat the items
    content-type text/html                a wrong type for the body
    no-answer rst                         nothing at all: fin or rst
    hang-up 0.2                           a whole answer; so many seconds later the connection is closed silently, and
                                          requests that the client sent on it in the meantime get no answer

In the chat dialect the events are called role, reasoning, content, tool_calls, finish, usage and done; pings are comments.
In Responses the events are called by their types; pings are `keepalive` events.

The place, for faults that have one: `after=N` events (0: before all), `content=N` events of the content, `before=EVENT`, or
`at=N` bytes.

A scenario has it as `fault:`, a request in the header `x-sim-fault`, a test sends it to `POST /_sim/fault`. What each fault
does to an answer is in `fault_effects`.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import Annotated, Final, Literal, TypeAlias

import msgspec

from clew.errors import SettingsInvalid

LONGEST: Final = 86_400
"""Seconds, for any silence: a longer one is a mistake, and no clock can wait for an infinite one."""

_Seconds: TypeAlias = Annotated[float, msgspec.Meta(ge=0, le=LONGEST)]
_Count: TypeAlias = Annotated[int, msgspec.Meta(ge=0)]


class FaultSpec(msgspec.Struct, frozen=True, kw_only=True, rename="kebab", forbid_unknown_fields=True):
    """One fault. Which fields count depends on the kind: see `KINDS`."""

    kind: str
    status: int = 500
    type: str = ""
    message: str = ""
    body: str | None = None
    content_type: str = ""
    retry_after: str = ""
    retry_after_ms: str = ""
    should_retry: str = ""
    location: str = ""
    at: int | None = None
    after: int | None = None
    content: int | None = None
    before: str = ""
    how: Literal["fin", "rst", "end"] = "fin"
    seconds: _Seconds = 1.0
    later: _Seconds = 0.0
    every: _Seconds = 0.05
    size: _Count = 1
    shape: Literal["event", "line", "events"] = "event"
    coding: Literal["gzip", "zstd", "members"] = "gzip"
    form: Literal["", "nested", "flat", "failed"] = ""
    events: str = ""
    name: str = "odd"
    data: str = ""
    by: int = 1
    block: int = 1


_PLACE: Final = ("at", "after", "content", "before")

KINDS: Final[dict[str, tuple[str, ...]]] = {
    "status": (
        "status",
        "type",
        "message",
        "body",
        "content-type",
        "retry-after",
        "retry-after-ms",
        "should-retry",
        "location",
    ),
    "error": ("type", "message", "form", "after", "content", "before"),
    "cut": ("at", "after", "content", "before", "how"),
    "stall": ("seconds", *_PLACE),
    "slow-start": ("seconds",),
    "drip": ("size",),
    "lump": (),
    "pings": ("every", *_PLACE),
    "flood": ("size", "shape", *_PLACE),
    "bomb": ("size", "coding"),
    "bad-utf8": ("after", "content", "before"),
    "bad-json": ("after", "content", "before"),
    "event": ("name", "data", *_PLACE),
    "omit": ("events",),
    "repeat": ("events",),
    "index-gap": ("by", "block"),
    "no-usage": (),
    "no-output": (),
    "content-type": ("content-type",),
    "no-answer": ("how",),
    "hang-up": ("later",),
}
"""Each kind and its options. The first option may be given without its name."""


def parse(text: str) -> FaultSpec:
    """Read one fault. Raises SettingsInvalid, whose message lists what is possible."""
    try:
        kind, *words = shlex.split(text) or [""]
    except ValueError as error:
        raise SettingsInvalid(f"fault {text!r}: {error}", key="fault") from error
    if kind not in KINDS:
        raise SettingsInvalid(f"there is no fault {kind!r}; there are {', '.join(KINDS)}", key="fault")
    options: dict[str, str] = {}
    for place, word in enumerate(words):
        name, equals, value = word.partition("=")
        if not equals and place == 0 and KINDS[kind]:
            name, value = KINDS[kind][0], word
        if name not in KINDS[kind]:
            allowed = ", ".join(KINDS[kind]) or "no options"
            raise SettingsInvalid(f"fault {kind!r} has no option {name!r}; it has {allowed}", key="fault")
        options[name] = value
    try:
        return msgspec.convert({"kind": kind, **options}, FaultSpec, strict=False)
    except msgspec.ValidationError as error:
        raise SettingsInvalid(f"fault {text!r}: {error}", key="fault") from error


@dataclass(slots=True)
class _WaitingFault:
    fault: FaultSpec
    left: int | None
    key: str


class FaultQueue:
    """Faults for the next requests, first in, first out for each path; one fault for one request."""

    def __init__(self, main_path: str = "/v1/messages") -> None:
        self._main_path = main_path
        self._waiting: dict[str, list[_WaitingFault]] = {}

    def put(self, fault: FaultSpec, *, times: int | None = 1, path: str = "", key: str = "") -> None:
        """Let the next requests on this path go wrong: so many, or with None all from now on.

        With `key`, only requests with this key. Without a path, the path of conversations.
        """
        if times != 0:
            self._waiting.setdefault(path or self._main_path, []).append(_WaitingFault(fault, times, key))

    def take(self, path: str, key: str = "") -> FaultSpec | None:
        """The fault for a request that has just come, if there is one."""
        line = self._waiting.get(path, [])
        found = next((waiting for waiting in line if waiting.key in ("", key)), None)
        if found is None:
            return None
        if found.left is not None:
            found.left -= 1
        if found.left == 0:
            line.remove(found)
        return found.fault

    def waiting(self) -> dict[str, int | None]:
        """How many faults are left, by path; None if one of them has no end."""
        left = {path: [waiting.left for waiting in line] for path, line in self._waiting.items() if line}
        return {path: None if None in counts else sum(filter(None, counts)) for path, counts in left.items()}

    def reset(self) -> None:
        self._waiting.clear()
