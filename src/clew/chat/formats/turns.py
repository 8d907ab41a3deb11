"""A thread's turns, as the store has them: what every writer is given."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import inf, nextafter
from typing import Final

import msgspec

from clew.model.json import JsonObject
from clew.store.protocols import Store
from clew.store.values import Thread, Turn

__all__ = ["answers_in_line", "every_thread", "messages_of", "turns_of"]

ALL: Final = 2**31 - 1
PAGE: Final = 100


def every_thread(store: Store, principal: str) -> Iterator[Thread]:
    """The last used first, page by page. Threads can share their time: those of a page's last moment are asked for again."""
    before: float | None = None
    seen: set[str] = set()
    while new := [each for each in store.threads(principal, limit=PAGE + len(seen), before=before) if each.id not in seen]:
        yield from new
        last = new[-1].used
        seen = {each.id for each in new if each.used == last} | (seen if before == nextafter(last, inf) else set())
        before = nextafter(last, inf)


def turns_of(store: Store, thread: Thread) -> list[Turn]:
    """Every exchange of a thread, oldest first, with its question and its answer."""
    passages = {each.exchange: each for each in store.passages(thread.principal, thread.id)}
    turns: list[Turn] = []
    for exchange in reversed(store.exchanges(thread.principal, thread=thread.id, limit=ALL)):
        said = passages.get(exchange.id)
        recording, asked = (said.recording, said.asked) if said else (None, ())
        turns.append(Turn(exchange=exchange, recording=recording, asked=asked, title=thread.title))
    return turns


def answers_in_line(turns: Sequence[Turn]) -> list[Turn]:
    """The newest answer and all that it followed, oldest first: a conversation that was rewound has other branches too."""
    by_id = {turn.recording.id: turn for turn in turns if turn.recording and turn.recording.blocks}
    at = next((turn for turn in reversed(turns) if turn.recording and turn.recording.blocks), None)
    line: list[Turn] = []
    while at is not None and at.recording is not None and by_id.pop(at.recording.id, None):
        line.append(at)
        at = by_id.get(at.recording.followed or "")
    return line[::-1]


def messages_of(turn: Turn) -> list[JsonObject]:
    """What was asked, message by message."""
    return [msgspec.json.decode(raw, type=JsonObject) for raw in turn.asked]
