"""Message to events: a stream that a vendor could have sent, and that folds back into the same message."""

import pytest

from clew.model.assemble import Assembler, assemble
from clew.model.events import BlockDelta, BlockStart, MessageDelta, MessageStart
from clew.model.json import JsonObject
from clew.model.lifecycle import STRICT
from clew.model.unfold import events_of
from tests.manifest import accepts
from tests.model.streams import (
    DONE,
    ending,
    json_piece,
    opening,
    signature,
    start_text,
    start_thinking,
    start_tool,
    stop,
    text,
    thinking,
)

WHOLE: JsonObject = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "claude-sonnet-5-5",
    "content": [
        {"type": "thinking", "thinking": "step by step", "signature": "S"},
        {"type": "thinking", "thinking": "", "signature": "omitted"},
        {"type": "thinking", "thinking": "unsigned", "signature": ""},
        {"type": "redacted_thinking", "data": "D"},
        {"type": "fallback", "from": {"model": "claude-opus-5-5"}, "to": {"model": "claude-sonnet-5-5"}},
        {"type": "text", "text": "grüße 😀", "citations": [{"type": "char_location", "cited_text": "x"}]},
        {"type": "text", "text": "", "citations": None},
        {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "é"}},
        {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []},
        {"type": "compaction", "content": "sum", "encrypted_content": "E"},
        {"type": "compaction", "content": None},
        {"type": "mystery", "x": [1]},
        {
            "type": "tool_use",
            "id": "toolu_1",
            "name": "Bash",
            "input": {"a": [1, 2.5, None], "big": 12345678901234567890123},
        },
        {"type": "tool_use", "id": "toolu_2", "name": "Now", "input": {}},
    ],
    "stop_reason": "tool_use",
    "stop_sequence": None,
    "stop_details": None,
    "container": {"id": "c"},
    "context_management": {"applied_edits": []},
    "input_transformations": [],
    "usage": {
        "input_tokens": 10,
        "cache_read_input_tokens": None,
        "output_tokens": 5,
        "output_tokens_details": {"thinking_tokens": 2},
    },
}


@accepts("rule:R65", "rule:R66", "rule:R67")
@pytest.mark.parametrize("chunk", [1, 3, 1000])
def test_unfolding_and_folding_gives_the_same_message(chunk: int) -> None:
    """By the strict table, so the stream is one that clew itself may write."""
    assembler = Assembler(STRICT)
    for event in events_of(WHOLE, chunk=chunk):
        assembler.feed(event)

    assert assembler.message() == WHOLE
    assert all(block.complete for block in assembler.blocks())


@accepts("rule:R66")
def test_the_stream_is_the_vendors_event_by_event() -> None:
    """R66: nothing that clients take from deltas hides in a start; the first piece of tool input is empty."""
    message: JsonObject = {
        **opening().message,
        "content": [
            {"type": "thinking", "thinking": "abc", "signature": "S"},
            {"type": "text", "text": "hi"},
            {"type": "tool_use", "id": "toolu_2", "name": "Bash", "input": {"x": 1}},
        ],
        "stop_reason": "tool_use",
        "usage": {"input_tokens": 10, "output_tokens": 5},
    }

    assert list(events_of(message, chunk=2)) == [
        opening(usage={"input_tokens": 10, "output_tokens": 0}),
        start_thinking(0),
        thinking(0, "ab"),
        thinking(0, "c"),
        signature(0, "S"),
        stop(0),
        start_text(1),
        text(1, "hi"),
        stop(1),
        start_tool(2),
        json_piece(2, ""),
        json_piece(2, '{"'),
        json_piece(2, 'x"'),
        json_piece(2, ":1"),
        json_piece(2, "}"),
        stop(2),
        ending("tool_use", input_tokens=10),
        DONE,
    ]


@accepts("rule:R66")
def test_omitted_thinking_is_one_empty_delta_and_its_signature() -> None:
    """C-11, the newer form."""
    events = events_of({"content": [{"type": "thinking", "thinking": "", "signature": "S"}]}, chunk=5)

    assert [event for event in events if isinstance(event, BlockDelta)] == [thinking(0, ""), signature(0, "S")]


@accepts("rule:R67")
def test_what_is_known_only_at_the_end_is_told_at_the_end() -> None:
    """R67: stop fields, container, applied edits and thinking tokens; message_start names the model asked first (R72)."""
    first, *_, last, _ = events_of(WHOLE, chunk=50)

    assert isinstance(first, MessageStart)
    assert {name: first.message[name] for name in ("model", "stop_reason", "container", "context_management", "usage")} == {
        "model": "claude-opus-5-5",
        "stop_reason": None,
        "container": None,
        "context_management": None,
        "usage": {"input_tokens": 10, "cache_read_input_tokens": None, "output_tokens": 0},
    }
    assert last == MessageDelta(
        {"stop_reason": "tool_use", "stop_sequence": None, "stop_details": None, "container": {"id": "c"}},
        {"input_tokens": 10, "output_tokens": 5, "output_tokens_details": {"thinking_tokens": 2}},
        extra={"context_management": {"applied_edits": []}},
    )


def test_a_message_with_nothing_in_it_is_told_too() -> None:
    message: JsonObject = {"id": "msg_1", "content": []}

    assert assemble(events_of(message, chunk=1)) == message
    assert not any(isinstance(event, BlockStart) for event in events_of(message, chunk=1))


def test_a_piece_has_at_least_one_character() -> None:
    with pytest.raises(AssertionError):
        list(events_of(WHOLE, chunk=0))
