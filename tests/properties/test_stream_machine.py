"""Streams as a state machine: every legal order is written, read and assembled alike by all; one illegal move by none."""

from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from clew.errors import StreamIllegal
from clew.model.assemble import Assembler
from clew.model.events import BlockStart, BlockStop, Event, MessageStop, Ping
from clew.model.lifecycle import LENIENT, STRICT, Lifecycle, State
from clew.wire.events import decode_event, encode_event
from clew.wire.sse import SseReader
from tests.counts import examples
from tests.model import streams
from tests.properties.stream_strategies import ENDS, WORDS, plainly, sdk_message

OPENABLE: dict[State, Any] = {
    State.TEXT: streams.start_text,
    State.THINKING: streams.start_thinking,
    State.INPUT: streams.start_tool,
    State.COMPACTION: lambda index: streams.start(index, "compaction", content=None),
    State.WHOLE: lambda index: streams.start(index, "redacted_thinking", data="D"),
}


class LegalStreams(RuleBasedStateMachine):
    """Rules open, extend and close blocks in any legal order; readers of three kinds follow byte for byte."""

    def __init__(self) -> None:
        super().__init__()
        self.begin()

    def begin(self) -> None:
        self.input_begun = False
        self.writer = Lifecycle(STRICT)
        self.reader = SseReader()
        self.ours = Assembler()
        self.events: list[Event] = []
        self.read: list[Event] = []
        self.write(streams.opening())

    def write(self, event: Event) -> None:
        self.writer.accept(event)
        self.events.append(event)
        for sse in self.reader.feed(encode_event(event)):
            self.read.append(decode_event(sse))
            self.ours.feed(self.read[-1])

    @property
    def index(self) -> int:
        return self.writer.blocks - 1

    @precondition(lambda self: self.writer.state is State.BETWEEN)
    @rule(kind=st.sampled_from(list(OPENABLE)))
    def open(self, kind: State) -> None:
        self.write(OPENABLE[kind](self.writer.blocks))

    @precondition(lambda self: self.writer.state is State.TEXT)
    @rule(words=WORDS, cite=st.booleans())
    def say(self, words: str, cite: bool) -> None:
        self.write(streams.citation(self.index, words) if cite else streams.text(self.index, words))

    @precondition(lambda self: self.writer.state is State.THINKING)
    @rule(words=WORDS)
    def think(self, words: str) -> None:
        self.write(streams.thinking(self.index, words))

    @precondition(lambda self: self.writer.state is State.THINKING)
    @rule(words=WORDS)
    def sign(self, words: str) -> None:
        self.write(streams.signature(self.index, words))

    @precondition(lambda self: self.writer.state is State.INPUT)
    @rule()
    def call(self) -> None:
        """Only what keeps the text a beginning of JSON: the SDK parses it at every piece."""
        piece = ", 1" if self.input_begun else '{"a": [1'
        self.input_begun = True
        self.write(streams.json_piece(self.index, piece))

    @precondition(lambda self: self.writer.state is State.COMPACTION)
    @rule(words=WORDS)
    def compact(self, words: str) -> None:
        self.write(streams.compaction(self.index, content=words, encrypted_content="E"))

    @precondition(lambda self: self.writer.is_open)
    @rule()
    def close(self) -> None:
        if self.input_begun:
            self.write(streams.json_piece(self.index, "]}"))
        self.input_begun = False
        self.write(BlockStop(self.index))

    @precondition(lambda self: self.writer.state is not State.DONE)
    @rule()
    def ping(self) -> None:
        self.write(Ping())

    @precondition(lambda self: self.writer.state in (State.BETWEEN, State.ENDING))
    @rule(end=ENDS)
    def end(self, end: Event) -> None:
        self.write(end)

    @precondition(lambda self: self.writer.state is State.ENDING)
    @rule()
    def stop(self) -> None:
        self.write(MessageStop())

    @precondition(lambda self: self.writer.state is State.DONE)
    @rule()
    def answer_again(self) -> None:
        self.begin()

    @invariant()
    def everyone_has_read_what_was_written(self) -> None:
        assert self.read == self.events

    @invariant()
    def the_official_sdk_holds_the_same_message(self) -> None:
        assert plainly(self.ours.message()) == plainly(sdk_message(self.events))


class OneIllegalMove(LegalStreams):
    """The same, and now and then a move that the table does not list: refused by all, and nobody's state changes."""

    @rule(data=st.data())
    def break_the_grammar(self, data: st.DataObject) -> None:
        event = data.draw(st.sampled_from(self._illegal_moves()))
        before = (self.writer.state, self.writer.blocks, self.ours.message(), self.ours.blocks())
        for refuse in (self.writer.accept, self.ours.feed, self._lenient().accept):
            with pytest.raises(StreamIllegal):
                refuse(event)

        assert (self.writer.state, self.writer.blocks, self.ours.message(), self.ours.blocks()) == before

    def _lenient(self) -> Lifecycle:
        lifecycle = Lifecycle(LENIENT)
        for event in self.events:
            lifecycle.accept(event)
        return lifecycle

    def _illegal_moves(self) -> list[Event]:
        """Wrong in every state of every table: a second start, indices out of line, blocks after the end."""
        fresh, index = self.writer.blocks, self.index
        wrong: list[Event] = [streams.opening(), streams.start_text(fresh + 1), BlockStop(fresh), streams.text(fresh, "a")]
        wrong += [BlockStart(-1, {"type": "text", "text": ""}), streams.text(-2, "a")]
        if self.writer.is_open:
            wrong += [streams.start_text(fresh), MessageStop()]
        elif fresh:
            wrong += [streams.text(index, "late"), BlockStop(index)]
        return wrong


STEPS = settings(max_examples=examples(24, soak=800), stateful_step_count=25, deadline=None)
TestLegalStreams = LegalStreams.TestCase
TestLegalStreams.settings = STEPS
TestOneIllegalMove = OneIllegalMove.TestCase
TestOneIllegalMove.settings = STEPS
