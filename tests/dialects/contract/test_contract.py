"""The contract of a dialect: what one role writes the other reads, at any cut, within bounds, and never with a traceback."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import pairwise
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.dialects.shape import AnswerContext, Dialect
from clew.errors import ClewError, StreamIllegal
from clew.model.assemble import assemble
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
from clew.model.failure import Failure
from clew.model.lifecycle import LENIENT, STRICT, Lifecycle, Table
from clew.model.request import ALWAYS
from clew.model.unfold import events_of
from clew.wire.requests import parse
from tests.counts import examples
from tests.dialects.contract import ALL, options_for
from tests.fuzz.damage import JUNK
from tests.memory import most_of
from tests.model.streams import joined

Json = dict[str, Any]
CONTEXT = AnswerContext(model="m", message_id="msg_1")
WORDS = st.text("abc é", min_size=1, max_size=12).filter(lambda text: text.strip() == text)
INPUTS = st.dictionaries(
    st.text("ab", min_size=1, max_size=3), st.one_of(st.integers(0, 99), WORDS, st.booleans()), max_size=3
)

each_dialect = pytest.mark.parametrize("dialect", ALL.values(), ids=ALL)


@st.composite
def conversations(draw: st.DrawFn) -> Json:
    """Canonical requests of what every dialect can say: texts, calls, results, tools, the common parameters."""
    messages: list[Json] = []
    for turn in range(draw(st.integers(0, 3))):
        messages.append({"role": "user", "content": [{"type": "text", "text": draw(WORDS)}]})
        blocks: list[Json] = [{"type": "text", "text": draw(WORDS)}] if draw(st.booleans()) else []
        ids = [f"toolu_{turn}_{index}" for index in range(draw(st.integers(0 if blocks else 1, 2)))]
        blocks += [{"type": "tool_use", "id": each, "name": "f", "input": draw(INPUTS)} for each in ids]
        messages.append({"role": "assistant", "content": blocks})
        if ids:
            results = [_result(each, draw(WORDS)) for each in ids]
            messages.append({"role": "user", "content": results})
    messages.append({"role": "user", "content": [{"type": "text", "text": draw(WORDS)}]})
    request: Json = {"model": "m", "messages": messages, "max_tokens": draw(st.integers(1, 999))}
    if draw(st.booleans()):
        request["system"] = [{"type": "text", "text": draw(WORDS)}]
    if draw(st.booleans()):
        request["tools"] = [{"name": "f", "description": draw(WORDS), "input_schema": {"type": "object", "properties": {}}}]
        request["tool_choice"] = draw(st.sampled_from([{"type": "auto"}, {"type": "any"}, {"type": "tool", "name": "f"}]))
    if draw(st.booleans()):
        request["stop_sequences"] = draw(st.lists(WORDS, min_size=1, max_size=4))
    if draw(st.booleans()):
        request["stream"] = True
    return request


def _result(call: str, text: str) -> Json:
    return {"type": "tool_result", "tool_use_id": call, "content": [{"type": "text", "text": text}]}


@st.composite
def answers(draw: st.DrawFn) -> Json:
    """Canonical messages: a thought at most, then text, then calls."""
    blocks: list[Json] = []
    if draw(st.booleans()):
        blocks.append({"type": "thinking", "thinking": draw(WORDS), "signature": draw(st.sampled_from(["", "SIG"]))})
    blocks.append({"type": "text", "text": draw(WORDS)})
    calls = draw(st.integers(0, 3))
    blocks += [{"type": "tool_use", "id": f"toolu_{at}", "name": "f", "input": draw(INPUTS)} for at in range(calls)]
    usage = {name: draw(st.integers(0, 50)) for name in ("input_tokens", "cache_read_input_tokens")}
    usage["output_tokens"] = draw(st.integers(1, 50))  # nobody who counts counts nothing
    stop = draw(st.sampled_from(["max_tokens", "tool_use" if calls else "end_turn"]))
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": blocks,
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": {**usage, "cache_creation_input_tokens": 0},
    }


WITHOUT: Final = {"openai-responses": {"stop_sequences"}}
"""Fields that a dialect does not have."""
REPEATING: Final = {"openai-responses"}
"""Dialects in which a stream says at its end once more all that it said."""


def said(message: Any) -> Json:
    """What must survive: the words, the calls, the end, the cost. (How a proof is carried is the dialect's own.)"""
    blocks = [{name: value for name, value in block.items() if name != "signature"} for block in message["content"]]
    usage = {name: message["usage"].get(name) for name in ("input_tokens", "cache_read_input_tokens", "output_tokens")}
    return {"content": blocks, "stop_reason": message["stop_reason"], "usage": usage}


def write(dialect: Dialect[Any], events: list[Event]) -> bytes:
    writer = dialect.stream_writer(CONTEXT)
    return b"".join(map(writer.write, events))


def read(dialect: Dialect[Any], *pieces: bytes) -> list[Event]:
    reader = dialect.stream_reader(CONTEXT, options_for(dialect))
    events = list(reader.begin())
    for piece in pieces:
        events += reader.feed(piece)
    return events + list(reader.flush())


@each_dialect
@settings(max_examples=examples(24, soak=2000), deadline=None)
@given(document=conversations())
def test_a_request_that_is_written_is_read_as_it_was(dialect: Dialect[Any], document: Json) -> None:
    document = {name: value for name, value in document.items() if name not in WITHOUT.get(dialect.name, ())}
    written = dialect.write_request(parse(json.dumps(document).encode()), options_for(dialect))
    again = dialect.read_request(written.body, {}, ALWAYS)

    assert written.changes == ()
    assert json.loads(again.source.raw) == document


@each_dialect
@settings(max_examples=examples(24, soak=2000), deadline=None)
@given(message=answers(), size=st.integers(1, 9), cuts=st.lists(st.integers(1, 4000), max_size=8))
def test_a_stream_that_is_written_is_read_as_it_was_wherever_it_is_cut(
    dialect: Dialect[Any], message: Json, size: int, cuts: list[int]
) -> None:
    stream = write(dialect, list(events_of(message, chunk=size)))
    whole = read(dialect, stream)
    places = [0, *sorted({cut for cut in cuts if cut < len(stream)}), len(stream)]
    cut = read(dialect, *(stream[start:end] for start, end in pairwise(places)))

    assert said(assemble(whole)) == said(message)
    assert joined(cut) == joined(whole)
    lifecycle = Lifecycle(STRICT)
    for event in whole:
        lifecycle.accept(event)


@each_dialect
@settings(max_examples=examples(18, soak=1000), deadline=None)
@given(message=answers())
def test_a_whole_answer_that_is_written_is_read_as_it_was(dialect: Dialect[Any], message: Json) -> None:
    body = dialect.write_answer(message, CONTEXT)
    again = dialect.read_answer(body, "messages", CONTEXT, options_for(dialect))

    assert said(again) == said(message)


@each_dialect
@settings(max_examples=examples(18, soak=1000), deadline=None)
@given(message=answers(), share=st.floats(0, 0.95))
def test_a_stream_that_breaks_off_never_looks_finished(dialect: Dialect[Any], message: Json, share: float) -> None:
    events = list(events_of(message, chunk=5))
    cut = events[: 1 + int(share * (len(events) - 3))]
    failed = StreamFailed({"type": "overloaded_error", "message": "Overloaded"}, status=529)
    found = read(dialect, write(dialect, [*cut, failed]))

    assert isinstance(found[-1], StreamFailed)
    assert "Overloaded" in str(found[-1].error["message"])
    assert not any(isinstance(event, MessageStop | MessageDelta) for event in found)


PIECES: list[Event] = [
    MessageStart({"role": "assistant", "content": [], "usage": {}}),
    BlockStart(0, {"type": "text", "text": ""}),
    BlockStart(1, {"type": "tool_use", "id": "a", "name": "f", "input": {}}),
    BlockDelta(0, {"type": "text_delta", "text": "x"}),
    BlockDelta(1, {"type": "input_json_delta", "partial_json": "{}"}),
    BlockStop(0),
    BlockStop(1),
    MessageDelta({"stop_reason": "end_turn"}),
    MessageStop(),
    Ping(),
    StreamFailed({"type": "api_error", "message": "m"}),
]


@each_dialect
@settings(max_examples=examples(48, soak=4000), deadline=None)
@given(events=st.lists(st.sampled_from(PIECES), max_size=10))
def test_a_writer_refuses_an_illegal_order(dialect: Dialect[Any], events: list[Event]) -> None:
    if _accepts(STRICT, events):
        write(dialect, events)
    elif not _accepts(LENIENT, events):
        with pytest.raises(StreamIllegal):
            write(dialect, events)


def _accepts(table: Table, events: list[Event]) -> bool:
    lifecycle = Lifecycle(table)
    try:
        for event in events:
            lifecycle.accept(event)
    except StreamIllegal:
        return False
    return True


@each_dialect
@pytest.mark.parametrize(
    "failure",
    [
        Failure(400, "invalid_request_error", "bad words"),
        Failure(401, "authentication_error", "bad words"),
        Failure(429, "rate_limit_error", "bad words"),
        Failure(500, "api_error", "bad words"),
    ],
    ids=lambda failure: str(failure.status),
)
def test_an_error_that_is_written_is_read_with_its_status_type_and_words(dialect: Dialect[Any], failure: Failure) -> None:
    refusal = dialect.read_error(failure.status, (), dialect.write_error(failure, "req_1"), options_for(dialect))
    error = json.loads(refusal.body)["error"]

    assert refusal.status == failure.status
    assert error["type"] == failure.type
    assert failure.message in error["message"]


@each_dialect
@settings(max_examples=examples(36, soak=4000), deadline=None)
@given(
    raw=st.one_of(st.binary(max_size=40), st.sampled_from(JUNK), st.lists(st.sampled_from(JUNK), max_size=6).map(b"".join))
)
def test_broken_input_of_every_kind_ends_in_a_clear_failure(dialect: Dialect[Any], raw: bytes) -> None:
    for read_one in (_request, _stream, _answer):
        read_one(dialect, raw)
        read_one(dialect, b"data: " + raw + b"\n\n")


def _request(dialect: Dialect[Any], raw: bytes) -> None:
    with pytest.raises(ClewError) as caught:
        dialect.read_request(raw, {}, ALWAYS)
    assert caught.value.status in (400, 413)
    assert str(caught.value)


def _stream(dialect: Dialect[Any], raw: bytes) -> None:
    try:
        events = read(dialect, raw)
    except StreamIllegal:
        return
    assert any(isinstance(event, StreamFailed | MessageStop) for event in events)  # some junk is a very short answer


def _answer(dialect: Dialect[Any], raw: bytes) -> None:
    found = dialect.read_answer(raw, "messages", CONTEXT, options_for(dialect))
    assert found is None or isinstance(found, StreamFailed)


@each_dialect
def test_a_long_stream_takes_no_more_memory_than_a_short_one(dialect: Dialect[Any]) -> None:
    """Of text, in both roles; what is said is the client's to keep."""

    def through(count: int) -> Callable[[], object]:
        writer, reader = dialect.stream_writer(CONTEXT), dialect.stream_reader(CONTEXT, options_for(dialect))

        def run() -> None:
            for event in (MessageStart({"role": "assistant", "content": []}), BlockStart(0, {"type": "text", "text": ""})):
                list(reader.feed(writer.write(event)))
            for _ in range(count):
                list(reader.feed(writer.write(BlockDelta(0, {"type": "text_delta", "text": "some words " * 8}))))

        return run

    repeated = len("some words " * 8) * 2000 if dialect.name in REPEATING else 0
    enough = most_of(lambda: through(200)) + repeated + 64 * 1024
    assert most_of(lambda: through(2000), enough=enough) < enough
