"""The stream step that makes calls of calls written as text.

It gets the canonical events of an answer and returns those that go on. Only blocks of text are looked into: thoughts and
calls that came as calls pass, with the place that they have now. Text before a call, between two calls and behind them is
blocks of its own, in order; white space alone is none. Each call gets an id of its own, is told whole, and is a change. If
there was a call, the answer that ended well ended for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from clew.dialects.block_writer import ToolIds
from clew.dialects.openai_chat.offered_tools import OfferedTools
from clew.dialects.openai_chat.options import ChatAnswerOptions
from clew.dialects.openai_chat.text_call_finder import TextCallFinder, TextPiece, grammars_of
from clew.dialects.openai_chat.text_call_reader import TextCall
from clew.dialects.shape import AnswerContext
from clew.model.bounds import check_blocks
from clew.model.change import Change
from clew.model.events import (
    BLOCK_EVENTS,
    BlockDelta,
    BlockStart,
    BlockStop,
    Event,
    MessageDelta,
    altered,
)
from clew.model.facts.chat_backends import BY_MODEL, NEVER
from clew.model.json import JsonObject

STEP: Final = "text_calls"
_REGULAR: Final = ("end_turn", "stop_sequence", "tool_use")
"""Stop reasons of an answer that came to its own end."""
_EMPTY_TEXT: Final[JsonObject] = {"type": "text", "text": ""}


def text_calls_for(context: AnswerContext, options: ChatAnswerOptions, ids: ToolIds) -> TextCalls | None:
    """The step for one answer; None if its text is not looked into, or no tool was offered."""
    if options.text_calls in (BY_MODEL, NEVER) or b'"tools"' not in context.document:
        return None
    return TextCalls(options.text_calls, context, ids)


class TextCalls:
    """One answer. `feed` returns the events that go on."""

    __slots__ = (
        *("_blank", "_called", "_context", "_eager", "_finder", "_held_stop", "_ids", "_in_text", "_is_bare", "_next"),
        *("_open", "_out"),
    )

    def __init__(self, family: str, context: AnswerContext, ids: ToolIds) -> None:
        self._finder = TextCallFinder(grammars_of(family), OfferedTools(context.document))
        self._context = context
        self._ids = ids
        self._eager = context.eager  # the start of the first block goes out before anything is said
        self._out: list[Event] = []
        self._next = 0  # index of the next block
        self._in_text = False  # the block that comes is text,
        self._open = False  # and so is the one that goes
        self._is_bare = False  # nothing of it went on yet
        self._blank: list[str] = []  # white space that waits for text
        self._held_stop = False  # the block is over, and what is held depends on what follows
        self._called = False

    def feed(self, events: Iterable[Event]) -> list[Event]:
        for event in events:
            if self._held_stop:
                self._end_text(regular=isinstance(event, MessageDelta) and event.delta.get("stop_reason") in _REGULAR)
            if isinstance(event, BLOCK_EVENTS):
                self._take_block(event)
            else:
                stops = isinstance(event, MessageDelta) and event.delta.get("stop_reason") in _REGULAR
                if self._called and isinstance(event, MessageDelta) and stops:
                    event = altered(event, delta={**event.delta, "stop_reason": "tool_use", "stop_sequence": None})
                self._out.append(event)
        out, self._out = self._out, []
        return out

    def _take_block(self, event: BlockStart | BlockDelta | BlockStop) -> None:
        match event:
            case BlockStart():
                self._in_text = event.block_type == "text"
                if not self._in_text:
                    self._start(event.content_block)
                else:
                    self._is_bare = True
                    if self._eager:
                        self._eager = False
                        self._open_text()
            case BlockDelta() if self._in_text:
                self._say_pieces(self._finder.feed(str(event.delta["text"])))
            case BlockStop() if self._in_text:
                self._held_stop = self._finder.is_holding
                if not self._held_stop:
                    self._end_text(regular=False)
            case _:
                self._out.append(altered(event, index=self._next - 1) if event.index != self._next - 1 else event)

    def _start(self, block: JsonObject) -> None:
        check_blocks(self._next + 1)
        self._out.append(BlockStart(self._next, block))
        self._next += 1

    def _grow(self, kind: str, member: str, text: str) -> None:
        self._out.append(BlockDelta(self._next - 1, {"type": kind, member: text}))

    def _stop(self) -> None:
        self._out.append(BlockStop(self._next - 1))

    def _open_text(self) -> None:
        self._start(_EMPTY_TEXT)
        self._open, self._is_bare = True, False

    def _say_pieces(self, pieces: Sequence[TextPiece]) -> None:
        for piece in pieces:
            if isinstance(piece, TextCall):
                self._close_text()
                self._is_bare, self._called = False, True
                self._start({"type": "tool_use", "id": self._ids.give(""), "name": piece.name, "input": {}})
                self._grow("input_json_delta", "partial_json", piece.arguments)
                self._stop()
                why = f"a call of {piece.name} that was written as text (form {piece.form}): it is a call now"
                self._context.report(Change(STEP, f"content.{self._next - 1}", "replaced", why))
            elif self._open:
                self._grow("text_delta", "text", piece)
            else:
                self._blank.append(piece)
                if not piece.isspace():
                    self._say_blank()

    def _say_blank(self) -> None:
        """Opens a block of text with what waited for it."""
        self._open_text()
        self._grow("text_delta", "text", "".join(self._blank))
        self._blank.clear()

    def _end_text(self, *, regular: bool) -> None:
        """The block that came is over. One without a word goes on as it came, unless it was made of calls."""
        self._held_stop = False
        self._say_pieces(self._finder.flush(regular=regular))
        if self._is_bare:
            self._say_blank() if self._blank else self._open_text()
        self._close_text()

    def _close_text(self) -> None:
        self._blank.clear()
        if self._open:
            self._stop()
            self._open = False
