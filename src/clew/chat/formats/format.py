"""A format: its name, its writer, its reader if it has one, and what it loses; and the stored turns that writers are given.

A writer is a pure function from a thread and its turns to bytes. A reader goes from lines to turns, one by one, so that a
file of any size needs no more memory than its largest answer. What a format cannot hold is data (`losses`): the help, the
docs and the export command show the same sentences.

A document that could be sent to Claude again differs from stored turns in three ways. A recording has the maker's own tool
ids; where those may not be unique, the client got other ids, and its results name these. A question may have cache marks, of
which a request can have only four, and fields that need a beta; both are left out. Not every model takes a system message,
so it becomes a reminder of the user, in the tag that recognition ignores.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from math import inf, nextafter
from typing import Final, NamedTuple, TypeAlias

import msgspec
from msgspec import Struct

from clew.chat.messages import blocks_in
from clew.model.json import JsonObject, JsonValue, encoded
from clew.model.recording import Recording, Recordings
from clew.model.turn import TurnRecord
from clew.store.protocols import Store
from clew.store.values import Thread
from clew.thinking.seal import Sealer

UNREADABLE: Final = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""The exceptions of a decoder for bytes that are not what they should be."""

_REMINDER: Final = re.compile("<system-reminder>(.*?)</system-reminder>", re.DOTALL)
_REMINDER_END: Final = "</system-reminder>"

KNOWN: Final = "known already"
"""The kind of a skipped answer that was recorded before."""


def reminders_in(text: str) -> Iterator[re.Match[str]]:
    """The reminders in a text. Behind the last end nothing is looked for: else each beginning without an end would be looked
    for to the end of the text."""
    return _REMINDER.finditer(text, 0, text.rfind(_REMINDER_END) + len(_REMINDER_END))


class NumberedLine(NamedTuple):
    """A line of a file, counted from 1, without its line break."""

    number: int
    raw: bytes


class BrokenLine(Struct, frozen=True):
    """A line that cannot be read, and why. The rest of its file is still read."""

    line: int
    why: str


class Skipped(Struct, frozen=True):
    """Something that adds nothing to a conversation, and its kind."""

    kind: str


ReadItem: TypeAlias = Thread | TurnRecord | BrokenLine | Skipped
"""One result of a reader. A thread comes before its turns, if the format names threads."""


class ImportContext(Struct, frozen=True, kw_only=True):
    """For which principal a file is read, and what is recorded already."""

    principal: str
    known: Recordings
    thread_of: Callable[[str, str], str | None]
    """The thread with this session and agent."""
    at: float
    """The time for everything in the file that has no time of its own."""
    sealer: Sealer | None = None
    """Opens seals; without it a seal counts as absent."""
    followers: Callable[[str, str], Sequence[Recording]] = lambda thread, answer: ()
    """The answers of a thread that followed this one."""
    taken: dict[str, str] = {}
    """The recordings that answers of this file were found as, with the names of these answers."""


Write: TypeAlias = Callable[[Thread, Sequence[TurnRecord]], Iterator[bytes]]
Read: TypeAlias = Callable[[Iterable[NumberedLine], ImportContext], Iterator[ReadItem]]


class Format(Struct, frozen=True, kw_only=True):
    """A file format for conversations: how it is recognised, read and written."""

    name: str
    suffix: str
    does: str
    losses: tuple[str, ...]
    write: Write
    read: Read | None = None
    fits: Callable[[bytes], bool] | None = None
    """Do the first bytes of a file look like this format?"""
    head: bytes = b""
    """Written once, before all threads."""
    foot: bytes = b""


class ReadableFormat(Struct, frozen=True, kw_only=True):
    """A format that is read, and not written."""

    name: str
    does: str
    read: Read
    fits: Callable[[bytes], bool]


# Stored turns

_ALL: Final = 2**31 - 1
_PAGE: Final = 100


def every_thread(store: Store, principal: str) -> Iterator[Thread]:
    """The threads of a principal, the last used first, page by page.

    Several threads can have the same time, so a page asks again for those of the last page's final moment.
    """
    before: float | None = None
    seen: set[str] = set()
    while new := [each for each in store.threads(principal, limit=_PAGE + len(seen), before=before) if each.id not in seen]:
        yield from new
        last = new[-1].used
        seen = {each.id for each in new if each.used == last} | (seen if before == nextafter(last, inf) else set())
        before = nextafter(last, inf)


def turns_of(store: Store, thread: Thread) -> list[TurnRecord]:
    """Every exchange of a thread, oldest first, with its question and its answer."""
    passages = {each.exchange: each for each in store.passages(thread.principal, thread.id)}
    turns: list[TurnRecord] = []
    for exchange in reversed(store.exchanges(thread.principal, thread=thread.id, limit=_ALL)):
        passage = passages.get(exchange.id)
        recording, asked = (passage.recording, passage.asked) if passage else (None, ())
        turns.append(TurnRecord(exchange=exchange, recording=recording, asked=asked, title=thread.title))
    return turns


def held_blocks(recording: Recording) -> list[bytes]:
    """The answer's blocks, each tool call under the id that the client has for it."""
    blocks = [msgspec.json.decode(raw, type=JsonObject) for raw in recording.blocks]
    calls = [index for index, block in enumerate(blocks) if str(block.get("type")).endswith("tool_use") and block.get("id")]
    held = dict(zip(calls, recording.said.ids, strict=False))
    return [
        encoded({**block, "id": held[index]}) if index in held and block["id"] != held[index] else recording.blocks[index]
        for index, block in enumerate(blocks)
    ]


def asked_messages(turn: TurnRecord, *, system: bool = False) -> Iterator[JsonObject]:
    """The messages of the question. With `system`, system messages keep their role."""
    for raw in turn.asked:
        message = msgspec.json.decode(raw, type=JsonObject)
        content = _without_cache_marks(message.get("content"))
        if system or message.get("role") != "system":
            yield {**{name: message[name] for name in ("role", "content") if name in message}, "content": content}
            continue
        blocks = (block for block in blocks_in({"content": content}) if block.get("type") == "text" and block.get("text"))
        if text := "\n\n".join(str(block["text"]) for block in blocks).strip():
            yield {"role": "user", "content": f"<system-reminder>\n{text}\n</system-reminder>"}


def _without_cache_marks(content: JsonValue) -> JsonValue:
    """The content without cache marks, also inside of tool results."""
    if not isinstance(content, list):
        return content
    cleaned: list[JsonValue] = []
    for block in content:
        if isinstance(block, dict):
            kept = {name: value for name, value in block.items() if name != "cache_control"}
            block = {**kept, "content": _without_cache_marks(kept["content"])} if "content" in kept else kept
        cleaned.append(block)
    return cleaned


def model_of(turn: TurnRecord) -> str:
    """The model that was asked for; the model that answered if that is not known."""
    return turn.exchange.asked_model or (turn.recording.origin.model if turn.recording else "")


def claude_model(line: Sequence[TurnRecord]) -> str:
    """The Claude model that was asked for last; without any Claude model, the last model."""
    asked = [model_of(turn) for turn in reversed(line)]
    made = [turn.recording.origin.model for turn in reversed(line) if turn.recording]
    return next((name for name in (*asked, *made) if "claude" in name.lower()), asked[0] if asked else "")
