"""StreamAssembler: an answer put together from the bytes of its stream, for programs that call the API themselves."""

from __future__ import annotations

from clew.errors import BackendBroken
from clew.model.assemble import AssembledBlock, Assembler
from clew.model.events import MessageStop, StreamFailed
from clew.model.json import JsonObject
from clew.wire.events import decode_event
from clew.wire.sse import SseReader


class StreamAssembler:
    """Puts the answer together that a stream of the Messages API tells. The bytes may be cut anywhere.

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
