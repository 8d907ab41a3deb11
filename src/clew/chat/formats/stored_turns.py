"""The turns of a thread as the store has them, and their messages and blocks in a form that could be sent to Claude again.

Every writer is given stored turns. What goes into a document differs from them in three ways. A recording has the maker's
own tool ids; where those may not be unique, the client got other ids, and its results name these. A question may have cache
marks, of which a request can have only four, and fields that need a beta; both are left out. Not every model takes a system
message, so it becomes a reminder of the user, in the tag that recognition ignores.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import inf, nextafter
from typing import Final

import msgspec

from clew.model.json import JsonObject, JsonValue, encoded
from clew.model.recording import Recording
from clew.model.turn import TurnRecord
from clew.store.protocols import Store
from clew.store.values import Thread

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


def answers_in_line(turns: Sequence[TurnRecord]) -> list[TurnRecord]:
    """The newest answer and all answers that it followed, oldest first. A rewound conversation has other branches too."""
    by_id = {turn.recording.id: turn for turn in turns if turn.recording and turn.recording.blocks}
    at = next((turn for turn in reversed(turns) if turn.recording and turn.recording.blocks), None)
    line: list[TurnRecord] = []
    while at is not None and at.recording is not None and by_id.pop(at.recording.id, None):
        line.append(at)
        at = by_id.get(at.recording.followed or "")
    return line[::-1]


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
        elif text := _text_of(content):
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


def _text_of(content: JsonValue) -> str:
    if isinstance(content, str):
        return content.strip()
    blocks = [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []
    return "\n\n".join(str(block["text"]) for block in blocks if block.get("type") == "text" and block.get("text")).strip()


def model_of(turn: TurnRecord) -> str:
    """The model that was asked for, or the one that answered if that is not known."""
    return turn.exchange.asked_model or (turn.recording.origin.model if turn.recording else "")


def claude_model(line: Sequence[TurnRecord]) -> str:
    """The Claude model that was asked for last; without any Claude model, the last model."""
    asked = [model_of(turn) for turn in reversed(line)]
    made = [turn.recording.origin.model for turn in reversed(line) if turn.recording]
    return next((name for name in (*asked, *made) if "claude" in name.lower()), asked[0] if asked else "")
