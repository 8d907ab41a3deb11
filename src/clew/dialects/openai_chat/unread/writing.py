"""A translation that is written at once: what a backend streams in Chat Completions, in the bytes that the client gets.

It says what `translate` says behind the steps that seal a thought and give calls their ids; for whoever wants nothing but
the bytes, which is nearly everybody where there is no store. A property test holds it to that.
"""

from __future__ import annotations

from collections.abc import Callable

from clew.dialects.openai_chat.answer.decoder import Asked
from clew.dialects.openai_chat.answer.listening import Listening
from clew.dialects.openai_chat.answer.payloads import proof
from clew.dialects.openai_chat.answer.scribes import ByteScribe, stop_bytes
from clew.dialects.openai_chat.speech import Speech
from clew.dialects.openai_chat.unread.known_moulds import KnownMoulds
from clew.dialects.openai_chat.unread.singles import TakeChunk, TakeOne
from clew.model.json import JsonObject

__all__ = ["Writing"]


class Writing:
    """One answer."""

    __slots__ = ("_decoder", "_listening", "_scribe", "_seal", "_thoughts")

    def __init__(
        self,
        asked: Asked,
        speech: Speech,
        *,
        seal: Callable[[int, str, str], bytes],
        shown_id: Callable[[int, str], str],
        before: KnownMoulds | None = None,
    ) -> None:
        """`seal` writes the signature of the thinking block in a place, with this text and what its maker needs back;
        `shown_id` gives the client's id of a call in a place, for the backend's own; `before` knows the answers before."""
        self._scribe = scribe = ByteScribe(shown_id)
        self._listening = Listening(asked, speech, scribe, before)
        self._decoder = self._listening.decoder
        self._thoughts = self._decoder.thoughts()
        self._seal = seal

    @property
    def take_one(self) -> TakeOne:
        """For a read that is one delta of the open block."""
        return self._listening.singles.take_one

    @property
    def take_chunk(self) -> TakeChunk:
        """The same for a chunk of HTTP/1.1, and as one."""
        return self._listening.singles.take_chunk

    @property
    def begun(self) -> bool:
        """Some block was opened."""
        return self._scribe.begun

    @property
    def stops(self) -> int:
        """How many blocks are whole."""
        return self._scribe.stops - (self._decoder.cut is not None)

    @property
    def ending(self) -> list[bytes]:
        """What is written at the end, once that came."""
        return self._scribe.ending

    @property
    def error(self) -> JsonObject | None:
        """Why it broke off."""
        return self._scribe.error

    @property
    def message(self) -> JsonObject:
        """As it began."""
        return self._scribe.message

    @property
    def end(self) -> tuple[JsonObject, JsonObject] | None:
        """How it ended, and what it cost."""
        return self._scribe.end

    def begin(self) -> list[bytes]:
        """A message and its first, empty block, before the backend has said anything."""
        self._decoder.begin(eager=True)
        return self._written()

    def feed(self, data: bytes) -> list[bytes]:
        """What these bytes complete. Raises SseTooLarge."""
        self._listening.hear(data, self._scribe.told.append, self._seal_thoughts)
        return self._written()

    def flush(self) -> list[bytes]:
        self._listening.end()
        self._seal_thoughts()
        return self._written()

    def broken_off(self) -> bytes:
        """The stop of the open block, if one is open."""
        index = self._decoder.open_block
        return b"" if index is None else stop_bytes(index)

    def _written(self) -> list[bytes]:
        written, self._scribe.told = self._scribe.told, []
        return written

    def _seal_thoughts(self) -> None:
        """Those that were stopped; but one that broke off is not whole."""
        if not self._scribe.unsealed:
            return
        scribe, decoder = self._scribe, self._decoder
        for place, index in scribe.unsealed:
            text = self._thoughts.pop(index)
            if index != decoder.cut:
                scribe.told[place] = self._seal(index, text, proof(decoder.payload_at(index))) + stop_bytes(index)
        scribe.unsealed.clear()
