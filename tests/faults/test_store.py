"""Stores that are full, broken, locked or held: answers go on, it is said, nothing is damaged, and it repairs itself."""

from __future__ import annotations

import http.client
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from clew.backends.row import Backend
from clew.store.commits import COMMIT_LIMIT
from clew.store.sqlite.store import SqliteStore
from clew.store.sqlite.writer import WriterLimits
from clew.testing import Simulator
from tests.clock import Clock
from tests.database import connected
from tests.engine.gate import Gate, claude, other
from tests.engine.talk import Talk, refusals
from tests.faults.conftest import Calling
from tests.faults.scene import asking, impatient, kept, question, story
from tests.manifest import proves
from tests.store.test_faults import FaultyDisk
from tests.waiting import until

pytestmark = pytest.mark.slow


class StoreGate(Gate):
    """A gateway on a store that is opened in another way."""

    opens: Callable[[Path], SqliteStore] = SqliteStore

    def _opened(self) -> SqliteStore:
        return type(self).opens(self.home / "clew.db")


Opening = Callable[..., Gate]


@pytest.fixture
def opening(tmp_path: Path) -> Iterator[Opening]:
    """Starts gateways on stores that are opened as the test says."""
    with ExitStack() as stack:

        def start(*backends: Backend, **options: Any) -> Gate:
            class Here(StoreGate):
                opens = staticmethod(lambda path: SqliteStore(path, **options))

            home = tmp_path / "home"
            home.mkdir(mode=0o700)
            return stack.enter_context(Here(home, *backends, **impatient()))

        yield start


@pytest.fixture
def disk() -> Iterator[FaultyDisk]:
    disk = FaultyDisk()
    yield disk
    disk.unregister()


def state(gate: Gate) -> str:
    assert gate.store is not None
    return gate.store.health().state


@proves("fault:S1")
@pytest.mark.parametrize("backend", [claude, other])
def test_a_full_disk_stops_no_answer_and_no_conversation(
    opening: Opening, a: Simulator, disk: FaultyDisk, backend: Any
) -> None:
    """S1: said, not stored, and stored again when there is room; what was said meanwhile still goes back to its maker."""
    gate = opening(backend(a, "claude"), vfs=disk.name)
    talk = Talk(gate)
    talk.says("One.")
    disk.full = True
    assert story(talk.says("Two.")) == "whole"
    assert state(gate) == "degraded"
    disk.full = False
    talk.says("Three.")
    until(lambda: state(gate) == "ok")
    assert refusals(a) == []
    fates = {(block["whose"], block["fate"]) for entry in a.journal() for block in entry["thinking"]}
    assert len(fates) == 1, "every block went back to whom it came from"
    assert gate.store.verify() == ()
    assert [each.outcome for each in gate.store.exchanges("local", limit=100)].count("whole") >= 2


@proves("fault:S1")
def test_a_full_disk_is_told_to_anyone_who_watches(opening: Opening, a: Simulator, disk: FaultyDisk) -> None:
    """S1: by the exchange that was not kept."""
    gate = opening(claude(a), vfs=disk.name)
    told: list[Any] = []
    publish = gate.hub.publish
    gate.hub.publish = lambda kind, value: (told.append((kind, value)), publish(kind, value))[1]
    disk.full = True
    answer = gate.ask(question())
    assert story(answer) == "whole"
    [unrecorded] = [value for kind, value in told if kind == "unrecorded"]
    assert unrecorded["exchange"] == answer.headers["x-clew-exchange"]
    assert "the disk is full" in unrecorded["why"]
    disk.full = False


@proves("fault:S2")
def test_a_disk_that_fails_makes_the_store_read_only_and_answers_go_on(
    opening: Opening, a: Simulator, disk: FaultyDisk
) -> None:
    """S2: what was kept can still be read; a new start writes again."""
    gate = opening(claude(a), vfs=disk.name)
    talk = Talk(gate)
    talk.says("One.")
    before = len(kept(gate, 2))
    disk.failing = True
    assert story(talk.says("Two.")) == "whole"
    disk.failing = False
    assert story(talk.says("Three.")) == "whole"
    assert state(gate) == "read-only"
    assert len(gate.store.exchanges("local", limit=100)) == before
    assert refusals(a) == []
    with SqliteStore(gate.home / "clew.db") as fresh:
        assert fresh.verify() == ()


@proves("fault:S3")
def test_a_log_that_somebody_holds_is_bounded_and_answers_go_on(opening: Opening, a: Simulator) -> None:
    """S3: then nothing more is kept, until the holder lets go."""
    gate = opening(claude(a), limits=WriterLimits(checkpoint_pages=20, wal_bytes=400_000))
    gate.ask(question("before"))
    reader = connected(gate.home / "clew.db")
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM recordings").fetchall()
    answers = 0
    while state(gate) == "ok" and answers < 200:
        assert story(gate.ask(question(f"during {answers} " + "x" * 20_000))) == "whole"
        answers += 1
    assert state(gate) == "degraded"
    assert "reads without end" in gate.store.health().why
    assert (gate.home / "clew.db-wal").stat().st_size < 1_500_000
    reader.close()
    answer = gate.ask(question("after"))
    assert story(answer) == "whole"
    until(lambda: gate.store.exchange("local", answer.headers["x-clew-exchange"]))
    assert (state(gate), gate.store.verify()) == ("ok", ())


