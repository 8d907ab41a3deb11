"""What an answer says, as the events of blocks: thoughts, texts and calls, in the order in which they are said.

What the backend needs back of a thought stands in the place of a signature: one `signature_delta` with the payload
(`payloads`), just before the block's stop.

`ContentWriter` decides what becomes a block. What only the backend understands goes to the payload of the thinking block
that it belongs to. Something opaque that comes when text has begun cannot reopen a thought: it gets an empty thinking block
before the next call, and if none comes it is left in `late`.
"""

from __future__ import annotations

from collections.abc import Callable

from clew.dialects.block_writer import BlockKind, BlockWriter, ToolIds
from clew.dialects.openai_chat.payloads import GrowingPayload
from clew.dialects.openai_chat.stream_calls import PartialCalls
from clew.dialects.openai_chat.stream_tags import TagPiece
from clew.dialects.openai_chat.stream_thoughts import Mirrors
from clew.model.blocks import signature_of
from clew.model.events import BlockDelta
from clew.model.json import JsonObject


class SigningWriter(BlockWriter):
    """Writes blocks of which thoughts are signed once it is known what belongs to them."""

    __slots__ = ("last", "payloads", "unsigned")

    def __init__(self) -> None:
        super().__init__()
        self.last: BlockKind = ""
        """Of the newest block that says something."""
        self.payloads: dict[int, GrowingPayload] = {}
        """By the index of the thinking block."""
        self.unsigned: list[tuple[int, int]] = []
        """Thinking blocks that were closed and have no signature yet: where it belongs among the events, and the index."""

    def sign(self) -> None:
        """Signs the thoughts that were closed, once a chunk is read whole: only then is it known what belongs to them."""
        for place, index in reversed(self.unsigned):
            payload = self.payloads.get(index)
            signature = signature_of(payload.value() if payload else {})
            self._events.insert(place, BlockDelta(index, {"type": "signature_delta", "signature": signature}))
        self.unsigned.clear()

    def open_call(self, call_id: str, name: str) -> None:
        super().open_call(call_id, name)
        self.last = "tool_use"

    def close(self) -> None:
        if self.kind == "thinking":
            self.tell_rest()
            self.unsigned.append((len(self._events), self.index))
        super().close()


