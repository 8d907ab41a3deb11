"""Faults on demand, in one small language.

    status 529 retry-after=2              an error answer; also type=, message=, body=, content-type=, should-retry=,
                                          location=
    error overloaded_error after=3        an `error` event after so many events (0: before all; not streamed: a status)
    cut at=120 how=rst                    broken off after so many bytes (or after= events): fin, rst, or end (looks whole)
    stall 2 after=3                       so many seconds of silence, then on
    slow-start 2                          silence before the head
    drip 1                                so many bytes in a chunk
    bad-utf8 after=4                      a byte that is no UTF-8, inside that event
    omit message_stop,message_delta       events left out
    repeat message_start                  events said twice
    content-type text/html                a lie about the body
    no-answer rst                         nothing at all: fin or rst
    hang-up                               a whole answer, then the connection is closed without a word

A scenario says it with `fault:`, a request with the header `x-sim-fault`, a test with `POST /_sim/fault`. What each does to
an answer is in `spoil`.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import Final, Literal

import msgspec

from clew.errors import SettingsInvalid

__all__ = ["KINDS", "Fault", "parse"]


class Fault(msgspec.Struct, frozen=True, kw_only=True, rename="kebab", forbid_unknown_fields=True):
    """One fault. Which fields count depends on the kind: see `KINDS`."""

    kind: str
    status: int = 500
    type: str = ""
    message: str = ""
    body: str | None = None
    content_type: str = ""
    retry_after: str = ""
    should_retry: str = ""
    location: str = ""
    at: int | None = None
    after: int | None = None
    how: Literal["fin", "rst", "end"] = "fin"
    seconds: float = 1.0
    size: int = 1
    events: str = ""


KINDS: Final[dict[str, tuple[str, ...]]] = {
    "status": ("status", "type", "message", "body", "content-type", "retry-after", "should-retry", "location"),
    "error": ("type", "message", "after"),
    "cut": ("at", "after", "how"),
    "stall": ("seconds", "at", "after"),
    "slow-start": ("seconds",),
    "drip": ("size",),
    "bad-utf8": ("after",),
    "omit": ("events",),
    "repeat": ("events",),
    "content-type": ("content-type",),
    "no-answer": ("how",),
    "hang-up": (),
}
"""Each kind and its options; the first may be given without its name."""


def parse(text: str) -> Fault:
    """Read one fault. Raises SettingsInvalid, which says what is possible."""
    try:
        kind, *words = shlex.split(text)
    except ValueError as error:
        raise SettingsInvalid(f"fault {text!r}: {error or 'it is empty'}", key="fault") from error
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
