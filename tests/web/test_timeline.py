"""The timeline: what came when, from the bytes that were kept and the moments beside them."""

import json
from typing import Any

import pytest

from clew.model.turn import Bodies
from clew.web.exchange_page import Phase, phases_of
from tests.web.test_exchange_row import exchange


def sse(*events: dict[str, Any]) -> bytes:
    return b"".join(f"event: {event.get('type', 'x')}\ndata: {json.dumps(event)}\n\n".encode() for event in events)


def block(type: str, **more: Any) -> dict[str, Any]:
    return {"type": "content_block_start", "index": 0, "content_block": {"type": type, **more}}


def chunk(**delta: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": delta}]}


DELTA = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "…" * 20}}


def kinds(stream: bytes, **more: Any) -> list[tuple[str, str]]:
    made = exchange(streamed=True, first_byte=0.5, **more)
    return [(phase.kind, phase.name) for phase in phases_of(made, Bodies(answered=stream))]


def test_blocks_of_a_messages_stream_are_phases() -> None:
    stream = sse(
        {"type": "message_start"}, block("thinking"), DELTA, block("text"), DELTA, DELTA, block("tool_use", name="Read")
    )
    assert kinds(stream) == [("waiting", ""), ("thinking", ""), ("text", ""), ("tool", "Read")]


def test_so_are_the_fields_of_a_chat_completions_stream() -> None:
    call = {"tool_calls": [{"function": {"name": "look", "arguments": ""}}]}
    more = {"tool_calls": [{"function": {"arguments": "{}"}}]}
    stream = sse(
        chunk(role="assistant", content=""),
        chunk(reasoning_content="hm"),
        chunk(reasoning_content="so"),
        chunk(content="ok"),
        chunk(**call),
        chunk(**more),
    )
    assert kinds(stream) == [("waiting", ""), ("thinking", ""), ("text", ""), ("tool", "look")]


def test_so_are_the_items_of_a_responses_stream() -> None:
    def item(type: str, **more: Any) -> dict[str, Any]:
        return {"type": "response.output_item.added", "output_index": 0, "item": {"type": type, **more}}

    delta = {"type": "response.output_text.delta", "delta": "…" * 20}
    done = {"type": "response.output_item.done", "item": {"type": "message"}}
    stream = sse(
        {"type": "response.created"},
        item("reasoning", summary=[]),
        delta,
        item("message", name=None),
        delta,
        done,
        item("function_call", name="read"),
        item("web_search_call"),
    )
    assert kinds(stream) == [("waiting", ""), ("thinking", ""), ("text", ""), ("tool", "read"), ("tool", "")]


def test_times_lie_between_the_moments_that_were_noted() -> None:
    """Half of the bytes took until the second mark, so the text began there."""
    thinking, text = sse(block("thinking"), DELTA), sse(block("text"), DELTA)
    body = Bodies(answered=thinking + text, times=((len(thinking), 2.0),))
    waiting, thought, said = phases_of(exchange(streamed=True, first_byte=0.5), body)
    assert waiting == Phase(kind="waiting", name="", began=0.0, ended=0.5, x=0.0, width=20.0)
    assert (thought.began, thought.ended) == pytest.approx((0.5, 2.0), abs=0.1)
    assert (said.began, said.ended) == pytest.approx((2.0, 2.5), abs=0.1)


def test_moments_that_cannot_be_are_passed_over() -> None:
    body = Bodies(answered=sse(block("text"), DELTA), times=((10, 9.0), (5000, 1.0), (20, 0.1)))
    phases = phases_of(exchange(streamed=True, first_byte=0.5), body)
    assert [phase.ended for phase in phases] == pytest.approx([0.5, 2.5], abs=0.1)


@pytest.mark.parametrize("stream", [b"", b"data: {\n\n", b"data: {}\n\n", b"\xff" * 100, b'data: {"choices":[7]}\n\n'])
def test_whatever_a_backend_sent_is_no_more_than_an_answer(stream: bytes) -> None:
    assert kinds(stream) == [("waiting", ""), ("answer", "")]


def test_where_nothing_came_there_is_no_timeline() -> None:
    assert phases_of(exchange(first_byte=None), None) == ()
