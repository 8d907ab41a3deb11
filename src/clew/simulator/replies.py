"""The simulator's answers as steps: a message, streamed or whole; a refusal; any other JSON."""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from clew.simulator.acts import Pause
from clew.simulator.envelope import error_body
from clew.simulator.interfaces import Violation
from clew.simulator.steps import End, Head, Send, Step, Steps, Wait
from clew.simulator.stream import Message, events, message

__all__ = ["HeaderPairs", "json_reply", "refused", "streamed", "tags", "unary"]

HeaderPairs: TypeAlias = tuple[tuple[str, str], ...]

_JSON = ("content-type", "application/json")
_SSE = (("content-type", "text/event-stream; charset=utf-8"), ("cache-control", "no-cache"))

_CODES = {"R62.too-large-decoded": "request_body_too_large_after_decoding"}
"""Machine codes of refusals that have one (R62)."""


def json_reply(value: object, headers: HeaderPairs = (), status: int = 200) -> Steps:
    """Some JSON."""
    return (Head(status, (_JSON, *headers)), Send(msgspec.json.encode(value)), End())


def refused(violation: Violation, request_id: str, headers: HeaderPairs = ()) -> Steps:
    """A refusal in the vendor's envelope, tagged with its rule. Plain JSON also where a stream was asked for (R63)."""
    body = error_body(violation.error_type, violation.message, request_id, _CODES.get(violation.rule, ""))
    return (Head(violation.status, (_JSON, *headers, *tags(violation))), Send(body), End())


def tags(violation: Violation) -> HeaderPairs:
    """Which rule, and how sure it is."""
    return (("x-sim-rule", violation.rule), ("x-sim-grade", violation.grade))


def streamed(whole: Message, headers: HeaderPairs) -> Steps:
    """The answer as events."""
    return (Head(200, (*_SSE, *headers)), *events(whole), End())


def unary(whole: Message, headers: HeaderPairs) -> Steps:
    """The answer as one message, after all its silences."""
    waits: list[Step] = [Wait(item.seconds) for item in whole.answer.items if isinstance(item, Pause)]
    return (*waits, *json_reply(message(whole), headers))
