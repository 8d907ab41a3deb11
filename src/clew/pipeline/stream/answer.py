"""Answer: what a maker said in all, as blocks, however much of it came.

A stream is checked and put together once, while it comes (`model.assemble`, `answer_stream`).

`StreamAssembler` does the same for programs that call the API themselves.
"""

from __future__ import annotations

from msgspec import Struct

from clew.errors import BackendBroken, StreamIllegal
from clew.model.assemble import AssembledBlock, Assembler
from clew.model.change import BrokenCall, broken_calls
from clew.model.events import MessageStop, StreamFailed
from clew.model.json import JsonObject, objects_of, text_of
from clew.wire.events import decode_event
from clew.wire.sse import SseReader


class AnswerSoFar(Struct, frozen=True, kw_only=True, eq=False):
    """The blocks that came to their stop, and what was said about the answer."""

    blocks: tuple[JsonObject, ...] = ()
    cut: tuple[JsonObject, ...] = ()
    """Blocks whose stop did not come, as far as they came."""
    message: JsonObject = {}
    illegal: StreamIllegal | None = None
    """What broke the stream's own grammar, if something did: then this is what came before it."""
    broken_calls: tuple[BrokenCall, ...] = ()
    """Calls that are told as whole, though their arguments are not a JSON object."""

    @property
    def stop_reason(self) -> str:
        return text_of(self.message.get("stop_reason"))

    @property
    def usage(self) -> JsonObject:
        usage = self.message.get("usage")
        return usage if isinstance(usage, dict) else {}

    @property
    def dropped(self) -> tuple[tuple[str, str], ...]:
        """Path and reason of each thinking block that the vendor says it did not read (R46)."""
        rows = objects_of(self.message.get("input_transformations"))
        drops = [row for row in rows if row.get("type") == "thinking_dropped"]
        return tuple((text_of(row.get("path")), text_of(row.get("reason"))) for row in drops)


def answer_of_message(message: JsonObject) -> AnswerSoFar:
    """An answer that came in one piece."""
    return AnswerSoFar(blocks=tuple(objects_of(message.get("content"))), message=message)


def answer_of(assembler: Assembler, illegal: StreamIllegal | None = None) -> AnswerSoFar:
    """What a stream said so far. `illegal`: what broke its own grammar."""
    assembled = assembler.blocks()
    found = [each for each in assembled if each.complete]
    try:
        message = assembler.message()
    except StreamIllegal as error:
        return AnswerSoFar(illegal=illegal or error)
    return AnswerSoFar(
        blocks=tuple([each.block for each in found]),
        cut=tuple([each.block for each in assembled if not each.complete]),
        message=message,
        illegal=illegal,
        broken_calls=broken_calls(message, found),
    )


class StreamAssembler:
    """Builds the answer from a stream of the Messages API. The bytes may be split anywhere.

    Thinking grows, its signature is assigned (a second one replaces the first), and a delta that does not fit its block is
    an error instead of a wrong answer.

    >>> assembler = StreamAssembler()
    >>> for data in (
    ...     b'{"type":"message_start","message":{"role":"assistant","content":[]}}',
    ...     b'{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":""}}',
    ...     b'{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"Hm."}}',
    ...     b'{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"c2ln"}}',
    ...     b'{"type":"content_block_stop","index":0}',
    ...     b'{"type":"message_stop"}',
    ... ):
    ...     blocks = assembler.feed(b"data: " + data + b"\\n\\n")
    >>> assembler.finish()["content"]
    [{'type': 'thinking', 'thinking': 'Hm.', 'signature': 'c2ln'}]
    """

    def __init__(self) -> None:
        self.error: JsonObject | None = None
        """The vendor's error object, if one came in the stream."""
        self._reader = SseReader()
        self._assembler = Assembler()
        self._is_whole = False

    def feed(self, chunk: bytes) -> list[AssembledBlock]:
        """Take in bytes as they come; returns the blocks that they complete.

        Raises StreamIllegal for events that cannot be; a BlockMismatch among them has the fields that clients log.
        """
        done: list[AssembledBlock] = []
        for each in self._reader.feed(chunk):
            event = decode_event(each)
            block = self._assembler.feed(event)
            if block is not None:
                done.append(block)
            if isinstance(event, StreamFailed):
                self.error = event.error
            self._is_whole = self._is_whole or isinstance(event, MessageStop)
        return done

    def blocks(self) -> list[AssembledBlock]:
        """Every block so far, also of an answer that broke off. Only those that are complete may be sent back."""
        return self._assembler.blocks()

    def message(self) -> JsonObject:
        """The message so far, with blocks that are not finished."""
        return self._assembler.message()

    def finish(self) -> JsonObject:
        """The whole message. Raises BackendBroken if it broke off, with the vendor's error or without one."""
        if self.error is not None:
            raise BackendBroken(f"the answer broke off: {self.error.get('type')}: {self.error.get('message')}")
        if not self._is_whole:
            raise BackendBroken("the answer broke off before its end")
        return self.message()
