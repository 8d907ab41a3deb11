"""ProcessCommands: the commands of an exchange that its process answers at once: what it knows, learns, logs and reports."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from msgspec import Struct

from clew.engine.services import EngineServices
from clew.errors import ClewError
from clew.exchange import commands
from clew.exchange.call import Call
from clew.model.recording import Recording
from clew.model.turn import Exchange
from clew.pipeline.stream.translation import BlockStep
from clew.thinking.history import thoughts_of


class TurnObserver(Struct, frozen=True, kw_only=True, eq=False):
    """Of a caller that keeps its own conversation."""

    answers: Callable[[str, str], None]
    """Called with the backend and the model that answer, when the first content is here: not before can this be known."""
    told: Callable[[Exchange, Recording | None], None]
    """Called when it is over and kept, before its end goes to the client."""
    failed: Callable[[ClewError], None]
    """Called with what went wrong, if something did: a client reads less than that."""


class ProcessCommands:
    """Of one exchange."""

    __slots__ = ("_call", "_id", "_observer", "_services", "trace")

    def __init__(self, services: EngineServices, call: Call, id: str, observer: TurnObserver | None) -> None:
        self._services = services
        self._call = call
        self._id = id
        self._observer = observer
        self.trace: list[BlockStep] | None = None
        """What the exchange notes about the blocks of a translated answer, if that is logged."""

    def report(self, command: commands.ReportExchange) -> None:
        services = self._services
        if command.in_use:  # news for the store once in a while
            now = services.wall()
            news = services.seen.news(self._call.principal, thoughts_of(command.in_use).keys, now)
            if news and services.store is not None:
                services.store.touch(self._call.principal, keys=news, at=now, lazily=True)
        if self.trace:
            self.log_blocks()  # before the line of the request, which is the last
        if command.problem is not None:
            services.unrecorded(self._id, command.problem)
        elif command.waits:
            services.kept_here(self._id)
        if self._observer is not None:
            self._observer.told(command.exchange, command.recording)
        services.tell(command.exchange, command.recording)

    def report_answering(self, command: commands.ReportAnswering) -> None:
        if self._observer is not None:
            self._observer.answers(command.backend, command.model)

    def report_failure(self, failure: ClewError) -> None:
        if self._observer is not None:
            self._observer.failed(failure)

    def cool_down(self, command: commands.CoolDown) -> None:
        self._services.learn(command.cooled, self._services.clock())

    def draw_jitter(self, command: commands.DrawJitter) -> Sequence[float]:
        return [self._services.jitter() for _ in range(command.count)]

    def learn_repairs(self, command: commands.LearnRepairs) -> None:
        known = self._services.repairs
        self._services.repairs = {**known, command.account: (*known.get(command.account, ()), *command.names)}

    def learn_tokens(self, command: commands.LearnTokens) -> None:
        self._services.token_counts.learn_from(command)

    def look_up_token_rate(self, command: commands.LookUpTokenRate) -> commands.TokenRate:
        return self._services.token_counts.rate(command.route.backend.name, command.route.target.model)

    def filter_by_session(self, command: commands.FilterBySession) -> object:
        """May take a while where the request is large."""
        services = self._services
        orphan_seconds = services.snapshot().settings.thinking.orphan_seconds
        filtered = services.sessions.filter(self._call, command.backend, services.clock(), orphan_seconds)
        if services.log is not None:
            services.log.filtered(self._id, filtered)
        return filtered

    def register_blocks(self, command: commands.RegisterBlocks) -> None:
        registered = self._services.sessions.register(command, self._services.clock())
        if self._services.log is not None:
            self._services.log.registered(self._id, registered)

    def log_body(self, command: commands.LogBody) -> None:
        if self._services.log is not None:
            self._services.log.body(self._id, command.which, command.raw)

    def log_decisions(self, command: commands.LogDecisions) -> None:
        if self._services.log is not None:
            self._services.log.decided(self._id, command.changes, command.kept)

    def log_blocks(self) -> None:
        """Take out what an exchange noted about the blocks of a translated answer."""
        if self.trace and self._services.log is not None:
            for step in self.trace:
                self._services.log.lived(self._id, step)
            self.trace.clear()


PROCESS_ACTIONS: Final[Mapping[type, Callable[..., object]]] = {
    commands.ReportExchange: ProcessCommands.report,
    commands.ReportAnswering: ProcessCommands.report_answering,
    commands.CoolDown: ProcessCommands.cool_down,
    commands.DrawJitter: ProcessCommands.draw_jitter,
    commands.LearnTokens: ProcessCommands.learn_tokens,
    commands.LearnRepairs: ProcessCommands.learn_repairs,
    commands.LookUpTokenRate: ProcessCommands.look_up_token_rate,
    commands.RegisterBlocks: ProcessCommands.register_blocks,
    commands.LogBody: ProcessCommands.log_body,
    commands.LogDecisions: ProcessCommands.log_decisions,
}
"""How each is carried out."""
