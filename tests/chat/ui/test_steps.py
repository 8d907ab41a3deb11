"""One model call as parts: block by block, nothing moved, nothing joined, nothing invented."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.chat.ui.messages import StepParts
from clew.chat.ui.parts import message_of_parts
from clew.model.json import JsonObject
from clew.model.unfold import events_of
from tests.counts import examples

CALL = {"type": "tool_use", "id": "t1", "name": "look", "input": {"at": "sky"}}
SEARCH = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "sky"}}


def parts(*blocks: JsonObject, chunk: int = 4) -> list[Any]:
    step = StepParts("m")
    message: JsonObject = {"type": "message", "content": [*blocks], "stop_reason": "end_turn"}
    return [part for event in events_of(message, chunk=chunk) for part in step.feed(event)]


def test_text_and_thinking_grow_between_their_beginnings_and_ends() -> None:
    """clients 2.2."""
    thinking: JsonObject = {"type": "thinking", "thinking": "Hm. So.", "signature": "c2ln"}
    assert parts(thinking, {"type": "text", "text": "Blue."}) == [
        {"type": "reasoning-start", "id": "m.0"},
        {"type": "reasoning-delta", "id": "m.0", "delta": "Hm. "},
        {"type": "reasoning-delta", "id": "m.0", "delta": "So."},
        {"type": "reasoning-end", "id": "m.0", "providerMetadata": {"anthropic": {"signature": "c2ln"}}},
        {"type": "text-start", "id": "m.1"},
        {"type": "text-delta", "id": "m.1", "delta": "Blue"},
        {"type": "text-delta", "id": "m.1", "delta": "."},
        {"type": "text-end", "id": "m.1"},
    ]


def test_thinking_that_is_not_shown_is_there_all_the_same() -> None:
    """clients 2.2: redacted data where the SDK's own provider has it; an omitted text is an empty part."""
    redacted: JsonObject = {"type": "redacted_thinking", "data": "ZW5j"}
    omitted: JsonObject = {"type": "thinking", "thinking": "", "signature": "c2ln"}
    assert parts(redacted, omitted) == [
        {"type": "reasoning-start", "id": "m.0", "providerMetadata": {"anthropic": {"redactedData": "ZW5j"}}},
        {"type": "reasoning-end", "id": "m.0"},
        {"type": "reasoning-start", "id": "m.1"},
        {"type": "reasoning-end", "id": "m.1", "providerMetadata": {"anthropic": {"signature": "c2ln"}}},
    ]


def test_a_call_is_told_as_it_is_written_and_then_whole() -> None:
    assert parts(CALL, chunk=100) == [
        {"type": "tool-input-start", "toolCallId": "t1", "toolName": "look"},
        {"type": "tool-input-delta", "toolCallId": "t1", "inputTextDelta": '{"at":"sky"}'},
        {"type": "tool-input-available", "toolCallId": "t1", "toolName": "look", "input": {"at": "sky"}},
    ]


def test_what_the_vendor_runs_itself_is_nothing_for_the_client_to_do() -> None:
    found: JsonObject = {"type": "web_search_tool_result", "tool_use_id": "s1", "content": [{"url": "https://a.example"}]}
    failed: JsonObject = {
        "type": "web_search_tool_result",
        "tool_use_id": "s1",
        "content": {"type": "web_search_tool_result_error", "error_code": "unavailable"},
    }
    assert parts(SEARCH, found)[-2:] == [
        {
            "type": "tool-input-available",
            "toolCallId": "s1",
            "toolName": "web_search",
            "providerExecuted": True,
            "input": {"query": "sky"},
        },
        {"type": "tool-output-available", "toolCallId": "s1", "output": found["content"], "providerExecuted": True},
    ]
    assert parts(SEARCH, failed)[-1] == {
        "type": "tool-output-error",
        "toolCallId": "s1",
        "errorText": "unavailable",
        "providerExecuted": True,
    }


def test_a_source_that_a_text_cites_is_a_part() -> None:
    text: JsonObject = {"type": "text", "text": "Blue.", "citations": [{"url": "https://a.example", "title": "A"}]}
    [source] = [part for part in parts(text) if part["type"] == "source-url"]
    assert source == {"type": "source-url", "sourceId": "m.source.1", "url": "https://a.example", "title": "A"}


def test_a_block_that_nobody_knows_is_handed_on_as_data() -> None:
    unknown: JsonObject = {"type": "hologram", "beam": 1}
    assert parts(unknown) == [{"type": "data-block", "id": "m.0", "data": unknown}]


TEXTS = st.text(max_size=12)
BLOCKS = st.one_of(
    st.builds(lambda text: {"type": "text", "text": text}, TEXTS),
    st.builds(
        lambda text, sign: {"type": "thinking", "thinking": text, "signature": sign}, TEXTS, st.sampled_from(["", "c2ln"])
    ),
    st.just({"type": "redacted_thinking", "data": "ZW5j"}),
    st.builds(lambda value: {**CALL, "input": {"at": value}}, TEXTS),
)


@settings(max_examples=examples(30, soak=1000), deadline=None)
@given(blocks=st.lists(BLOCKS, max_size=5), chunk=st.integers(1, 20))
def test_however_it_is_cut_the_message_is_the_same_and_every_part_is_closed(blocks: list[Any], chunk: int) -> None:
    numbered = [{**block, "id": f"t{at}"} if block["type"] == "tool_use" else block for at, block in enumerate(blocks)]
    message = message_of_parts(parts(*numbered, chunk=chunk))
    assert message == message_of_parts(parts(*numbered, chunk=10_000))
    assert [part["type"].partition("-")[0] for part in message["parts"]] == [_KINDS[block["type"]] for block in blocks]
    assert {part["state"] for part in message["parts"]} <= {"done", "input-available"}


_KINDS = {"text": "text", "thinking": "reasoning", "redacted_thinking": "reasoning", "tool_use": "tool"}


@pytest.mark.parametrize("kind", ["start", "finish", "message-metadata"])
def test_metadata_is_put_together(kind: str) -> None:
    told = message_of_parts(
        [{"type": "start", "messageId": "m", "messageMetadata": {"a": 1}}, {"type": kind, "messageMetadata": {"b": 2}}]
    )
    assert (told["id"], told["metadata"]) == ("m", {"a": 1, "b": 2})