class ContentWriter:
    """Say things in their order; `blocks` has the events."""

    __slots__ = (
        "_blank",
        "_calls",
        "_client_name",
        "_ids",
        "_markup",
        "_mirrors",
        "_opened",
        "blocks",
        "empty",
        "late",
        "own_ids",
    )

    def __init__(self, blocks: SigningWriter, ids: ToolIds, client_name: Callable[[str], str], *, own_ids: bool) -> None:
        """`client_name` gives the client's name of the tool that a call names. `own_ids`: calls keep the backend's ids."""
        self.blocks = blocks
        self.own_ids = own_ids
        self.late: GrowingPayload | None = None
        """What came too late for any block so far."""
        self.empty = ""
        """The field in which an empty thought came that must become a block, if a call follows and no thought came."""
        self._ids = ids
        self._client_name = client_name
        self._calls = PartialCalls()
        self._mirrors = Mirrors()
        self._markup: list[str] = []  # that waits for its thought
        self._opened = False  # the newest markup before a thought has found one
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
        blocks = self.blocks
        if blocks.kind != "text":
            if not text or text.isspace():
                self._blank += [text] if text else []
                return
            text, self._blank = "".join([*self._blank, text]), []
            self.finish_calls()
            blocks.open("text")
        if blocks.last != "text":
            blocks.last = "text"
            self._mirrors.end_thought()
        blocks.said.append(text)

    def think(self, text: str, channel: str, others: tuple[str, ...] = ()) -> GrowingPayload | None:
        """A thought that came under these names. Its payload; None if it is the mirror of what was told."""
        new = self._mirrors.new_text(channel, text, others)
        if not new:
            return None
        blocks = self.blocks
        if blocks.kind == "thinking" and self._calls.current is None:
            payload = blocks.payloads[blocks.index]
        else:
            self.finish_calls()
            payload = self._open_thinking()
        blocks.said.append(new)
        payload.field = payload.field or channel
        return payload

    def thinks_alone(self, channel: str) -> bool:
        """Whether all of the thought came under this name, so that nothing is compared."""
        return self._mirrors.is_alone(channel)

    def opaque_payload(self) -> GrowingPayload:
        """Where something belongs that shows nothing: this thought, a new one if nothing was said yet, or a later one."""
        return self._open_thinking() if self.blocks.last in ("", "thinking") else self._late_payload()

    def _late_payload(self) -> GrowingPayload:
        if self.late is None:
            self.late = GrowingPayload()
        return self.late

    def say_pieces(self, pieces: list[TagPiece]) -> None:
        """Content, taken apart by its tags."""
        for kind, text in pieces:
            if kind == "text":
                self.say(text)
            elif kind == "thought":  # which a field may have told already
                payload = self.think(text, "tags") or self._newest_payload()
                payload.add_markup(before="".join(self._markup))
                self._markup, self._opened = [], True
            elif kind == "open":  # markup before a thought waits for it
                self._markup.append(text)
                self._opened = False
            elif self._opened:  # markup behind a thought belongs to it,
                self._newest_payload().add_markup(after=text)
            else:  # and behind none ends nothing
                self._markup = []

    def _newest_payload(self) -> GrowingPayload:
        """That of the last thinking block: they are put in by index, in order."""
        payloads = self.blocks.payloads
        return payloads[next(reversed(payloads))] if payloads else self._late_payload()

    def _open_thinking(self) -> GrowingPayload:
        """The payload of the thinking block that is open now, with what waited for one. It may stay empty otherwise."""
        blocks = self.blocks
        if self._blank:
            self._blank = []
        if blocks.kind != "thinking":
            blocks.open("thinking")
            blocks.last = "thinking"
            blocks.payloads[blocks.index] = GrowingPayload()
        payload = blocks.payloads[blocks.index]
        if self.late:
            payload.absorb(self.late)
            self.late = None
        return payload

    def take_call(self, entry: JsonObject) -> None:
        """More of the calls: one entry of `tool_calls`."""
        self._calls.take(entry)
        self._tell_calls()

    def take_arguments(self, call: JsonObject, texts: list[str]) -> None:
        """More arguments of this call, each text an entry. They are one text as soon as none of them can be all that came
        before once more, and no other call waits for the end of this one."""
        longest, size, at = max(map(len, texts)), 0, 0
        while at < len(texts) and (size <= longest or self._calls.has_next):
            self.take_call({**call, "function": {"arguments": texts[at]}})
            size += len(texts[at])
            at += 1
        if at < len(texts):
            self.take_call({**call, "function": {"arguments": "".join(texts[at:])}})

    def finish_calls(self) -> None:
        """No more comes for the calls that were begun."""
        if self._calls.current is not None:
            self._tell_calls(to_the_end=True)

    def _tell_calls(self, *, to_the_end: bool = False) -> None:
        """Tells the current call as far as it came, and the next ones as soon as it is whole."""
        while (call := self._calls.current) is not None:
            if call.name and not call.is_open:
                call_id = self._ids.give(call.wire_id)
                if call.extra:
                    self._late_payload().add_call(call_id, call.extra)
                if self.empty and not self.blocks.payloads:
                    self._late_payload().field = self.empty
                if self.late:
                    self._open_thinking()
                self._blank = []
                own = self._ids.wire.get(call_id) if self.own_ids else ""
                self.blocks.open_call(own or call_id, self._client_name(call.name))
                self._mirrors.end_thought()
                call.open()
            self.blocks.said += call.unsent
            call.unsent.clear()
            if not to_the_end and not (call.name and self._calls.has_next and call.is_whole()):
                return
            if call.is_open:
                call.is_open = False
                self.blocks.close()
            self._calls.finish_current()
