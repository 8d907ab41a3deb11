"""The checker itself: it finds nothing in a good stream, and each flaw by the rule that names it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.golden.legal import RULES, problems

Events = list[dict[str, Any]]

USAGE = {"input_tokens": 1, "output_tokens": 2}
MESSAGE: dict[str, Any] = {"id": "msg_1", "type": "message", "role": "assistant", "content": [], "model": "m"}
MESSAGE |= {"stop_reason": None, "stop_sequence": None, "usage": USAGE}


def start(index: int, kind: str, **more: Any) -> dict[str, Any]:
    blank = {"text": {"text": ""}, "thinking": {"thinking": "", "signature": ""}, "tool_use": {"input": {}}}.get(kind, {})
    return {"type": "content_block_start", "index": index, "content_block": {"type": kind, **blank, **more}}


def delta(index: int, kind: str, **more: Any) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": index, "delta": {"type": kind, **more}}


def stop(index: int) -> dict[str, Any]:
    return {"type": "content_block_stop", "index": index}


def ended(reason: str | None, usage: Any = USAGE) -> Events:
    end = {"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": None}, "usage": usage}
    return [end, {"type": "message_stop"}]


def good() -> Events:
    """A thought, a text and two calls."""
    return [
        {"type": "message_start", "message": MESSAGE},
        {"type": "ping"},
        start(0, "thinking"),
        delta(0, "thinking_delta", thinking="a"),
        delta(0, "signature_delta", signature="s"),
        stop(0),
        start(1, "text"),
        delta(1, "text_delta", text="b"),
        stop(1),
        start(2, "tool_use", id="c_1", name="f"),
        delta(2, "input_json_delta", partial_json="{}"),
        stop(2),
        start(3, "tool_use", id="c-2", name="g"),
        stop(3),
        *ended("tool_use"),
    ]


def written(events: Events) -> bytes:
    return "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events).encode()


def put(at: int, *new: dict[str, Any], instead_of: int = 0) -> Callable[[Events], Events]:
    return lambda events: [*events[:at], *new, *events[at + instead_of :]]


FAILED = {"type": "error", "error": {"type": "api_error", "message": "m"}}
NO_MODEL = {**MESSAGE, "model": ""}
FLAWS: list[tuple[str, Callable[[Events], Events]]] = [
    ("only_known_types", put(2, {"type": "news"})),
    ("only_known_types", put(9, start(9, "news"), stop(9))),
    ("only_known_types", put(7, delta(1, "thinking_delta", thinking="b"), instead_of=1)),
    ("starts_whole", put(0, instead_of=1)),
    ("starts_whole", put(1, {"type": "message_start", "message": MESSAGE})),
    ("starts_whole", put(0, {"type": "message_start", "message": {**MESSAGE, "usage": None}}, instead_of=1)),
    ("starts_whole", put(0, {"type": "message_start", "message": {**MESSAGE, "stop_reason": "end_turn"}}, instead_of=1)),
    ("names_the_model", put(0, {"type": "message_start", "message": NO_MODEL}, instead_of=1)),
    ("one_at_a_time", put(5, instead_of=1)),
    ("one_at_a_time", put(8, start(2, "text"), instead_of=1)),
    ("one_at_a_time", put(12, start(4, "tool_use", id="c", name="g"), stop(4), instead_of=2)),
    ("one_at_a_time", put(9, delta(1, "text_delta", text="late"))),
    ("one_at_a_time", put(13, instead_of=1)),
    ("stops_once", put(8, instead_of=1)),
    ("stops_once", put(9, stop(1))),
    ("starts_empty", put(6, start(1, "text", text="early"), instead_of=1)),
    ("starts_empty", put(2, start(0, "thinking", signature="s"), instead_of=1)),
    ("starts_empty", put(9, start(2, "tool_use", id="c_1", name="f", input={"q": 1}), instead_of=1)),
    ("starts_empty", put(7, delta(1, "text_delta", text=""))),
    ("signed_once", put(4, instead_of=1)),
    ("signed_once", put(4, delta(0, "signature_delta", signature="again"))),
    ("signed_once", put(4, delta(0, "signature_delta", signature=""), instead_of=1)),
    ("signed_once", put(5, delta(0, "thinking_delta", thinking="late"))),
    ("signed_once", put(4, stop(0), FAILED, instead_of=12)),
    ("signed_once", put(5, FAILED, instead_of=11)),
    ("calls_can_run", put(12, start(3, "tool_use", id="c_1", name="g"), instead_of=1)),
    ("calls_can_run", put(12, start(3, "tool_use", id="functions.g:0", name="g"), instead_of=1)),
    ("calls_can_run", put(12, start(3, "tool_use", id="d", name=""), instead_of=1)),
    ("ends_once", put(14, instead_of=2)),
    ("ends_once", put(15, instead_of=1)),
    ("ends_once", put(15, {"type": "message_stop"})),
    ("ends_once", put(14, *ended("tool_use", usage=None), instead_of=2)),
    ("ends_once", put(15, FAILED)),
    ("ends_once", put(16, FAILED)),
    ("says_why", put(14, *ended("end_turn"), instead_of=2)),
    ("says_why", put(14, *ended("STOP"), instead_of=2)),
    ("says_why", put(9, *ended("tool_use"), instead_of=7)),
    ("errors_are_said", put(9, {"type": "error", "error": {"message": "m"}}, instead_of=7)),
]


def test_a_stream_as_clients_want_it_has_no_problem() -> None:
    """With pings, comments and an error where they may be."""
    assert problems(written(good()), model="m") == []
    assert problems(b": waiting\n\n" + written([{"type": "ping"}, *good()])) == []
    assert problems(written([*good()[:9], FAILED])) == []
    assert problems(written([*good()[:4], FAILED])) == []
    assert problems(written([FAILED])) == []
    assert problems(written([*good()[:6], *ended("max_tokens")])) == []


@pytest.mark.parametrize(("rule", "spoil"), FLAWS, ids=[f"{rule} {at}" for at, (rule, _) in enumerate(FLAWS)])
def test_each_flaw_is_named_by_its_rule(rule: str, spoil: Callable[[Events], Events]) -> None:
    assert rule in {problem.partition(":")[0] for problem in problems(written(spoil(good())))}


def test_every_rule_has_a_flaw_that_shows_it() -> None:
    assert {rule.__name__ for rule in RULES} == {rule for rule, _ in FLAWS} | {"names_are_types"}


@pytest.mark.parametrize(
    ("stream", "problem"),
    [
        (
            written(good()).replace(b"event: ping", b"event: pong"),
            "names_are_types: an event named 'pong' is of type 'ping'",
        ),
        (written(good())[:-1], "readable: the last event is not whole"),
        (b'data: {"type":"ping"}\n\n', """readable: an event is ['data: {"type":"ping"}']"""),
        (b"event: ping\ndata: [1]\n\n", "readable: no object: [1]"),
    ],
)
def test_what_cannot_be_read_is_a_problem_too(stream: bytes, problem: str) -> None:
    assert problem in problems(stream)


def test_the_model_is_the_one_that_was_asked_for() -> None:
    assert problems(written(good()), model="other") == ["names_the_model: the model is named 'm'"]


def test_signatures_may_be_empty_or_left_alone_if_that_is_what_was_chosen() -> None:
    """The founding document signs nothing."""
    unsigned = written([event for event in good() if event.get("delta", {}).get("type") != "signature_delta"])

    assert problems(unsigned, signatures="empty") == problems(unsigned, signatures="any") == []
    assert problems(written(good()), signatures="empty") == ["signed_once: thought 0 is signed 's'"]
