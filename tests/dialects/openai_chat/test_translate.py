"""A Chat Completions stream as the bytes of a Messages stream."""

from __future__ import annotations

import msgspec
import pytest
from msgspec import structs

from clew.dialects.openai_chat.options import ChatOptions
from clew.dialects.openai_chat.streams import ChatStreamReader
from clew.dialects.shape import AnswerContext
from clew.model.events import (
    BlockDelta,
    BlockStart,
    BlockStop,
    Event,
    MessageDelta,
    MessageStart,
    MessageStop,
    Ping,
    StreamFailed,
)
from clew.model.json import JsonObject
from tests.model.streams import reads

ASKED = AnswerContext(model="claude-opus-4-8", message_id="msg_1")


def _chunk(delta: JsonObject, finish: str | None = None) -> bytes:
    choice: JsonObject = {"index": 0, "delta": delta, "finish_reason": finish}
    return b"data: " + msgspec.json.encode({"object": "chat.completion.chunk", "choices": [choice]}) + b"\n\n"


def _translated(data: bytes, translation: ChatStreamReader | None = None) -> list[Event]:
    translation = translation or ChatStreamReader(ASKED, ChatOptions())
    told = [event for read in reads(data) for event in translation.feed(read)] + translation.flush()
    return [event for event in told if not isinstance(event, Ping | MessageStart)]


def _call(wire_id: str) -> bytes:
    function: JsonObject = {"name": "read", "arguments": "{}"}
    return _chunk({"tool_calls": [{"index": 0, "id": wire_id, "type": "function", "function": function}]}, "tool_calls")


def test_a_thought_ends_with_one_signature_that_says_what_its_maker_needs_back() -> None:
    said = _translated(
        _chunk({"reasoning_content": "Hm"})
        + _chunk({"reasoning_content": "m."})
        + _chunk({"content": "Yes."}, "stop")
        + b"data: [DONE]\n\n"
    )
    assert said == [
        BlockStart(0, {"type": "thinking", "thinking": "", "signature": ""}),
        BlockDelta(0, {"type": "thinking_delta", "thinking": "Hm"}),
        BlockDelta(0, {"type": "thinking_delta", "thinking": "m."}),
        BlockDelta(0, {"type": "signature_delta", "signature": '{"field":"reasoning_content"}'}),
        BlockStop(0),
        BlockStart(1, {"type": "text", "text": ""}),
        BlockDelta(1, {"type": "text_delta", "text": "Yes."}),
        BlockStop(1),
        *said[-2:],
    ]
    assert isinstance(said[-2], MessageDelta)
    assert said[-2].delta["stop_reason"] == "end_turn"
    assert said[-1] == MessageStop()


@pytest.mark.parametrize(("own_ids", "seen"), [(True, "functions.read:0"), (False, "functions_read_0")])
def test_a_call_keeps_the_id_of_its_maker_where_somebody_behind_makes_it_safe(own_ids: bool, seen: str) -> None:
    """Design §4, tool ids: the recording must know the maker's own."""
    said = _translated(_call("functions.read:0"), ChatStreamReader(structs.replace(ASKED, own_ids=own_ids), ChatOptions()))
    assert said[0] == BlockStart(0, {"type": "tool_use", "id": seen, "name": "read", "input": {}})


def test_a_call_without_an_id_gets_one() -> None:
    start = _translated(_call(""))[0]
    assert isinstance(start, BlockStart)
    assert start.content_block["id"] == "toolu_msg_1_0"


def test_a_block_that_was_open_when_the_stream_broke_off_gets_no_stop() -> None:
    """Design §4: a block counts from its stop event, and half a thought is not for its maker."""
    said = _translated(_chunk({"reasoning_content": "Hm"}))
    assert [type(each) for each in said] == [BlockStart, BlockDelta, StreamFailed]


def test_a_signature_that_comes_after_the_text_is_kept_for_the_maker_alone() -> None:
    """Dialects §6.2: it cannot reopen a block."""
    details: JsonObject = {"type": "reasoning.encrypted", "data": "abc", "id": "rs_1"}
    translation = ChatStreamReader(ASKED, ChatOptions())
    said = _translated(_chunk({"content": "Yes."}) + _chunk({"reasoning_details": [details]}, "stop"), translation)
    assert [each.content_block for each in said if isinstance(each, BlockStart)] == [{"type": "text", "text": ""}]
    assert translation.late is not None
    assert msgspec.json.decode(str(translation.late["signature"])) == {"reasoning_details": [details]}


def test_an_eager_stream_has_begun_before_the_backend_has() -> None:
    begun = ChatStreamReader(structs.replace(ASKED, eager=True), ChatOptions()).begin()
    assert [type(each) for each in begun] == [MessageStart, BlockStart, Ping]
    assert ChatStreamReader(ASKED, ChatOptions()).begin() == []


def test_texts_that_come_in_one_read_are_told_as_one_delta() -> None:
    words = [_chunk({"reasoning_content": word}) for word in ("so", " it", " is")]
    said = [_chunk({"content": word}) for word in ("y", "es")]

    told = ChatStreamReader(ASKED, ChatOptions()).feed(b"".join([*words, *said]))

    assert [event.delta for event in told if isinstance(event, BlockDelta) and event.kind != "signature_delta"] == [
        {"type": "thinking_delta", "thinking": "so it is"},
        {"type": "text_delta", "text": "yes"},
    ]
