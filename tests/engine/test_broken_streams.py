"""A stream that breaks off inside a block never looks finished: not to a client, and not in the store."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest

from clew.backends.credential import Secret
from clew.backends.row import Backend, Quirks
from clew.settings.values import Retry, ThinkingSettings
from tests.engine.breaking import BLOCKS, WAYS, breaking, breaks_after
from tests.engine.chatting import DONE, SSE, chat_row, chunk, telling
from tests.engine.conftest import Gating
from tests.engine.gate import Answer, Gate
from tests.engine.kept import exchange_of, recording_of
from tests.faults.scene import impatient
from tests.golden.legal import check
from tests.manifest import proves, public

pytestmark = pytest.mark.slow

ONCE = Retry(retries=0, cool_seconds=0.0)
CUTS = 20


def row(dialect: str, url: str) -> Backend:
    if dialect == "chat":
        return chat_row("local", url)
    return Backend(name="local", url=url, realm="local", quirks=Quirks(), auth="key", keys=(Secret("sk-test"),))


def looks_finished(answer: Answer, before: int) -> str:
    """What makes the answer look whole though its block number `before` is not; "" if nothing does. What came in one read
    with something that cannot be read may never be told: then nothing is told but the failure, or less of the blocks."""
    if answer.status != 200:
        return "" if answer.json["type"] == "error" else f"{answer.json}"
    stopped = [event["index"] for event in answer.events if event["type"] == "content_block_stop"]
    signed = [event["index"] for event in answer.events if event.get("delta", {}).get("type") == "signature_delta"]
    if answer.kinds[-1] != "error" or "message_stop" in answer.kinds or "message_delta" in answer.kinds:
        return f"it ends with {answer.kinds[-2:]}"
    return "" if stopped == signed == [0][: min(before, len(stopped))] else f"stopped {stopped}, signed {signed}"


def half_is_kept(gate: Gate, answer: Answer, before: int) -> str:
    """What the store has of it beyond the blocks that are whole; "" if that is nothing."""
    exchange = exchange_of(gate, answer)
    recording = recording_of(gate, exchange.id)
    blocks = [json.loads(block)["type"] for block in recording.blocks] if recording else []
    if exchange.outcome not in ("cut", "failed") or (recording is not None and recording.whole):
        return f"{exchange.outcome}: {recording}"
    return "" if blocks in ([], ["thinking"][:before]) else f"kept: {blocks}"


@public("gateway")
@proves("req:S3-17", "req:S3-21", "req:S3-22")
@pytest.mark.parametrize("way", [each for each in WAYS if each != "silent"])
@pytest.mark.parametrize("block", BLOCKS)
@pytest.mark.parametrize("dialect", ["chat", "anthropic"])
@pytest.mark.parametrize("stored", [True, False], ids=["stored", "unstored"])
def test_the_open_block_has_no_stop_and_no_seal_wherever_the_stream_breaks(
    gating: Gating, dialect: str, block: str, way: str, stored: bool
) -> None:
    """Twenty cuts, each after one delta more."""
    before = int(block != "thinking")
    with breaking(dialect, block, way) as backend:
        gate = gating(row(dialect, backend.url), retry=ONCE, store=stored)
        answers = [gate.ask(breaks_after(deltas)) for deltas in range(1, CUTS + 1)]
        assert [found for answer in answers if (found := looks_finished(answer, before))] == []
        for answer in answers:
            assert answer.status != 200 or check(answer.raw) is None
        if stored:
            assert [found for answer in answers if (found := half_is_kept(gate, answer, before))] == []


def words_of(event: Any, index: int) -> list[str]:
    """What a delta of this block says. How many deltas there are depends on the reads."""
    delta = event.get("delta", {}) if event.get("index") == index else {}
    return [words for name, words in delta.items() if name in ("text", "thinking", "partial_json")]


@pytest.mark.parametrize("block", BLOCKS)
def test_what_came_of_the_block_is_shown_all_the_same(gating: Gating, block: str) -> None:
    """Nothing but its end is missing, and blocks that were whole before it are kept."""
    before = int(block != "thinking")
    with breaking("chat", block, "closed") as backend:
        gate = gating(row("chat", backend.url), retry=ONCE)
        answers = [gate.ask(breaks_after(deltas)) for deltas in range(1, CUTS + 1)]
        shown = ["".join(words for event in answer.events for words in words_of(event, before)) for answer in answers]
        assert all(more.startswith(less) and len(more) > len(less) for less, more in pairwise(["", *shown]))
        recorded = [recording_of(gate, exchange_of(gate, answer).id) for answer in answers]
    assert [len(recording.blocks) for recording in recorded if recording] == [1] * (CUTS * before)


@proves("req:S3-22")
@pytest.mark.parametrize("block", BLOCKS)
@pytest.mark.parametrize("dialect", ["chat", "anthropic"])
def test_a_silence_that_lasts_too_long_is_a_break_too(gating: Gating, dialect: str, block: str) -> None:
    before = int(block != "thinking")
    with breaking(dialect, block, "silent") as backend:
        gate = gating(row(dialect, backend.url), **impatient(retry=ONCE, gap=1.0))
        answers = [gate.ask(breaks_after(deltas)) for deltas in (1, 5)]
        assert [found for answer in answers if (found := looks_finished(answer, before))] == []
        assert [found for answer in answers if (found := half_is_kept(gate, answer, before))] == []


@proves("req:S3-22")
@pytest.mark.parametrize("block", BLOCKS)
@pytest.mark.parametrize(
    "thinking",
    [
        ThinkingSettings(signature="empty"),
        ThinkingSettings(stream_start="eager"),
        ThinkingSettings(show_reasoning="hide"),
    ],
    ids=["empty signatures", "eager", "hidden"],
)
def test_no_choice_of_how_answers_look_stops_a_block_that_broke_off(
    gating: Gating, block: str, thinking: ThinkingSettings
) -> None:
    with breaking("chat", block, "closed") as backend:
        gate = gating(row("chat", backend.url), retry=ONCE, thinking=thinking)
        answers = [gate.ask(breaks_after(deltas)) for deltas in (1, 2, 3)]
    hidden = thinking.show_reasoning == "hide" and block == "thinking"
    for answer in answers:
        starts, stops = (answer.kinds.count(f"content_block_{edge}") for edge in ("start", "stop"))
        assert (answer.kinds[-1], starts - stops) == ("error", 0 if hidden else 1), answer.kinds


HALF = '{"file_path": "a'


def called(arguments: object, finish: str = "tool_calls") -> dict[str, object]:
    """An answer in one piece that calls a tool so."""
    call = {"id": "c", "type": "function", "function": {"name": "Read", "arguments": arguments}}
    message = {"role": "assistant", "content": None, "tool_calls": [call]}
    return {"id": "c-1", "choices": [{"index": 0, "message": message, "finish_reason": finish}]}


def answered(gating: Gating, arguments: object, *, finish: str = "tool_calls", comes: str, stream: bool = False) -> Answer:
    """What a client gets for such a call, whether the backend sends JSON or streams."""
    delta = chunk(tool_calls=[{"index": 0, "id": "c", "function": {"name": "Read", "arguments": arguments}}])
    told, kind = (json.dumps(called(arguments, finish)).encode(), "application/json")
    if comes == "stream":
        told, kind = delta + chunk(finish) + DONE, SSE
    with telling(told, kind=kind) as backend:
        return gating(chat_row("local", backend.url), retry=ONCE).ask(breaks_after(1, stream=stream))


@pytest.mark.parametrize("comes", ["json", "stream"])
@pytest.mark.parametrize("arguments", [HALF, "oops", "[1]", "null"])
def test_broken_arguments_of_an_unstreamed_call_are_an_error_that_names_it(
    gating: Gating, arguments: str, comes: str
) -> None:
    """Never `input: {}` without a word: the client would run it."""
    answer = answered(gating, arguments, comes=comes)
    error = answer.json["error"]
    assert (answer.status, error["type"]) == (502, "api_error"), answer.raw
    assert f"the arguments of the call of Read are not a JSON object: {arguments}" in error["message"]


def test_broken_arguments_in_one_piece_are_an_error_for_a_client_that_streams_too(gating: Gating) -> None:
    answer = answered(gating, HALF, comes="json", stream=True)
    assert (answer.status, "call of Read" in answer.json["error"]["message"]) == (502, True)


@pytest.mark.parametrize("comes", ["json", "stream"])
@pytest.mark.parametrize("arguments", ["", "{}", None])
def test_a_call_without_arguments_has_an_empty_input(gating: Gating, arguments: object, comes: str) -> None:
    answer = answered(gating, arguments, comes=comes)
    assert [block["input"] for block in answer.json["content"]] == [{}]


@pytest.mark.parametrize("comes", ["json", "stream"])
def test_an_end_by_length_inside_a_call_is_no_break(gating: Gating, comes: str) -> None:
    """The stop reason says that the call is not whole; no client runs it."""
    answer = answered(gating, HALF, finish="length", comes=comes)
    assert (answer.status, answer.json["stop_reason"]) == (200, "max_tokens")


def test_an_end_by_length_keeps_its_stop_events(gating: Gating) -> None:
    answer = answered(gating, HALF, finish="length", comes="stream", stream=True)
    assert answer.kinds[-3:] == ["content_block_stop", "message_delta", "message_stop"]
    assert answer.events[-2]["delta"]["stop_reason"] == "max_tokens"
