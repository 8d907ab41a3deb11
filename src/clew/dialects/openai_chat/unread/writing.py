"""A translation that is written at once: what a backend streams in Chat Completions, in the bytes that the client gets.

It says what `translate` says behind the steps that seal a thought and give calls their ids, and nobody makes events of it.
Whoever wants blocks gets them as they become whole, from the words that went by: nothing is read a second time. A property
test holds it to that.
"""

from __future__ import annotations

from collections.abc import Callable

from clew.dialects.openai_chat.answer.decoder import Asked
from clew.dialects.openai_chat.answer.listening import Listening
from clew.dialects.openai_chat.answer.payloads import late_thought, proof
from clew.dialects.openai_chat.answer.scribes import ALL, DELTAS, THOUGHTS, ByteScribe, Stopped, stop_bytes
from clew.dialects.openai_chat.speech import Speech
from clew.dialects.openai_chat.unread.known_moulds import KnownMoulds
from clew.dialects.openai_chat.unread.singles import TakeChunk, TakeOne
from clew.model.assemble import AssembledBlock, Growing
from clew.model.events import StreamFailed
from clew.model.json import JsonObject

__all__ = ["Writing"]


class Writing:
    """Translates one answer: its chunks go in, and come out as the bytes of a Messages stream."""

    __slots__ = ("_decoder", "_keeps", "_listening", "_scribe", "_seal", "_words", "blocks")

    def __init__(
        self,
        asked: Asked,
        speech: Speech,
        *,
        seal: Callable[[int, str, str], bytes],
        shown_id: Callable[[int, str], str],
        before: KnownMoulds | None = None,
        keeps: bool = False,
    ) -> None:
        """`seal` writes the signature of the thinking block in a place, with this text and what its maker needs back;
        `shown_id` gives the client's id of a call in a place, for the backend's own; `before` knows the answers before;
        with `keeps` there are blocks."""
        kinds = ALL if keeps else THOUGHTS
        self._scribe = scribe = ByteScribe(shown_id, kinds)
        self._listening = Listening(asked, speech, scribe, before)
        self._decoder = self._listening.decoder
        self._words = self._decoder.words(kinds)
        self._seal = seal
        self._keeps = keeps
        self.blocks: list[AssembledBlock] = []
        """Those that are whole, as their maker said them."""

    @property
    def take_one(self) -> TakeOne:
        """For a read that is one delta of the open block."""
        return self._listening.singles.take_one

    @property
    def take_chunk(self) -> TakeChunk:
        """The same for a read that is a chunk of HTTP/1.1; the result is one, too."""
        return self._listening.singles.take_chunk

    @property
    def begun(self) -> bool:
        """Some block was opened."""
        return self._scribe.begun

    @property
    def stops(self) -> int:
        """How many blocks are whole."""
        return self._scribe.stops

    @property
    def ending(self) -> list[bytes]:
        """What is written at the end, once that came."""
        return self._scribe.ending

    @property
    def failed(self) -> StreamFailed | None:
        """Why it broke off."""
        return self._scribe.failed

    @property
    def message(self) -> JsonObject:
        """The message as its first event has it, without blocks."""
        return self._scribe.message

    @property
    def end(self) -> tuple[JsonObject, JsonObject] | None:
        """How it ended, and what it cost."""
        return self._scribe.end

    @property
    def late(self) -> JsonObject | None:
        """A thought without words that came too late for the client."""
        return late_thought(self._decoder.late)

    def begin(self) -> list[bytes]:
        """A message and its first, empty block, before the backend has said anything."""
        self._decoder.begin(eager=True)
        return self._written()

    def feed(self, data: bytes) -> list[bytes]:
        """What these bytes complete. Raises SseTooLarge."""
        self._listening.hear(data, self._scribe.told.append, self._finish)
        return self._written()

    def flush(self) -> list[bytes]:
        self._listening.end()
        self._finish()
        return self._written()

    def _written(self) -> list[bytes]:
        written, self._scribe.told = self._scribe.told, []
        return written

    def _finish(self) -> None:
        """The blocks that were stopped are whole."""
        if not self._scribe.stopped:
            return
        stopped, self._scribe.stopped = self._scribe.stopped, []
        for each in stopped:
            self._finish_one(each, self._words.pop(each.block))

    def _finish_one(self, stopped: Stopped, said: str) -> None:
        """It is kept before it is sealed, since a seal may refer to what was kept."""
        at, index, kind, start = stopped
        if kind != "thinking":
            self.blocks.append(_grown(stopped, said))
            return
        proved = proof(self._decoder.payload_at(index))
        if self._keeps:
            thought: JsonObject = {**start, "thinking": said, "signature": proved}
            self.blocks.append(AssembledBlock(index, thought, complete=True, unsigned=not proved))
        self._scribe.told[at] = self._seal(index, said, proved) + stop_bytes(index)


def _grown(stopped: Stopped, said: str) -> AssembledBlock:
    """A text or a call, which says this."""
    delta, member = DELTAS[stopped.kind]
    growing = Growing(stopped.block, stopped.start)
    growing.grow({"type": delta, member: said})
    return growing.stop()
