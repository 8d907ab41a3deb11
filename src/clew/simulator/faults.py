"""Faults on demand, in one small language.

    status 529 retry-after=2              an error answer; also retry-after-ms=, type=, message=, body=, content-type=,
                                          should-retry=, location=
    error overloaded_error after=3        an `error` event (not streamed: a status)
    cut at=120 how=rst                    broken off: fin, rst, or end (looks whole)
    stall 2 after=3                       so many seconds of silence, then on
    slow-start 2                          silence before the head
    drip 1                                so many bytes in a chunk
    lump                                  the whole body in one chunk
    pings every=0.05                      pings for ever, and nothing else
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
    content-type text/html                a lie about the body
    no-answer rst                         nothing at all: fin or rst
    hang-up 0.2                           a whole answer; so many seconds later the connection is closed without a word, and
                                          what the client asked on it in the meantime has no answer

In the chat dialect the events are called role, reasoning, content, tool_calls, finish, usage and done; pings are comments.

The place, for those that have one: `after=N` events (0: before all), `content=N` events of the content, `before=EVENT`, or
`at=N` bytes.

A scenario says it with `fault:`, a request with the header `x-sim-fault`, a test with `POST /_sim/fault`. What each does to
an answer is in `spoil`.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import Annotated, Final, Literal, TypeAlias

import msgspec

from clew.errors import SettingsInvalid

__all__ = ["KINDS", "LONGEST", "Fault", "parse"]

LONGEST: Final = 86_400
"""Seconds, for any silence: longer ones are a slip, and no clock can wait for those without end."""

_Seconds: TypeAlias = Annotated[float, msgspec.Meta(ge=0, le=LONGEST)]
_Count: TypeAlias = Annotated[int, msgspec.Meta(ge=0)]


class Fault(msgspec.Struct, frozen=True, kw_only=True, rename="kebab", forbid_unknown_fields=True):
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
    "error": ("type", "message", "after", "content", "before"),
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
    "content-type": ("content-type",),
    "no-answer": ("how",),
    "hang-up": ("later",),
}
"""Each kind and its options; the first may be given without its name."""


def parse(text: str) -> Fault:
    """Read one fault. Raises SettingsInvalid, which says what is possible."""
    try:
        kind, *words = shlex.split(text) or [""]
    except ValueError as error:
        raise SettingsInvalid(f"fault {text!r}: {error}", key="fault") from error
    if kind not in KINDS:
        raise SettingsInvalid(f"there is no fault {kind!r}; there are {', '.join(KINDS)}", key="fault")
    options = dict(_options(kind, words))
    try:
        return msgspec.convert({"kind": kind, **options}, Fault, strict=False)
    except msgspec.ValidationError as error:
        raise SettingsInvalid(f"fault {text!r}: {error}", key="fault") from error


def _options(kind: str, words: list[str]) -> Iterator[tuple[str, str]]:
    for place, word in enumerate(words):
        name, equals, value = word.partition("=")
        if not equals and place == 0 and KINDS[kind]:
            name, value = KINDS[kind][0], word
        if name not in KINDS[kind]:
            allowed = ", ".join(KINDS[kind]) or "no options"
            raise SettingsInvalid(f"fault {kind!r} has no option {name!r}; it has {allowed}", key="fault")
        yield name, value
