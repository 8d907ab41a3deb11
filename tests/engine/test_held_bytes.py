"""What a process holds after many turns of many sessions is bounded."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

from clew.engine.histories import Histories
from clew.exchange.call import Call
from clew.store import body_writer
from clew.store.memory import RecordingCache
from clew.store.pieces import Chains
from clew.store.sqlite.store import SqliteStore
from clew.store.sqlite.writer import WriterLimits
from tests.build import tool_result, tool_use, user
from tests.engine.by_hand import ByHand
from tests.engine.questions import OPUS, SNAPSHOTS, framed, sse
from tests.engine.test_histories import events
from tests.waiting import until_so

SESSIONS, TURNS, RESULT = 8, 24, 6_000
"""At the end each session has 150 KB and all have 1.2 MB: several times what is kept of them."""
HISTORIES, COMPARED, WAITING, RECORDINGS = 400_000, 200_000, 150_000, 16_000


class Kept(SqliteStore):
    turns: tuple[()] = ()
    """What the harness would look at; here the structures are."""


class Agent:
    """A client with calls of tools, whose history grows by one result with each turn."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.history: list[Any] = [user(f"begin {number} " * 40)]

    def body(self) -> bytes:
        return json.dumps({"model": OPUS, "max_tokens": 9, "messages": self.history, "stream": True}).encode()

    def go_on(self, turn: int) -> None:
        signed = {"type": "thinking", "thinking": "", "signature": f"s{self.number * TURNS + turn}"}
        call = tool_use(f"t{self.number * TURNS + turn}")
        said = {"role": "assistant", "content": [signed, {"type": "text", "text": "yes sk-test-key"}, call]}
        self.history += [said, user({**tool_result(call["id"]), "content": f"{turn} " * (RESULT // 3)})]


class Held:
    """The bytes of all structures that outlive a turn, each value counted once."""

    def __init__(self, histories: Histories, store: SqliteStore) -> None:
        self._histories, self._store = histories, store

    @property
    def histories(self) -> dict[int, int]:
        return _sizes(each.source.raw for kept in self._histories._kept.values() for each in kept)

    @property
    def compared(self) -> dict[int, int]:
        writer = self._store._bodies
        with writer._changed:
            chains = [*writer._chains._chains.values()]
        return _sizes(known.body for chain in chains for known in [*chain._known.values()])

    @property
    def waiting(self) -> dict[int, int]:
        writer = self._store._bodies
        with writer._changed:
            waits = [each.bodies for own in writer._waiting.values() for each in own.values()]
            waits += [each.bodies for each in writer._writing.values()]
        return _sizes(raw for each in waits for raw in (each.asked, each.sent, each.answered))

    @property
    def recordings(self) -> int:
        cache = self._store._memory.cache
        with cache._lock:  # the store's thread adds one, and then drops others
            return cache._bytes

    @property
    def all(self) -> int:
        return sum({**self.histories, **self.compared, **self.waiting}.values()) + self.recordings


def _sizes(values: Iterable[bytes]) -> dict[int, int]:
    return {id(each): len(each) for each in values}


async def played(store: Kept) -> tuple[list[int], Held]:
    """How much was held after each round of all sessions. Every bound is looked at after every turn."""
    hand: Any = ByHand(SNAPSHOTS[0], store)  # pyright: ignore[reportArgumentType]
    hand.engine.services.histories = histories = Histories(HISTORIES)
    hand.engine.services.commit_seconds = 120.0  # a busy disk changes nothing: each answer is found again
    held = Held(histories, store)
    agents, found = [Agent(number) for number in range(SESSIONS)], list[int]()
    for turn in range(TURNS):
        for agent in agents:
            number, body = agent.number * TURNS + turn, agent.body()
            room = int(2.5 * WAITING) - len(body)
            await until_so(lambda room=room: store._bodies._bytes <= room)  # else its bodies would be skipped
            answer = framed(b"".join(map(sse, events(number, calls=True))), kind="text/event-stream", chunked=True)
            heads: Mapping[str, str] = {"x-claude-code-session-id": f"session-{agent.number}"}
            await hand.asks(f"id{number}", Call(body=b"", headers=heads), body, [answer])
            agent.go_on(turn)
            assert sum(held.histories.values()) <= HISTORIES
            assert sum(held.waiting.values()) <= 3 * WAITING
            assert held.recordings <= RECORDINGS
        found.append(held.all)
    return found, held


@pytest.mark.slow
def test_what_is_held_after_many_turns_of_many_sessions_does_not_grow_with_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The row of the bench about memory, with smaller bounds: bytes are counted, and not what the allocator makes of them."""
    monkeypatch.setattr(body_writer, "ENOUGH_BYTES", WAITING)
    with Kept(tmp_path / "clew.db", keep=50, limits=WriterLimits(long_delay=60.0)) as store:
        store._bodies._most = 3 * WAITING
        store._bodies._chains = Chains(COMPARED)
        store._memory.cache = RecordingCache(RECORDINGS)
        found, held = asyncio.run(played(store))
    sent = len(Agent(0).body()) + TURNS * RESULT
    assert SESSIONS * sent > 2 * HISTORIES, "there is more than is kept"
    assert max(found) <= HISTORIES + COMPARED + 3 * WAITING + RECORDINGS + sent
    with SqliteStore(tmp_path / "clew.db") as store:
        last = [store.bodies("local", f"id{number * TURNS + TURNS - 1}") for number in range(SESSIONS)]
    assert None not in last, "they were kept meanwhile"
    assert sum(held.compared.values()) <= COMPARED, "what is too much is forgotten once all is written"
