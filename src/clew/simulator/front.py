"""What every simulated vendor's front door does: the journal, faults in waiting, the wire; whatever the dialect.

A `Front` takes a request, opens its journal entry, lets the vendor behind it answer (`_answer`), spoils the answer if a
fault waits for it, and plays it. What differs by dialect is behind the few methods that a subclass has: how an answer is
found, and how the vendor words an error.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from clew.errors import SettingsInvalid
from clew.http.message import HttpRequest, Refusal
from clew.http.responder import Responder
from clew.simulator import control, faults
from clew.simulator.accounts import credential_of
from clew.simulator.faults import Fault
from clew.simulator.ids import Ids, Mint
from clew.simulator.interfaces import Account, Kind, Stance, Violation
from clew.simulator.journal import Entry, Journal
from clew.simulator.queue import FaultQueue
from clew.simulator.replies import HeaderPairs
from clew.simulator.steps import End, Steps, play
from clew.simulator.turns import DEFAULT

__all__ = ["Front", "Settings", "Visit", "misuse"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What a simulator is started with."""

    stance: Stance
    kind: Kind = "anthropic"
    scenario: str = DEFAULT
    seed: int = 0
    realm: str = ""
    """Who shares it knows each other's signatures; without a name, those of one kind and seed do."""
    journal: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Visit:
    """A request of a known account."""

    request: HttpRequest
    account: Account
    ids: Ids
    entry: Entry


class Front(ABC):
    """A simulator without its listener. `now` counts seconds since the epoch."""

    main_path: str
    """Where conversations are asked for; faults without a path wait there."""

    def __init__(self, settings: Settings, mint: Mint, now: Callable[[], float]) -> None:
        self.settings = settings
        self.journal = Journal(settings.journal, now=now)
        self.faults = FaultQueue(self.main_path)
        self._mint = mint

    def reset(self) -> None:
        """Forget all that requests left behind."""
        for memory in (self.journal, self.faults, self._mint):
            memory.reset()

    async def handle(self, request: HttpRequest, respond: Responder) -> None:
        """Answer one request."""
        if request.path.startswith(control.PREFIX):
            await play(control.answer(self, request), respond)
            return
        account = self._account(request)
        name = account.name if isinstance(account, Account) else ""
        ids = self._mint.ids(name, request.target, request.body)
        entry = self.journal.open(request, ids.request, name)
        steps = self._go_wrong(request, entry, self._answer(request, account, ids, entry))
        await self._play(entry, steps, respond)

    @abstractmethod
    def refuse(self, turned_away: Refusal, respond: Responder) -> None:
        """What the HTTP layer does not even hand on, in the vendor's shape."""

    @abstractmethod
    def _account(self, request: HttpRequest) -> Account | Violation:
        """Who calls, or why nobody does."""

    @abstractmethod
    def _answer(self, request: HttpRequest, account: Account | Violation, ids: Ids, entry: Entry) -> Steps:
        """The answer, before anything goes wrong with it."""

    @abstractmethod
    def _refused(self, violation: Violation, entry: Entry, headers: HeaderPairs) -> Steps:
        """A refusal in the vendor's shape, noted in the entry."""

    @abstractmethod
    def _spoil(self, faults: Sequence[Fault], steps: Steps, request_id: str) -> Steps:
        """The steps as they go wrong, with the vendor's own errors."""

    def _fault_path(self, request: HttpRequest) -> str:
        """Under which path faults wait for this request."""
        return request.path

    def _go_wrong(self, request: HttpRequest, entry: Entry, steps: Steps) -> Steps:
        asked = request.header("x-sim-fault")
        try:
            fault = (
                faults.parse(asked) if asked else self.faults.take(self._fault_path(request), credential_of(request.joined))
            )
        except SettingsInvalid as error:
            return self._refused(misuse("sim.fault", error), entry, (("request-id", entry.request_id),))
        if fault is None:
            return steps
        entry.faults.append(fault.kind)
        return self._spoil([fault], steps, entry.request_id)

    async def _play(self, entry: Entry, steps: Steps, respond: Responder) -> None:
        broken = steps[-1] in (End("fin"), End("rst"))
        try:
            await play(steps, respond)
        finally:
            self.journal.close(entry, ("cut" if broken else "whole") if respond.ended else "client left")


def misuse(rule: str, error: SettingsInvalid) -> Violation:
    """The simulator itself was asked for something that it has not."""
    return Violation(rule=rule, grade="A", status=400, error_type="invalid_request_error", message=str(error))