@proves("fault:S4")
def test_a_locked_store_holds_nobody_up_for_long_and_loses_nothing(clock: Clock, opening: Opening, a: Simulator) -> None:
    """S4: other routes do not wait at all, answers not long, and what waited is written when the lock is gone."""
    gate = opening(claude(a))
    gate.engine.services.commit_seconds = COMMIT_LIMIT
    gate.ask(question("before"))
    with locked(gate.home / "clew.db"):
        for n in range(3):
            answer = asking(gate, question(f"during {n}"))
            until(lambda n=n: waiting(gate) == n + 1)
            assert is_alive(gate), "nobody else waits: the clock stands"
            assert not answer.done()
            clock.pass_time(COMMIT_LIMIT)
            assert story(answer.result()) == "whole"
    until(lambda: len(gate.store.exchanges("local", limit=100)) == 4)
    assert [each.outcome for each in kept(gate, 4)] == ["whole"] * 4
    assert (state(gate), gate.store.verify()) == ("ok", ())


def waits(gate: Gate) -> bool:
    return waiting(gate) > 0


def waiting(gate: Gate) -> int:
    """How many whole turns are on their way to the disk. One that takes its time is there as open, before."""
    return sum(recording.whole for recording in list(gate.store._memory.pending._waiting.values()))


@proves("fault:S4")
def test_a_turn_that_waits_for_the_store_needs_no_task_and_its_end_comes_in_one_piece(
    opening: Opening, a: Simulator, calling: Calling
) -> None:
    """Law 8: all but the end is there, then the end as a whole, and the connection takes the next question."""
    gate = opening(claude(a))
    gate.engine.services.commit_seconds = 20.0
    gate.ask(question("before"))
    with locked(gate.home / "clew.db"):
        client = calling(gate).asks(question("during"))
        until(lambda: waits(gate))
        tasks = gate.tasks()  # by then the loop has written what it had to write
        came = client.socket.recv(65536)
        assert (tasks, b"content_block_stop" in came, b"message_delta" in came) == (0, True, False)
    end = client.socket.recv(65536)
    assert (end.count(b"event: message_delta"), end.count(b"event: message_stop"), end[-5:]) == (1, 1, b"0\r\n\r\n")
    assert client.asks(question("after")).answer().status == 200
    assert [each.outcome for each in kept(gate, 3)] == ["whole"] * 3


@proves("fault:S4")
@pytest.mark.parametrize("stream", [True, False])
def test_a_client_that_leaves_while_its_turn_waits_for_the_store_takes_nothing_along(
    opening: Opening, a: Simulator, calling: Calling, stream: bool
) -> None:
    """Law 8: the write is never cancelled. Nobody is told twice, and nothing is left behind."""
    gate = opening(claude(a))
    gate.engine.services.commit_seconds = 20.0
    with locked(gate.home / "clew.db"):
        client = calling(gate).asks(question("during", stream=stream))
        until(lambda: waits(gate))
        client.leaves()
        until(lambda: gate._server.open_connections == 0)
    assert [each.outcome for each in kept(gate, 1)] == ["whole"]
    assert gate.ask(question("after")).status == 200
    until(lambda: gate.tasks() == 0)
    assert gate.store.verify() == ()


@proves("fault:S4")
def test_a_lock_that_outlasts_all_patience_costs_recordings_and_no_answer(opening: Opening, a: Simulator) -> None:
    """S4: each turn is reported as unrecorded, and those after the lock are recorded again. (Patience is 5 s, here less.)"""
    gate = opening(claude(a), busy=0.2)
    gate.engine.services.commit_seconds = COMMIT_LIMIT
    told: list[Any] = []
    publish = gate.hub.publish
    gate.hub.publish = lambda kind, value: (told.append((kind, value)), publish(kind, value))[1]
    gate.ask(question("before"))
    with locked(gate.home / "clew.db"):
        answers = [gate.ask(question(f"during {number}", stream=number % 2 == 0)) for number in range(4)]
        assert [story(answer) for answer in answers] == ["whole"] * 4
        until(lambda: state(gate) == "degraded" and not gate.store.health().waiting)
    unrecorded = {value["exchange"] for kind, value in told if kind == "unrecorded"}
    assert unrecorded == {answer.headers["x-clew-exchange"] for answer in answers}
    after = gate.ask(question("after"))
    assert story(after) == "whole"
    until(lambda: gate.store.exchange("local", after.headers["x-clew-exchange"]) is not None)
    assert (state(gate), gate.store.verify()) == ("ok", ())


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Another process's transaction, as soon as it can have one."""
    connection = connected(path)
    connection.execute("BEGIN IMMEDIATE")
    yield
    connection.execute("ROLLBACK")
    connection.close()


def is_alive(gate: Gate) -> bool:
    connection = http.client.HTTPConnection(gate.url.removeprefix("http://"), timeout=120)
    connection.request("GET", "/healthz")
    said = connection.getresponse().read()
    connection.close()
    return said == b'{"status":"ok"}'
