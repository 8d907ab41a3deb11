"""Services: what every exchange of a process shares."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Final

from clew.backends.row import Backend
from clew.engine.histories import Histories
from clew.engine.hub import Hub
from clew.engine.ids import new_id
from clew.engine.log.request_log import RequestLog
from clew.engine.parallel import ParallelSlots
from clew.engine.process_memory import SeenKeys, Sessions, TokenCounts
from clew.engine.snapshot import Snapshot
from clew.engine.usage_limits import UsageLimits
from clew.errors import StoreError
from clew.exchange.inputs import ProcessFacts
from clew.exchange.redact import Redactor
from clew.model.recording import Recording
from clew.model.turn import Exchange, TurnRecord
from clew.pipeline.attempts import MOST_COOL, Candidate, CoolDowns
from clew.store import Store
from clew.store.commits import COMMIT_LIMIT
from clew.upstream.pool import Pool

# Cool-downs. Each process learns for itself, and tells the store, where an admin that speaks for several workers, or for
# other gateways, finds it. Other processes act only on limits whose end the backend itself told, since these hold for the
# key wherever it is used; that a connection failed may be the fault of one machine.

SCOPE: Final = ":cooling"
"""No gateway has such a name. By backend, for people to see."""
LIMITS: Final = ":limited"
"""By backend and key, for other processes to act on."""
_NEWS: Final = 1.0
"""Seconds: a cool-down that grows by less is no news, so a backend that is down costs one write a second at most."""


def tell_cool_downs(store: Store, known: CoolDowns, cooled: CoolDowns, *, now: float, wall: float) -> None:
    """Write down what was not `known`. `now` is the clock's word for the moment that `wall` calls otherwise."""
    before = longest(known, now)
    for backend, left in longest(cooled, now).items():
        if left > before.get(backend, 0.0) + _NEWS:
            store.set(backend, f"{wall + left:.3f}", scope=SCOPE, at=wall)
    for name in sorted(cooled.limits):
        left = cooled.until[name] - now
        if left > known.until.get(name, now) - now + _NEWS:
            store.set(" ".join(name), f"{wall + left:.3f}", scope=LIMITS, at=wall)


def limits_in(store: Store, *, now: float, wall: float) -> CoolDowns:
    """The limits that other processes told."""
    until: dict[tuple[str, str], float] = {}
    for name, value in store.settings(LIMITS).items():
        backend, _, key = name.partition(" ")
        if float(value) > wall:
            until[backend, key] = now + min(float(value) - wall, MOST_COOL)
    return CoolDowns(until, frozenset(until))


def longest(cooled: CoolDowns, now: float) -> dict[str, float]:
    """The seconds that are left of each backend's longest cool-down, whichever of its keys that is."""
    found: dict[str, float] = {}
    for (backend, _), until in cooled.until.items():
        if until > now:
            found[backend] = max(found.get(backend, 0.0), until - now)
    return found


def cool_downs_in(store: Store, wall: float) -> Mapping[str, float]:
    """The seconds that are left, as whichever process knows it that told last."""
    until = {backend: float(value) for backend, value in store.settings(SCOPE).items()}
    return {backend: end - wall for backend, end in until.items() if end > wall}


@dataclass(slots=True, kw_only=True)
class EngineServices:
    """Handed in once. Clock, chance and ids are functions, so that a test has its own."""

    pool: Pool
    snapshot: Callable[[], Snapshot]
    store: Store | None = None
    hub: Hub = field(default_factory=Hub)
    log: RequestLog | None = None
    finished: Callable[[Exchange, Recording | None], None] | None = None
    """Told of every exchange that is over, after the log."""
    new_id: Callable[[], str] = new_id
    wall: Callable[[], float] = time.time
    clock: Callable[[], float] = time.monotonic
    jitter: Callable[[], float] = random.random
    cool_downs: CoolDowns = field(default_factory=CoolDowns)
    """What this process learnt about backends that should be left alone,"""
    repairs: Mapping[Candidate, tuple[str, ...]] = field(default_factory=dict[Candidate, tuple[str, ...]])
    """and about accounts that may have less than others. A new process learns it again, by one refusal."""
    commit_seconds: float = COMMIT_LIMIT
    """How long an answer's end may wait for the store (law 8)."""
    histories: Histories = field(default_factory=Histories)
    seen: SeenKeys = field(default_factory=SeenKeys)
    token_counts: TokenCounts = field(default_factory=TokenCounts)
    sessions: Sessions = field(default_factory=Sessions)
    redact: Redactor = field(default_factory=Redactor)
    """Knows the secrets of this process."""
    limits: UsageLimits = field(init=False)
    parallel: ParallelSlots = field(default_factory=ParallelSlots)

    def __post_init__(self) -> None:
        def backends() -> Mapping[str, Backend]:
            return self.snapshot().settings.backends

        self.limits = UsageLimits(self.store, wall=self.wall, clock=self.clock, backends=backends)

    def process_facts(self) -> ProcessFacts:
        """What an exchange that begins now has to know of this process."""
        log = self.log
        return ProcessFacts(
            has_store=self.store is not None,
            logs_bodies=log is not None and log.shows_bodies,
            logs_decisions=log is not None and log.traces,
            cool_downs=self.cool_downs,
            repairs=self.repairs,
            redact=self.redact,
            has_limits=self.limits.is_active,
            has_hard_limits=self.limits.has_hard,
        )

    def record(self, id: str, turn: TurnRecord) -> Future[bool]:
        """Keep a turn, with what it is charged where limits hold."""
        assert self.store is not None
        recorded = self.store.record(self.limits.charge(id, turn))
        self.limits.follow(id, recorded)
        return recorded

    def tell(self, exchange: Exchange, recording: Recording | None) -> None:
        """An exchange is over."""
        if self.log is not None:
            self.log.finished(exchange, recording)
        if self.finished is not None:
            self.finished(exchange, recording)
        self.hub.publish("exchange", exchange)

    def unrecorded(self, id: str, why: StoreError) -> None:
        """An answer goes out that the store does not have in time."""
        if self.log is not None:
            self.log.unrecorded(id, why)
        self.hub.publish("unrecorded", {"exchange": id, "why": str(why)})

    def kept_here(self, id: str) -> None:
        """An answer goes out that is on this machine alone, because the shared store did not take it in time."""
        if self.log is not None:
            self.log.kept_here(id)
        self.hub.publish("local", {"exchange": id})

    def forget_threads(self) -> None:
        """Of all that may belong to a thread that somebody deleted: which that was, only a hash says."""
        self.histories.clear()
        if self.store is not None:
            self.store.clear_memory()

    def limits_told(self) -> CoolDowns:
        """The limits that other processes met. Reads the store: call it in a thread."""
        try:
            return limits_in(self.store, now=self.clock(), wall=self.wall()) if self.store else CoolDowns()
        except StoreError:  # each for itself, as long as the store cannot be read
            return CoolDowns()

    def take_limits(self, told: CoolDowns) -> None:
        """Act on the limits that other processes met."""
        self.cool_downs = (self.cool_downs | told).after(self.clock())

    def learn(self, cooled: CoolDowns, now: float) -> None:
        """After each flow of attempts: what is over is forgotten, so that all goes the short way again."""
        if not cooled.until and not self.cool_downs.until:
            return
        if self.store is not None:
            tell_cool_downs(self.store, self.cool_downs, cooled, now=now, wall=self.wall())
        self.cool_downs = (self.cool_downs | cooled).after(now)
