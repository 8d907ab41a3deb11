"""One streamed answer, read along for the registry.

Thinking arrives in pieces, several blocks may be open at once, and a signature may be sent more than once (the last one
counts, as for every client). A block is registered at its stop event, before anybody can send it back; a redacted one at
its start, since it comes whole. What is still open when the answer ends was cut: it is registered as incomplete.

The session is that of the request: a switch while the answer streams does not adopt it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

import msgspec
from msgspec import Struct

from clew.model.json import JsonObject, JsonValue, object_of, text_of


class Registered(Struct, frozen=True):
    """A block that was not in the table, or not in this session. The preview is text of the model: not for every log."""

    key: bytes
    session: int
    preview: str
    complete: bool = True


class Registration(Struct, frozen=True):
    """What an answer brought; `note` says why it brought nothing, if it could not be read."""

    blocks: tuple[Registered, ...] = ()
    note: str = ""


_NOTHING = Registration()


class _Table(Protocol):
    def register_blocks(
        self, blocks: Iterable[JsonObject], now: float, *, session: int | None = None, complete: bool = True
    ) -> Registration: ...


class _Open:
    """A thinking block that has begun."""

    def __init__(self, block: JsonObject) -> None:
        self.pieces = [text_of(block.get("thinking"))]
        self.signature = text_of(block.get("signature"))

    def block(self) -> JsonObject:
        return {"type": "thinking", "thinking": "".join(self.pieces), "signature": self.signature}


class AnswerWatch:
    """`event` reads one event, `end` the end of the answer; both return what was registered."""

    def __init__(self, table: _Table, session: int) -> None:
        self._table = table
        self._session = session
        self._open: dict[int, _Open] = {}

    def event(self, data: bytes, now: float) -> Registration:
        """Reads one event's data. An event that is not a JSON object, or out of place, registers nothing."""
        try:
            event: JsonValue = msgspec.json.decode(data)
        except (ValueError, RecursionError) as error:
            return Registration(note=f"the event is not JSON: {error}")
        index = event.get("index") if isinstance(event, dict) else None
        if not isinstance(event, dict) or not isinstance(index, int):
            return _NOTHING
        match event.get("type"):
            case "content_block_start":
                # An index that is used again before its stop was cut there
                block = object_of(event.get("content_block"))
                cut = [self._open.pop(index).block()] if index in self._open else []
                interrupted = self._table.register_blocks(cut, now, session=self._session, complete=False)
                if block.get("type") == "thinking":
                    self._open[index] = _Open(block)
                    return interrupted
                whole = self._register(block, now)
                return Registration(interrupted.blocks + whole.blocks)
            case "content_block_delta" if index in self._open:
                delta, block = object_of(event.get("delta")), self._open[index]
                if delta.get("type") == "thinking_delta":
                    block.pieces.append(text_of(delta.get("thinking")))
                elif delta.get("type") == "signature_delta":
                    block.signature = text_of(delta.get("signature"))
            case "content_block_stop" if index in self._open:
                return self._register(self._open.pop(index).block(), now)
            case _:
                pass
        return _NOTHING

    def end(self, now: float) -> Registration:
        """Register the blocks that are still open: the answer is over, whole or cut, or the client has left."""
        cut = [each.block() for each in self._open.values()]
        self._open.clear()
        return self._table.register_blocks(cut, now, session=self._session, complete=False)

    def _register(self, block: JsonObject, now: float) -> Registration:
        return self._table.register_blocks([block], now, session=self._session)
