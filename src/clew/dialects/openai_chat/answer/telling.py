"""What an answer says, told as blocks: thoughts, texts and calls, in the order in which they are said.

The block writer keeps one block open at a time; what only the backend understands goes to the payload of the thinking block
that it belongs to. Something opaque that comes when text has begun cannot reopen a thought: it gets an empty thinking block
before the next call, and if none comes it is left in `late`.
"""

from __future__ import annotations

from collections.abc import Callable

from clew.dialects.openai_chat.answer.blocks import BlockWriter
from clew.dialects.openai_chat.answer.mirrors import Mirrors
from clew.dialects.openai_chat.answer.scribes import EventScribe
from clew.dialects.openai_chat.answer.tags import PieceKind, TagPiece
from clew.dialects.openai_chat.answer.tool_calls import Call, Calls
from clew.dialects.openai_chat.answer.tool_ids import ToolIds
from clew.dialects.openai_chat.payloads import GrowingPayload
from clew.model.json import JsonObject

__all__ = ["Telling"]


class Telling:
    """Say things in their order; the scribe has what was said, `payloads` what belongs to the thoughts in it."""

    __slots__ = (
        "_blank",
        "_called",
        "_calls",
        "_frame",
        "_framed",
        "_mirrors",
        "blocks",
        "empty",
        "ids",
        "late",
        "payloads",
    )

    def __init__(self, scribe: EventScribe, ids: ToolIds, called: Callable[[str], str] = str) -> None:
        """`called` gives the client's name of a tool."""
        self._called = called
        self.blocks = BlockWriter(scribe)
        self.ids = ids
        self.payloads: dict[int, GrowingPayload] = {}
        self.late = GrowingPayload()
        self.empty = ""
        """The field in which an empty thought came that must become a block, if a call follows and no thought came."""
        self._calls = Calls()
        self._mirrors = Mirrors()
        self._frame: list[str] = []  # markup that waits for its thought
        self._framed = False
        self._blank: list[str] = []  # white space that waits for text

    @property
    def is_silent(self) -> bool:
        """Whether nothing was said yet."""
        return self.blocks.index < 0 and self._calls.current is None

    @property
    def has_half_call(self) -> bool:
        """Whether a call is not told to its end, and its arguments are no whole object yet. Empty ones are: `{}`."""
        call = self._calls.current
        return call is not None and call.size > 0 and not call.is_whole()

    def say(self, text: str) -> None:
        """Visible text. White space alone opens no block, and closes none."""
        if self.blocks.kind != "text":
            if not text or text.isspace():
                self._blank += [text] if text else []
                return
            text, self._blank = "".join([*self._blank, text]), []
            self.finish_calls()
        self.blocks.text(text)
        self._mirrors.turn()

    def think(self, text: str, channel: str, *others: str) -> GrowingPayload | None:
        """A thought that came under these names. Its payload; None if it is the mirror of what was told."""
        new = self._mirrors.new(channel, text, others)
        if not new:
            return None
        self.finish_calls()
        payload = self._open_thinking()
        self.blocks.thought(new)
        payload.set_field(channel)
        return payload

    def opaque(self) -> GrowingPayload:
        """Where something belongs that shows nothing: this thought, a new one if nothing was said yet, or a later one."""
        return self._open_thinking() if self.blocks.last in ("", "thinking") else self.late

    def tell(self, pieces: list[TagPiece]) -> None:
        """Content, taken apart by its tags."""
        for kind, text in pieces:
            if kind == "text":
                self.say(text)
            elif kind == "thought":
                self._think_aloud(text)
            else:
                self._frame_with(kind, text)

    def call(self, entry: JsonObject) -> None:
        """More of the calls: one entry of `tool_calls`."""
        self._calls.take(entry)
        self._tell_calls()

    def finish_calls(self) -> None:
        """No more comes for the calls that were begun."""
        self._tell_calls(to_the_end=True)

    def _think_aloud(self, text: str) -> None:
        """A thought between tags, which a field may have told already."""
        payload = self.think(text, "tags") or self._newest()
        payload.add_markup(before="".join(self._frame))
        self._frame, self._framed = [], True

    def _frame_with(self, kind: PieceKind, markup: str) -> None:
        """Markup before a thought waits for it; markup behind one belongs to it, and behind none ends nothing."""
        if kind == "open":
            self._frame.append(markup)
            self._framed = False
        elif self._framed:
            self._newest().add_markup(after=markup)
        else:
            self._frame = []

    def _newest(self) -> GrowingPayload:
        """That of the last thinking block: they are put in by index, in order."""
        return self.payloads[next(reversed(self.payloads))] if self.payloads else self.late

    def _open_thinking(self) -> GrowingPayload:
        """The payload of the thinking block that is open now, with what waited for one."""
        self._blank = []
        payload = self.payloads.setdefault(self.blocks.open_thinking(), GrowingPayload())
        payload.absorb(self.late)
        self.late = GrowingPayload()
        return payload

    def _tell_calls(self, *, to_the_end: bool = False) -> None:
        """Tells the current call as far as it came, and the next ones as soon as it is whole."""
        while (call := self._calls.current) is not None:
            if call.name:
                self._tell_call(call)
            if not to_the_end and not (call.name and self._calls.has_next and call.is_whole()):
                return
            if call.is_open:
                self.blocks.close()
            self._calls.told()

    def _tell_call(self, call: Call) -> None:
        if not call.is_open:
            call.is_open = True
            self._open_call(call)
        self.blocks.arguments(call.unsent())

    def _open_call(self, call: Call) -> None:
        call_id = self.ids.give(call.wire_id)
        if call.extra:
            self.late.add_call(call_id, call.extra)
        if self.empty and not self.payloads:
            self.late.set_field(self.empty)
        if self.late:
            self._open_thinking()
        self._blank = []
        self.blocks.open_call(call_id, self._called(call.name))
        self._mirrors.turn()
