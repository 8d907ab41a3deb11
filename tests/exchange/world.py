"""A world that is played by hand: it carries out what a machine asks for, without a loop, a socket or a clock of its own."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from clew.engine.gathering import GatheredFacts
from clew.engine.preparing import receive_request
from clew.engine.snapshot import Snapshot
from clew.errors import ClewError, StoreError
from clew.exchange import commands
from clew.exchange.call import Call
from clew.exchange.commands import ExchangeCommand, TokenRate
from clew.exchange.inputs import ProcessFacts, ReceivedRequest
from clew.exchange.machine import ExchangeMachine
from clew.exchange.redact import Redactor
from clew.exchange.states import ExchangeState
from clew.model.http import ResponseHead
from clew.model.request import ALWAYS
from clew.model.turn import CommitResult
from clew.pipeline.attempts import CoolDowns
from tests.engine.questions import EVENTS, SNAPSHOTS, question, sse

HEAD = ResponseHead(200, ((b"content-type", b"text/event-stream"), (b"request-id", b"req_1")))
BUSY = ResponseHead(529, ((b"content-type", b"application/json"),))
BODY = b"".join(map(sse, EVENTS))
WORDS = b'{"type":"error","error":{"type":"overloaded_error","message":"busy"}}'
WAITS = {"Ask", "Take", "ReadBody", "PassOn", "Compute", "GiveWay", "Sleep", "Commit"}
"""Commands during which something else may happen."""

FACTS = ProcessFacts(
    has_store=True, logs_bodies=False, logs_decisions=False, cool_downs=CoolDowns(), redact=Redactor(["a-known-secret"])
)

Interrupt = Callable[[int], BaseException | None]


def received(call: Call, snapshot: Snapshot = SNAPSHOTS[0]) -> ReceivedRequest:
    """The request of a new conversation, of which no store knows anything."""
    request = call.front.read_request(call.body, call.headers, ALWAYS)
    return receive_request(call, snapshot, GatheredFacts(), "x1", request)


class World:
    """Plays one exchange to its end, and notes what it asks for. Each command takes `seconds`; a sleep takes its own time."""

    def __init__(
        self,
        *,
        heads: Iterator[ResponseHead | ClewError] | None = None,
        problem: StoreError | None = None,
        body: bytes = BODY,
        words: bytes = WORDS,
        call: Call | None = None,
        snapshot: Snapshot = SNAPSHOTS[0],
        facts: ProcessFacts = FACTS,
        seconds: float = 0.0,
    ) -> None:
        self.now, self.seconds = 5.0, seconds
        request = received(call or Call(body=question("hi", stream=True)), snapshot)
        self.exchange = ExchangeMachine("x1", request, facts, is_light=True, now=self.now, wall=self.wall)
        self.said: list[str] = []
        """The names of the commands, in order."""
        self.asked: list[str] = []
        """The backends that were asked, in order."""
        self.slept: list[float] = []
        self.got = b""
        self.states: list[ExchangeState] = [ExchangeState.BEGUN]
        self.reports: list[commands.ReportExchange] = []
        self.kept: list[str] = []
        """How the turns ended that the store was given."""
        self.failures: list[ClewError] = []
        self.learnt: list[ExchangeCommand[Any]] = []
        """What others are told: cool-downs, tokens, who answers, what is logged."""
        self._heads = heads or iter([HEAD])
        self._problem = problem
        self.rest = body
        """What the backend still has to say."""
        self._words = words

    @property
    def wall(self) -> float:
        return self.now + 1_000_000.0

    def play(self, interrupt: Interrupt = lambda _: None) -> World:
        """To its end. `interrupt` says what is thrown in at the place of a command, counted from 0."""
        self.exchange.begin()
        work = self.exchange.run()
        value: Any = None
        error: BaseException | None = None
        while True:
            self.exchange.progress.now, self.exchange.progress.wall = self.now, self.wall
            try:
                command = work.send(value) if error is None else work.throw(error)
            except StopIteration:
                self._note_state()
                return self
            self._note_state()
            place = len(self.said)
            self.said.append(type(command).__name__)
            self.now += self.seconds
            error, value = interrupt(place), None
            if error is None or isinstance(command, commands.Commit):  # a write is begun before it is waited for
                try:
                    value = self._carry_out(command)
                except ClewError as raised:
                    error = raised

    def _note_state(self) -> None:
        if self.exchange.state is not self.states[-1]:
            self.states.append(self.exchange.state)

    def _carry_out(self, command: ExchangeCommand[Any]) -> object:
        name = re.sub(r"(?<!^)([A-Z])", r"_\1", type(command).__name__).lower()
        if (played := getattr(self, f"_play_{name}", None)) is not None:
            return played(command)
        self.learnt.append(command)
        return None

    def _play_compute(self, command: commands.Compute[Any]) -> object:
        return command.work()

    def _play_sleep(self, command: commands.Sleep) -> None:
        self.slept.append(command.seconds)
        self.now += command.seconds

    def _play_ask(self, command: commands.Ask) -> ResponseHead:
        self.asked.append(command.route.backend.name)
        head = next(self._heads)
        if isinstance(head, ClewError):
            raise head
        return head

    def _play_take(self, command: commands.Take) -> bytes:
        taken, self.rest = self.rest, b""
        return taken

    def _play_read_body(self, command: commands.ReadBody) -> bytes:
        return command.begun or self._words

    def _play_push(self, command: commands.Push | commands.Finish) -> None:
        self.got += command.data

    _play_finish = _play_push

    def _play_commit(self, command: commands.Commit) -> CommitResult:
        self.kept.append(command.turn.exchange.outcome)
        return CommitResult("no" if self._problem else "local", self._problem)

    def _play_keep(self, command: commands.Keep) -> None:
        self.kept.append(command.turn.exchange.outcome)

    def _play_report_exchange(self, command: commands.ReportExchange) -> None:
        self.reports.append(command)

    def _play_refuse(self, command: commands.Refuse) -> None:
        self.failures.append(command.failure)

    def _play_draw_jitter(self, command: commands.DrawJitter) -> list[float]:
        return [0.5] * command.count

    def _play_look_up_token_rate(self, command: commands.LookUpTokenRate) -> TokenRate:
        return TokenRate(0.25)


def at(place: int, error: Callable[[], BaseException]) -> Interrupt:
    return lambda here: error() if here == place else None
