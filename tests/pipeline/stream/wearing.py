"""Dresses to try on, and a relay fed at any cut."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

from clew.dialects.anthropic.passthrough import PASSTHROUGH
from clew.dialects.anthropic.streams import AnthropicStreamWriter
from clew.dialects.shape import AnswerContext, StreamReader
from clew.errors import StreamIllegal
from clew.model.assemble import Assembler
from clew.model.events import BlockStop, Event
from clew.model.json import JsonObject
from clew.model.origin import Origin
from clew.pipeline.stream.answer import AnswerSoFar
from clew.pipeline.stream.client_view import ClientView, ViewOptions
from clew.pipeline.stream.passthrough import PassedAnswer, answer_of_stream
from clew.pipeline.stream.translation import TranslatedAnswer
from clew.thinking.seal import Sealer
from clew.wire.events import decode_event
from clew.wire.sse import Frames, SseLimits, SseReader
from tests.model import streams
from tests.properties.stream_strategies import ENDS, WORDS, blocks

SEALER = Sealer({"k": b"s" * 32}, "k")
MAKER = Origin(realm="glm", backend="glm", model="glm-5", account="me")
ASKED = "the-model-that-was-asked"
EXCHANGE = "0199"
_LIMITS = SseLimits()


def wear(**more: Any) -> ViewOptions:
    return ViewOptions(**{"model": ASKED, "exchange": EXCHANGE, "origin": MAKER, **more})


PLAIN = wear()
SEALED = wear(sealer=SEALER, safe_ids=True)
REFERENCE = wear(sealer=SEALER, safe_ids=True, by_reference=True)
HIDDEN = wear(sealer=SEALER, safe_ids=True, hide=True)
FOREIGN = [SEALED, REFERENCE, HIDDEN]


def passed_answer(view: ClientView, limits: SseLimits = _LIMITS, *, keep: bool = True, blocks: bool = True) -> PassedAnswer:
    """A Messages stream for a client of the Messages API."""
    return PassedAnswer(view, PASSTHROUGH, limits, keep=keep, blocks=blocks)


def translated_answer(view: ClientView, reader: StreamReader, *, keep: bool = True, blocks: bool = True) -> TranslatedAnswer:
    """Another stream for a client of the Messages API."""
    writer = AnthropicStreamWriter(AnswerContext(model=view.options.model))
    return TranslatedAnswer(view, reader, writer, keep=keep, blocks=blocks)


def answer_of(raw: bytes) -> AnswerSoFar:
    return answer_of_stream(raw, PASSTHROUGH)


class Passed:
    """A stream that went through a relay to its end: what went on at once, what was held, and who did it."""

    def __init__(self, chunks: Sequence[bytes], worn: ViewOptions = PLAIN) -> None:
        self.dress = ClientView(worn)
        self.relay = passed_answer(self.dress)
        self.at_once = b"".join([*(self.relay.feed(chunk) for chunk in chunks), self.relay.flush()])
        self.held = b"".join(self.relay.held)

    @property
    def all(self) -> bytes:
        return self.at_once + self.held


def whole_events(stream: bytes) -> bytes:
    """The same stream as plain lines: without a byte order mark, every line ended by LF."""
    frames = Frames(SseLimits())
    return frames.feed(stream) + frames.flush()


def events_in(stream: bytes) -> list[Event]:
    reader = SseReader()
    return [decode_event(sse) for sse in [*reader.feed(stream), *reader.flush()]]


def accumulated(stream: bytes) -> Assembler:
    """A client: takes one event after the other, as far as the stream is legal."""
    assembler = Assembler()
    try:
        for event in events_in(stream):
            assembler.feed(event)
    except StreamIllegal:
        pass
    return assembler


def completed(assembler: Assembler) -> list[JsonObject]:
    return [each.block for each in assembler.blocks() if each.complete]


@st.composite
def odd_thinking(draw: st.DrawFn, index: int) -> list[Event]:
    """What makers do with signatures: none, empty, several, in the start, before the text; and text in the start."""
    start = streams.start(index, "thinking", **draw(_OPENINGS))
    deltas = st.builds(streams.thinking, st.just(index), WORDS) | st.builds(streams.signature, st.just(index), WORDS)
    return [start, *draw(st.lists(deltas, max_size=5)), BlockStop(index)]


_OPENINGS = st.fixed_dictionaries({"thinking": WORDS}, optional={"signature": WORDS})


@st.composite
def odd_answers(draw: st.DrawFn) -> list[Event]:
    """Any legal answer, with odd thinking among its blocks."""
    events: list[Event] = [streams.opening()]
    for index in range(draw(st.integers(0, 4))):
        events += draw(odd_thinking(index) | blocks(index))
    return [*events, draw(ENDS), streams.DONE]
