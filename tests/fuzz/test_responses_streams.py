"""Streams of the Responses API, by chance, damaged and cut, to clients of every dialect: never a crash, never an illegal stream."""

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.dialects import DIALECTS
from clew.dialects.openai_responses.detail import DIALECT_NAME, ResponsesDetail
from clew.dialects.openai_responses.options import ResponsesOptions
from clew.dialects.openai_responses.passed_deltas import passed_deltas
from clew.dialects.openai_responses.streams import ResponsesStreamReader
from clew.dialects.shape import AnswerContext
from clew.model.request import NativeRequest
from clew.model.unfold import events_of
from clew.pipeline.stream.client_view import ClientView
from clew.pipeline.stream.translation import TranslatedAnswer
from tests.counts import examples
from tests.dialects.openai_responses.accumulate import ApiError, accumulated, events_in
from tests.fuzz.damage import DAMAGE, Damage, damaged
from tests.fuzz.responses_vendors import ENDS, ITEMS, SPELLINGS, WORDS, ItemWords, Spelling, written
from tests.fuzz.vendors import CUTS, pieces
from tests.golden.driving import MODEL, wear
from tests.golden.legal import problems

DAMAGES = st.lists(DAMAGE, max_size=3)


class Relayed:
    """What a client of one dialect got."""

    def __init__(self, front: str, parts: list[bytes], *, passes: bool = False) -> None:
        native = NativeRequest(dialect=front, raw=b"{}", detail=ResponsesDetail() if front == DIALECT_NAME else None)
        context = AnswerContext(
            model=MODEL, message_id="msg_x1", native=native if front != "anthropic" else None, created=1700000000
        )
        reader, writer = ResponsesStreamReader(context, ResponsesOptions()), DIALECTS[front].stream_writer(context)
        view = ClientView(wear(safe_ids=False, whole=front != "anthropic"))
        relay = TranslatedAnswer(view, reader, writer, passed=passed_deltas(reader, writer) if passes else None)
        self.out = b"".join([*[relay.feed(part) for part in parts], relay.flush(), *relay.held])
        self.relay = relay
        self.answer = relay.answer()


@pytest.mark.parametrize("front", DIALECTS)
@settings(max_examples=examples(24, soak=8000), deadline=None)
@given(ITEMS, SPELLINGS, ENDS, DAMAGES, CUTS)
def test_every_stream_is_told_legally(
    front: str, items: list[ItemWords], spelling: Spelling, end: str, damages: list[Damage], cuts: list[int]
) -> None:
    stream = b"".join(damaged(written(items, spelling, end), damages))
    heard = Relayed(front, pieces(stream, cuts))

    assert heard.relay.ended is not (heard.relay.failure is not None)
    assert heard.answer.blocks == Relayed(front, [stream]).answer.blocks
    if front == "anthropic" and heard.relay.begun:
        assert problems(heard.out, model=MODEL) == []
    if front == DIALECT_NAME and heard.out:
        with suppress(ApiError):
            assert accumulated(heard.out)["status"] in ("completed", "incomplete", "failed")
    if front == "openai-chat":
        assert [json.loads(line[6:]) for line in heard.out.splitlines() if line.startswith(b"data: {")] or not heard.out


@settings(max_examples=examples(48, soak=12_000), deadline=None)
@given(ITEMS, SPELLINGS, ENDS, DAMAGES, CUTS)
def test_what_passes_says_the_same_as_what_is_read(
    items: list[ItemWords], spelling: Spelling, end: str, damages: list[Damage], cuts: list[int]
) -> None:
    stream = pieces(b"".join(damaged(written(items, spelling, end), damages)), cuts)
    passed, read = Relayed(DIALECT_NAME, stream, passes=True), Relayed(DIALECT_NAME, stream)

    assert (passed.answer.blocks, passed.answer.message) == (read.answer.blocks, read.answer.message)
    assert (passed.relay.failure is None, passed.relay.ended) == (read.relay.failure is None, read.relay.ended)
    kinds = [
        [event["type"] for event in events_in(each.out) if not event["type"].endswith("delta")] for each in (passed, read)
    ]
    assert kinds[0] == kinds[1]
    if read.out and read.relay.ended:
        assert accumulated(passed.out) == accumulated(read.out)


TEXT = st.lists(st.sampled_from(WORDS), max_size=5).map("".join).filter(lambda text: text.isprintable())
BLOCKS: st.SearchStrategy[dict[str, Any]] = st.one_of(
    st.builds(lambda text: {"type": "text", "text": text}, TEXT),
    st.builds(lambda text: {"type": "thinking", "thinking": text, "signature": "sig"}, TEXT),
    st.just({"type": "redacted_thinking", "data": "x"}),
    st.builds(lambda text: {"type": "tool_use", "id": "t", "name": "f", "input": {"a": text}}, TEXT),
    st.just({"type": "hologram", "shape": "cube"}),
)


@settings(max_examples=examples(40, soak=8000), deadline=None)
@given(st.lists(BLOCKS, max_size=5), st.sampled_from(("end_turn", "max_tokens", "refusal", "pause_turn")), st.integers(1, 9))
def test_every_canonical_answer_is_a_stream_that_clients_put_together(
    blocks: list[dict[str, Any]], stop: str, size: int
) -> None:
    """And the same in one piece."""
    usage = {"input_tokens": 1, "output_tokens": 2}
    message: Any = {"id": "msg_x1", "type": "message", "role": "assistant", "model": MODEL, "content": blocks}
    message |= {"stop_reason": stop, "stop_sequence": None, "usage": usage}
    context = AnswerContext(model=MODEL, message_id="msg_x1", created=1700000000)
    writer = DIALECTS[DIALECT_NAME].stream_writer(context)
    out = b"".join([writer.write(event) for event in events_of(message, chunk=size)])

    found = accumulated(out)
    assert found == json.loads(DIALECTS[DIALECT_NAME].write_answer(message, context))
