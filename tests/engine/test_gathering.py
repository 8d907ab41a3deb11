"""Facts before decisions: what a request needs of the store is gathered first, as values, by few look-ups, and by none in
the event loop."""

from __future__ import annotations

import gc
import io
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FunctionType, MethodType, ModuleType
from typing import Any

import apsw
import pytest

from clew.engine import preparing
from clew.store.sqlite.readers import Readers
from clew.store.values import Lookup
from clew.testing import Simulator
from tests.engine.gate import Gate, claude, other
from tests.engine.talk import OTHER_MODEL, Talk

SESSION, AGENT = "x-claude-code-session-id", "x-claude-code-agent-id"
FORBIDDEN = (apsw.Connection, apsw.Cursor, Readers, io.IOBase, socket.socket, threading.Thread, type(threading.Lock()))
PASSED_BY = (type, ModuleType, FunctionType, MethodType)


class Seen:
    """Look-ups of each request: how many visits to the store, and how many in the event loop's thread."""

    def __init__(self, gate: Gate, monkeypatch: pytest.MonkeyPatch) -> None:
        store = gate.store
        assert store is not None
        self._loop = gate.call(_thread())
        self.visits: list[str] = []
        self.reads: list[str] = []
        gather, take = store.gather, Readers._take

        def counted(wanted: Lookup, check: Callable[[], None] = lambda: None) -> Any:
            self.visits.append(threading.current_thread().name)
            return gather(wanted, check)

        def taken(readers: Readers) -> Any:
            self.reads.append(threading.current_thread().name)
            return take(readers)

        monkeypatch.setattr(store, "gather", counted)
        monkeypatch.setattr(Readers, "_take", taken)

    def during(self, work: Callable[[], object]) -> int:
        """How many visits that took. None of the store's reads was in the loop's thread."""
        self.visits.clear()
        self.reads.clear()
        work()
        assert [name for name in self.reads if name == self._loop] == []
        return len(self.visits)


async def _thread() -> str:
    return threading.current_thread().name


@pytest.fixture
def simulators() -> Iterator[tuple[Simulator, Simulator]]:
    with Simulator() as one, Simulator() as two:
        yield one, two


@pytest.fixture
def gate(simulators: tuple[Simulator, Simulator], tmp_path: Path) -> Iterator[Gate]:
    with Gate(tmp_path, claude(simulators[0]), other(simulators[1])) as gate:
        yield gate


def test_an_agents_next_turn_is_not_looked_up_at_all(gate: Gate, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = Seen(gate, monkeypatch)
    talk = Talk(gate, headers={SESSION: "s"})
    assert seen.during(lambda: talk.asks("Read a.py")) == 1, "whether the session has a thread"
    assert [seen.during(lambda: talk.asks("And on.")) for _ in range(4)] == [0, 0, 0, 0]


def test_forks_and_sub_agents_take_two_look_ups_at_most(gate: Gate, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = Seen(gate, monkeypatch)
    talk, agent = Talk(gate, headers={SESSION: "s"}), Talk(gate, headers={SESSION: "s", AGENT: "a"})
    counts = [seen.during(lambda: talk.asks("One.")), seen.during(lambda: agent.asks("Two."))]
    talk.asks("Three.")
    del talk.messages[2:]
    counts += [seen.during(lambda: talk.asks("Another way.")), seen.during(lambda: agent.asks("Four."))]
    gate.use("glm")
    counts += [seen.during(lambda: talk.asks("Five.")), seen.during(lambda: agent.asks("Six."))]
    assert max(counts) <= 2


def test_a_place_takes_the_second_look_up_and_no_third(gate: Gate, monkeypatch: pytest.MonkeyPatch) -> None:
    """An answer without tools that came back without its thinking."""
    seen, talk = Seen(gate, monkeypatch), Talk(gate, OTHER_MODEL)
    for words in ("One.", "Two.", "Three."):
        talk.asks(words)
        for message in talk.messages[1::2]:
            message["content"] = [block for block in message["content"] if block["type"] == "text"]
    assert seen.during(lambda: talk.asks("Four.")) == 2


def test_after_a_restart_a_long_history_takes_one_look_up(
    gate: Gate, simulators: tuple[Simulator, Simulator], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    talk = Talk(gate, headers={SESSION: "s"})
    for number in range(6):
        talk.asks(f"Turn {number}.")
    with Gate(tmp_path, claude(simulators[0]), other(simulators[1])) as again:
        seen = Seen(again, monkeypatch)
        talk.gate = again
        assert [seen.during(lambda: talk.asks("On.")) for _ in range(3)] == [1, 0, 0]


def test_a_pin_is_heard_of_by_the_next_request(gate: Gate, simulators: tuple[Simulator, Simulator]) -> None:
    """Pins are remembered too, and a new one is not missed for that."""
    talk = Talk(gate, headers={SESSION: "s"})
    for words in ("One.", "Two.", "Three."):
        talk.asks(words)
    store = gate.store
    assert store is not None
    thread = store.threads("local")[0].id
    store.pin("local", thread, "glm").result(60)
    assert talk.asks("Four.").headers["x-clew-backend"] == "glm"
    store.pin("local", thread, "").result(60)
    assert talk.asks("Five.").headers["x-clew-backend"] == "claude"


def test_nothing_that_decides_can_reach_a_store(gate: Gate, monkeypatch: pytest.MonkeyPatch) -> None:
    """All that is handed to a projection is walked through: no connection, file, lock or thread is in it."""
    handed: list[Any] = []
    receive = preparing.receive_request

    def noted(*given: Any) -> Any:
        received = receive(*given)
        handed.append(received)
        return received

    monkeypatch.setattr(preparing, "receive_request", noted)
    talk = Talk(gate, headers={SESSION: "s"})
    for words in ("One.", "Two.", "Three."):
        talk.asks(words)
    assert any(not each.shelf.is_empty for each in handed)
    assert [each for each in reachable(handed) if isinstance(each, FORBIDDEN)] == []


def reachable(roots: list[object]) -> Iterator[object]:
    """Every object that these hold, and what those hold, but for code and what belongs to a whole module."""
    seen: dict[int, object] = {}
    waiting = [*roots]
    while waiting:
        each = waiting.pop()
        if id(each) in seen or isinstance(each, PASSED_BY):
            continue
        seen[id(each)] = each
        yield each
        waiting += gc.get_referents(each)
