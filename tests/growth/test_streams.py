"""Streams of n and 4n events of each kind, in both dialects, through all that reads or writes them."""

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

import pytest

from clew.chat.ui.messages import StepParts
from clew.chat.ui.parts import MessageFold
from clew.dialects import DIALECTS
from clew.dialects.anthropic.requests import AnthropicOptions
from clew.dialects.anthropic.streams import AnthropicStreamReader, AnthropicStreamWriter
from clew.dialects.openai_chat import ChatOptions
from clew.dialects.openai_chat.options import ChatAnswerOptions
from clew.dialects.openai_responses.detail import DIALECT_NAME
from clew.dialects.openai_responses.options import ResponsesOptions
from clew.dialects.openai_responses.stream_writer import ResponsesStreamWriter
from clew.dialects.openai_responses.streams import ResponsesStreamReader
from clew.dialects.shape import AnswerContext
from clew.errors import StreamIllegal
from clew.exchange.backend_dialect import BackendDialect
from clew.exchange.call import Call
from clew.model.assemble import Assembler
from clew.model.request import NativeRequest
from clew.model.unfold import events_of
from clew.pipeline.stream.answer_stream import AnswerStream
from clew.pipeline.stream.client_view import ClientView
from clew.pipeline.stream.translation import TranslatedAnswer
from clew.wire.events import decode_event
from clew.wire.sse import SseReader
from tests.dialects.openai_chat.chat import ASKED, ReadStream
from tests.growth.responses_streams import RESPONSES
from tests.growth.streams import CHAT, MESSAGES, OFFERS, Events
from tests.growth.work import check_growth, each_with
from tests.pipeline.stream.wearing import HIDDEN, PLAIN, SEALED, answer_of, passed_answer

N = 32

pytestmark = pytest.mark.slow


def relayed(relay: AnswerStream, chunks: Events) -> None:
    """To its end, and all that is asked for at the end."""
    relay.begin()
    for chunk in chunks:
        relay.feed(chunk)
    relay.flush()
    b"".join(relay.held)
    relay.answer()


def in_one_read(events: Events) -> Events:
    return [b"".join(events)]


def _plain(chunks: Events) -> None:
    relayed(passed_answer(ClientView(PLAIN)), chunks)


def _sealed(chunks: Events) -> None:
    relayed(passed_answer(ClientView(SEALED)), chunks)


def _hidden(chunks: Events) -> None:
    with suppress(StreamIllegal):  # it reads every event, and some streams are none
        relayed(passed_answer(ClientView(HIDDEN)), chunks)


def _assembled(chunks: Events) -> None:
    reader, assembler = SseReader(), Assembler()
    with suppress(StreamIllegal):
        for chunk in chunks:
            for sse in reader.feed(chunk):
                assembler.feed(decode_event(sse))
    list(events_of(assembler.message(), chunk=10))


def _in_a_chat(chunks: Events) -> None:
    """As a page of the chat shows it."""
    reader, step, fold = SseReader(), StepParts("s"), MessageFold()
    with suppress(StreamIllegal):
        for chunk in chunks:
            for sse in reader.feed(chunk):
                fold.feed_all(step.feed(decode_event(sse)))
    assert fold.message


MESSAGES_READERS: dict[str, Callable[[Events], object]] = {
    "relay": _plain,
    "relay of one read": lambda events: _plain(in_one_read(events)),
    "relay that seals": _sealed,
    "relay that hides": _hidden,
    "assembler": _assembled,
    "chat": _in_a_chat,
    "answer": lambda events: answer_of(b"".join(events)),
}

SPEECHES = {
    "": ChatAnswerOptions(),
    ", tags anywhere": ChatAnswerOptions(tags="anywhere"),
    ", snapshots": ChatAnswerOptions(snapshots=True),
}


def _chat(chunks: Events, speech: ChatAnswerOptions, wear: Any, **context: Any) -> None:
    dialect = BackendDialect(dialect=DIALECTS["openai-chat"], options=ChatOptions(answer=speech))
    view, about = ClientView(wear), AnswerContext(model="x", **context)
    relayed(dialect.answer_stream(Call(body=b""), view, about, keep=True, blocks=True), chunks)


def _decoded(chunks: Events) -> None:
    stream = ReadStream(ASKED)
    for each in chunks:
        stream.feed(each)
    stream.flush()


CHAT_READERS: dict[str, Callable[[Events], object]] = {
    **{f"writer{name}": partial(_chat, speech=speech, wear=SEALED) for name, speech in SPEECHES.items()},
    "translation": partial(_chat, speech=ChatAnswerOptions(), wear=SEALED, own_ids=False),
    "translation that hides": partial(_chat, speech=ChatAnswerOptions(), wear=HIDDEN),
    "writer, calls in text": partial(_chat, speech=ChatAnswerOptions(text_calls="qwen"), wear=SEALED, document=OFFERS),
    "writer of one read": lambda events: _chat(in_one_read(events), speech=ChatAnswerOptions(), wear=SEALED),
    "decoder of one read": lambda events: _decoded(in_one_read(events)),
}


def _responses(chunks: Events, wear: Any, *, client: NativeRequest | None = None) -> None:
    """From a backend of the Responses API to a client of it, or of the Messages API."""
    context = AnswerContext(model="x", native=client)
    writer = ResponsesStreamWriter(context) if client else AnthropicStreamWriter(context)
    reader = ResponsesStreamReader(context, ResponsesOptions())
    relayed(TranslatedAnswer(ClientView(wear), reader, writer), chunks)


OWN_CLIENT = NativeRequest(dialect=DIALECT_NAME, raw=b"{}", detail=None)
RESPONSES_READERS: dict[str, Callable[[Events], object]] = {
    "reader": partial(_responses, wear=SEALED),
    "reader of one read": lambda events: _responses(in_one_read(events), SEALED),
    "reader that hides": partial(_responses, wear=HIDDEN),
    "reader and writer": partial(_responses, wear=SEALED, client=OWN_CLIENT),
}


def _to_responses(chunks: Events) -> None:
    """From the Messages API to a client of the Responses API."""
    context = AnswerContext(model="x", native=OWN_CLIENT)
    reader, writer = AnthropicStreamReader(context, AnthropicOptions()), ResponsesStreamWriter(context)
    with suppress(StreamIllegal):
        relayed(TranslatedAnswer(ClientView(SEALED), reader, writer), chunks)


RESPONSES_WRITERS = {"writer": _to_responses}


@pytest.mark.parametrize(("repeated", "reader"), each_with(MESSAGES, MESSAGES_READERS))
def test_a_messages_stream_costs_work_in_proportion(repeated: str, reader: str) -> None:
    check_growth(MESSAGES[repeated], MESSAGES_READERS[reader], N)


@pytest.mark.parametrize(("repeated", "reader"), each_with(CHAT, CHAT_READERS))
def test_a_chat_stream_costs_work_in_proportion(repeated: str, reader: str) -> None:
    check_growth(CHAT[repeated], CHAT_READERS[reader], N)


@pytest.mark.parametrize(("repeated", "reader"), each_with(RESPONSES, RESPONSES_READERS))
def test_a_responses_stream_costs_work_in_proportion(repeated: str, reader: str) -> None:
    check_growth(RESPONSES[repeated], RESPONSES_READERS[reader], N)


@pytest.mark.parametrize(("repeated", "reader"), each_with(MESSAGES, RESPONSES_WRITERS))
def test_a_stream_for_a_client_of_responses_costs_work_in_proportion(repeated: str, reader: str) -> None:
    check_growth(MESSAGES[repeated], RESPONSES_WRITERS[reader], N)
