"""The machine of an exchange, driven by hand: no loop, no socket, no time. A test says what each command comes to."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from clew.engine import aside as aside_module
from clew.engine import commands
from clew.engine.aside import VERY_LARGE, aside
from clew.engine.call import Call
from clew.engine.commands import ClientGone, EngineCommand, ServerEnds
from clew.engine.driver import Driver
from clew.engine.exchange import ExchangeMachine
from clew.engine.states import FOLLOWS, ExchangeState
from clew.errors import BackendUnreachable, ClewError, RequestInvalid, StoreError
from clew.http.message import request_of
from clew.model.http import ResponseHead
from tests.engine.by_hand import ByHand, Client
from tests.engine.kept_by_hand import KeptByHand
from tests.engine.questions import EVENTS, SNAPSHOTS, STREAM, question, sse

HEAD = ResponseHead(200, ((b"content-type", b"text/event-stream"), (b"request-id", b"req_1")))
BODY = b"".join(map(sse, EVENTS))
WAITS = {"Ask", "Peek", "Take", "ReadBody", "PassOn", "Compute", "GiveWay", "Sleep", "Commit"}
"""Commands during which something else may happen."""


class World:
    """Carries out what an exchange asks for, and notes it."""

    def __init__(
        self, *, heads: Iterator[ResponseHead | ClewError] | None = None, problem: StoreError | None = None
    ) -> None:
        self.parts = ByHand(SNAPSHOTS[0], KeptByHand()).engine.services
        self.exchange = ExchangeMachine(self.parts, Call(body=question("hi", stream=True)))
        self.said: list[str] = []
        """The names of the commands, in order."""
        self.got = b""
        self.states: list[ExchangeState] = [ExchangeState.BEGUN]
        self.reports: list[commands.ReportExchange] = []
        self.kept: list[str] = []
        """How the turns ended that the store was given."""
        self.failures: list[ClewError] = []
        self._heads = heads or iter([HEAD])
        self._problem = problem
        self._rest = BODY

    def play(self, interrupt: Callable[[int], BaseException | None] = lambda _: None) -> World:
        """To its end. `interrupt` says what is thrown in at the place of a command, counted from 0."""
        self.exchange.prepare()
        work = self.exchange.run()
        value: Any = None
        error: BaseException | None = None
        while True:
            try:
                command = work.send(value) if error is None else work.throw(error)
            except StopIteration:
                self._note_state()
                return self
            self._note_state()
            place = len(self.said)
            self.said.append(type(command).__name__)
            error, value = interrupt(place), None
            if error is None or isinstance(command, commands.Commit):  # a write is begun before it is waited for
                try:
                    value = self._carry_out(command)
                except ClewError as raised:
                    error = raised

    def _note_state(self) -> None:
        if self.exchange.state is not self.states[-1]:
            self.states.append(self.exchange.state)

    def _next_head(self) -> ResponseHead:
        head = next(self._heads)
        if isinstance(head, ClewError):
            raise head
        return head

    def _carry_out(self, command: EngineCommand[Any]) -> object:
        match command:
            case commands.Compute():
                return command.work()
            case commands.Ask():
                return self._next_head()
            case commands.Peek():
                return self._rest
            case commands.Take():
                taken, self._rest = self._rest, b""
                return taken
            case commands.ReadBody():
                return b'{"type":"error","error":{"type":"overloaded_error","message":"busy"}}'
            case commands.Push() | commands.Finish():
                self.got += command.data
            case commands.Commit() | commands.Keep():
                self.kept.append(command.turn.exchange.outcome)
                return self._problem if isinstance(command, commands.Commit) else None
            case commands.ReportExchange():
                self.reports.append(command)
            case commands.Refuse():
                self.failures.append(command.failure)
        return None


def played(world: Callable[[], World], interrupt: Callable[[int], BaseException | None] = lambda _: None) -> World:
    async def play() -> World:
        return world().play(interrupt)

    return asyncio.run(play())  # parts of an engine belong to a loop; the exchange itself knows none


def at(place: int, error: Callable[[], BaseException]) -> Callable[[int], BaseException | None]:
    return lambda here: error() if here == place else None


def test_an_answer_is_whole_kept_and_then_ended() -> None:
    """Law 8: what carries the stop reason goes out after the store has the turn, and once."""
    world = played(World)
    assert world.states == [
        ExchangeState.BEGUN,
        ExchangeState.ASKING,
        ExchangeState.PASSING,
        ExchangeState.WHOLE,
        ExchangeState.OVER,
    ]
    assert (world.kept, [each.exchange.outcome for each in world.reports]) == (["whole"], ["whole"])
    assert world.said.index("Commit") < world.said.index("ReportExchange") < world.said.index("Finish")
    assert world.got.endswith(b'data: {"type":"message_stop"}\n\n')
    assert world.said.index("LetGo") < world.said.index("Commit")  # another exchange may have the connection meanwhile


def test_a_store_that_cannot_have_the_turn_costs_no_answer() -> None:
    world = played(lambda: World(problem=StoreError("no room", file="x")))
    assert world.got.endswith(b'data: {"type":"message_stop"}\n\n')
    assert [str(each.problem) for each in world.reports] == ["no room"]


@pytest.mark.parametrize("error", [ClientGone, ServerEnds])
def test_whatever_it_waits_for_an_exchange_that_must_end_is_told_of_once(error: Callable[[], BaseException]) -> None:
    """At every command that waits: nothing is kept twice, nothing is lost that was whole, and no end is invented."""
    usual = played(World)
    last = usual.said.index("GiveWay") if error is ServerEnds else len(usual.said)  # what is whole is ended by the server
    places = [place for place, name in enumerate(usual.said[:last]) if name in WAITS]
    assert len(places) > 3
    for place in places:
        name = usual.said[place]
        world = played(World, at(place, error))
        assert world.states[-1] is ExchangeState.OVER, name
        outcomes = [each.exchange.outcome for each in world.reports]
        assert (len(outcomes), len(world.kept)) == (1, 1), (name, outcomes, world.kept)
        assert b"message_stop" not in world.got, name
        is_whole = place >= usual.said.index("GiveWay")
        assert outcomes == (["whole"] if is_whole else ["cut"]), name


def test_a_try_that_fails_is_followed_by_another_and_only_before_the_first_content() -> None:
    unreachable = BackendUnreachable("127.0.0.1:9: Connection refused")
    world = played(lambda: World(heads=iter([unreachable, HEAD])))
    assert world.states == [
        ExchangeState.BEGUN,
        ExchangeState.ASKING,
        ExchangeState.BEGUN,
        ExchangeState.ASKING,
        ExchangeState.PASSING,
        ExchangeState.WHOLE,
        ExchangeState.OVER,
    ]
    broken = played(World, at(played(World).said.index("PassOn"), lambda: BackendUnreachable("127.0.0.1:9: gone")))
    assert (broken.said.count("Ask"), len(broken.failures), broken.kept) == (1, 1, ["cut"])
    assert b"message_stop" not in broken.got


def test_a_client_that_leaves_while_its_request_is_looked_up_is_kept_as_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    """A small request was always read at once; now its look-up may be in a thread."""

    async def run() -> list[str]:
        hand, looked_up, told = ByHand(SNAPSHOTS[0], KeptByHand()), asyncio.Event(), list[str]()

        async def looking_up(size: int, work: Callable[[], None]) -> None:
            await looked_up.wait()
            work()

        monkeypatch.setattr(aside_module, "looking_up", looking_up)
        monkeypatch.setattr(ExchangeMachine, "begins_at_once", lambda self: False)
        hand.engine.services.finished = lambda exchange, recording: told.append(exchange.outcome)
        client = Client(request_of(method="POST", target="/v1/messages", headers=(), body=b""))
        work = hand.engine.answer(Call(body=question("hi", stream=True)), client.responder)
        assert work is not None
        task = asyncio.ensure_future(work)
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.sleep(0)
        looked_up.set()
        await asyncio.wait([task])
        return told

    assert asyncio.run(run()) == ["cut"]


@pytest.mark.parametrize("slowly", [False, True], ids=["at once", "slowly"])
def test_nothing_is_left_of_an_exchange_that_is_over(slowly: bool) -> None:
    """No timer and no cycle holds it: it has the request and the answer, and the garbage collector may come late."""

    async def left() -> int:
        gc.collect()
        hand, before = ByHand(SNAPSHOTS[0], KeptByHand()), _drivers()
        hand.slowly = slowly
        for number in range(3):
            await hand.asks(f"a{number}", Call(body=b""), question("hi", stream=True), [STREAM])
        hand.client = None
        return _drivers() - before

    gc.disable()
    try:
        assert asyncio.run(left()) == 0
    finally:
        gc.enable()


@pytest.mark.parametrize("leaves", [False, True], ids=["refused", "abandoned"])
def test_nothing_is_left_of_a_large_request_that_is_not_answered(leaves: bool) -> None:
    """No cycle holds its body: neither a failed task nor the driver."""

    async def left() -> int:
        gc.collect()
        hand, before = ByHand(SNAPSHOTS[0], KeptByHand()), _drivers()
        body = b'{"messages":[' + b" " * VERY_LARGE + (b"" if leaves else b"x") + b"]}"
        client = Client(request_of(method="POST", target="/v1/messages", headers=(), body=b""))
        work = hand.engine.answer(Call(body=body), client.responder)
        assert work is not None
        task = asyncio.ensure_future(work)
        await asyncio.sleep(0)
        if leaves:
            task.cancel()
        await asyncio.wait([task])
        assert task.cancelled() or isinstance(task.exception(), RequestInvalid)
        del task, work
        await aside(VERY_LARGE + 1, lambda: None)  # behind the thread's work on it
        return _drivers() - before

    gc.disable()
    try:
        assert asyncio.run(left()) == 0
    finally:
        gc.enable()


def _drivers() -> int:
    return sum(1 for each in gc.get_objects() if isinstance(each, Driver))


def test_every_state_leads_to_the_end() -> None:
    assert all(ExchangeState.OVER in after for state, after in FOLLOWS.items() if state is not ExchangeState.OVER)
    assert set(FOLLOWS) == set(ExchangeState)
