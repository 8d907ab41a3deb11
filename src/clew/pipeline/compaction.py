"""Compaction: a summary of a conversation, made by the backend that the conversation is with.

The request that asks for it is the client's own, with the wish for a summary as its last message, and no tool may be called.
Of the answer only the text counts. The client gets it as one block of type `compaction`, under a seal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final, TypeAlias

from msgspec import UNSET, Raw

from clew.dialects.shape import StreamReader
from clew.errors import StreamIllegal
from clew.model.blocks import made
from clew.model.events import BLOCK_EVENTS, BlockDelta, BlockStart, BlockStop, Event, MessageDelta, MessageStop
from clew.model.json import JsonObject, JsonValue, text_of
from clew.model.request import Edited, Request

SealText: TypeAlias = Callable[[str], str]
"""Puts a summary under a seal. Raises SealInvalid."""

PROMPT: Final = """\
The conversation is about to be compacted: everything above will be replaced by what you write now, and the work goes on \
from there, perhaps with another model. Write a summary that loses nothing which is still needed. Say, in this order:

1. What the user wants, in their own words where these matter, with every instruction and preference that still holds.
2. What was done and decided, and why; what was tried and did not work.
3. The present state: files, commands, results, names and values that are needed again, exactly as they are.
4. What is left to do, and what comes next.

Write only the summary. Do not call tools, and do not go on with the work."""

_NO_TOOL: Final = Raw(b'{"type":"none"}')
_BLOCK: Final[JsonObject] = {"type": "compaction", "content": None}
_NOTHING_SAID: Final = "the backend gave no summary: its answer has no text"


def ask_for_summary(request: Request) -> Request:
    """The request with the wish for a summary as its last message. The tools stay, since the history may call them."""
    wish = Edited("user", (made({"type": "text", "text": PROMPT}),))
    asking = request.with_fields(messages=(*request.messages, wish))
    return asking if request.body.tools is UNSET else asking.with_fields(tool_choice=_NO_TOOL)


def with_summary(message: JsonObject, seal: SealText) -> JsonObject:
    """A whole answer with nothing but its text, under a seal. Raises StreamIllegal if it has none, and SealInvalid."""
    content = message.get("content")
    blocks = [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []
    text = "".join([text_of(block.get("text")) for block in blocks if block.get("type") == "text"])
    block: JsonValue = {**_BLOCK, "encrypted_content": seal(_checked(text))}
    return {**message, "content": [block]}


def _checked(text: str) -> str:
    if not text.strip():
        raise StreamIllegal(_NOTHING_SAID)
    return text.strip()


class SummaryReader:
    """Reads as the reader that it is made of, and tells one block in place of all: it opens with the first of them, and ends
    with the answer, when the whole summary is known."""

    def __init__(self, reader: StreamReader, seal: SealText) -> None:
        self._reader = reader
        self._seal = seal
        self._texts: list[str] = []
        self._is_text = False
        self._is_open = False
        self._is_over = False

    @property
    def late(self) -> JsonObject | None:
        return None

    def begin(self) -> Iterator[Event]:
        return self._summarise(self._reader.begin())

    def feed(self, data: bytes) -> Iterator[Event]:
        return self._summarise(self._reader.feed(data))

    def flush(self) -> Iterator[Event]:
        return self._summarise(self._reader.flush())

    def _summarise(self, events: Iterable[Event]) -> Iterator[Event]:
        for event in events:
            if isinstance(event, BLOCK_EVENTS):
                if isinstance(event, BlockStart):
                    self._is_text = event.block_type == "text"
                    self._texts.append(text_of(event.content_block.get("text")) if self._is_text else "")
                elif isinstance(event, BlockDelta) and self._is_text:
                    self._texts.append(text_of(event.delta.get("text")))
                if not self._is_open:
                    self._is_open = True
                    yield BlockStart(0, _BLOCK)
                continue
            if isinstance(event, MessageStop) or (isinstance(event, MessageDelta) and event.delta.get("stop_reason")):
                yield from self._end()
            yield event

    def _end(self) -> Iterator[Event]:
        if self._is_over:
            return
        self._is_over = True
        token = self._seal(_checked("".join(self._texts)))
        yield BlockDelta(0, {"type": "compaction_delta", "content": None, "encrypted_content": token})
        yield BlockStop(0)
