"""Services: what every exchange of a process shares."""

from __future__ import annotations

import asyncio
import random
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Final

import msgspec
from msgspec import Struct

from clew.engine.histories import Histories
from clew.engine.hub import Hub
from clew.engine.ids import new_id
from clew.engine.log.request_log import RequestLog
from clew.engine.snapshot import Snapshot
from clew.errors import StoreError
from clew.exchange.call import Call
from clew.exchange.commands import LearnTokens, TokenRate
from clew.exchange.inputs import ProcessFacts
from clew.exchange.redact import Redactor
from clew.exchange.turns import counts_of
from clew.model.json import JsonObject, JsonValue
from clew.model.past import each_of, folded
from clew.model.recording import Recording
from clew.model.request import RequestMessage
from clew.model.turn import Exchange
from clew.pipeline.attempts import CoolDowns
from clew.pipeline.token_estimate import calibrate, estimate
from clew.store import Store
from clew.store.commits import COMMIT_LIMIT
from clew.thinking.keys import key_of
from clew.thinking.registry.table import Filtered, ThinkingRegistry
from clew.upstream.pool import Pool

# Cool-downs, for people to see. Each process learns for itself and acts on that alone; what it learnt goes into the store
# besides, where an admin that speaks for several workers, or for other gateways, finds it.

SCOPE: Final = ":cooling"
"""No gateway has such a name."""
_NEWS: Final = 1.0
"""Seconds: a cool-down that grows by less is no news, so a backend that is down costs one write a second at most."""


def tell_cool_downs(store: Store, known: CoolDowns, cooled: CoolDowns, *, now: float, wall: float) -> None:
    """Write down what was not `known`. `now` is the clock's word for the moment that `wall` calls otherwise."""
    before = longest(known, now)
    for backend, left in longest(cooled, now).items():
        if left > before.get(backend, 0.0) + _NEWS:
            store.set(backend, f"{wall + left:.3f}", scope=SCOPE, at=wall)


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


MOST_SEEN: Final = 20_000
SEEN_AGAIN: Final = 60.0
"""Seconds after which it is news again: as coarse as the store's own marks."""


class SeenKeys:
    """Bounded; the longest known goes first."""

    def __init__(self) -> None:
        self._at: OrderedDict[tuple[str, bytes], float] = OrderedDict()

    def news(self, principal: str, keys: Sequence[bytes], now: float) -> tuple[bytes, ...]:
        """Those of a history that were not told of, or not for a while; from now on they were.

        What stands first was told first. So as long as that is no news, only the end of the history is looked at: another of
        its blocks waits for the first one, which is a minute at most.
        """

        def is_news(key: bytes) -> bool:
            return self._at.get((principal, key), -SEEN_AGAIN) <= now - SEEN_AGAIN

        if not keys or is_news(keys[0]):
            fresh = tuple(key for key in keys if is_news(key))
        else:
            fresh = tuple(takewhile(is_news, reversed(keys)))[::-1]
        for key in fresh:
            self._at[principal, key] = now
            self._at.move_to_end((principal, key))
        while len(self._at) > MOST_SEEN:
            self._at.popitem(last=False)
        return fresh


def _keys_in(messages: Sequence[RequestMessage]) -> list[bytes]:
    return [
        key
        for message in messages
        if message.role == "assistant" and isinstance(message.content, tuple)
        for block in message.content
        if (key := key_of(block))
    ]


BLOCK_KEYS = each_of(_keys_in)
"""Of all blocks that a history brings."""


MOST_COUNTED: Final = 500
"""Pairs of backend and model; the one that was asked for longest ago goes first."""

_FIRST: Final = 4
_EVERY: Final = 16


_USUAL: Final = 0.25
"""Tokens in a byte of a request, before anybody told."""
_USUAL_RATE: Final = TokenRate(_USUAL)


class _Learnt(Struct):
    factor: float | None = None
    per_byte: float = _USUAL
    answers: int = 0


class TokenCounts:
    """What is known of each (backend, model)."""

    __slots__ = ("_known",)

    def __init__(self) -> None:
        self._known: OrderedDict[tuple[str, str], _Learnt] = OrderedDict()

    def rate(self, backend: str, model: str) -> TokenRate:
        """What is known; the usual numbers where nothing is."""
        known = self._known.get((backend, model))
        return _USUAL_RATE if known is None else TokenRate(known.per_byte, 1.0 if known.factor is None else known.factor)

    def is_due(self, backend: str, model: str) -> bool:
        """Whether the next answer should be learnt from: the first few, then every sixteenth. Counts as an answer."""
        known = self._of(backend, model)
        known.answers += 1
        return known.answers <= _FIRST or known.answers % _EVERY == 0

    def learn(self, backend: str, model: str, estimated: int, reported: int) -> None:
        """An answer told how many tokens its request had (all of them, cached ones too)."""
        known = self._of(backend, model)
        known.factor = calibrate(estimated, reported, known.factor)

    def learn_size(self, backend: str, model: str, size: int, reported: int) -> None:
        if size > 0 and reported > 0:
            self._of(backend, model).per_byte = reported / size

    def learn_from(self, answer: LearnTokens) -> None:
        """From an answer that is whole. The size in bytes is looked at each time, since that costs nothing. An estimate
        reads the whole request, so it is made now and then, in a thread, and nobody waits for it."""
        asked, _, read, written = counts_of(answer.usage)
        reported = asked + read + written
        if not reported:
            return
        backend, model, going = answer.route.backend.name, answer.route.target.model, answer.going
        self.learn_size(backend, model, answer.size, reported)
        if self.is_due(backend, model):

            def learn(done: asyncio.Future[int]) -> None:
                if not done.cancelled():
                    self.learn(backend, model, done.result(), reported)

            asyncio.get_running_loop().run_in_executor(None, estimate, going).add_done_callback(learn)

    def _of(self, backend: str, model: str) -> _Learnt:
        known = self._known.setdefault((backend, model), _Learnt())
        self._known.move_to_end((backend, model))
        while len(self._known) > MOST_COUNTED:
            self._known.popitem(last=False)
        return known


class Sessions:
    """The table. From any thread."""

    def __init__(self) -> None:
        self._registry = ThinkingRegistry(lock=threading.Lock())

    def filter(self, call: Call, backend: str, now: float, orphan_seconds: float) -> Filtered:
        """What this backend made since the last switch goes, and nothing else."""
        self._registry.orphan_threshold = orphan_seconds
        self._registry.notify_backend(backend)
        body: JsonValue = msgspec.json.decode(call.body)
        return self._registry.filter_request(body, now, only_looks=call.kind == "count_tokens")

    def register(self, blocks: tuple[JsonObject, ...], session: int, now: float) -> None:
        """What an answer brought. It belongs to the session of its request, whatever was switched meanwhile."""
        self._registry.register_blocks(blocks, now, session=session)


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
    """What this process learnt about backends that should be left alone."""
    commit_seconds: float = COMMIT_LIMIT
    """How long an answer's end may wait for the store (law 8)."""
    histories: Histories = field(default_factory=Histories)
    seen: SeenKeys = field(default_factory=SeenKeys)
    token_counts: TokenCounts = field(default_factory=TokenCounts)
    sessions: Sessions = field(default_factory=Sessions)
    redact: Redactor = field(default_factory=Redactor)
    """Knows the secrets of this process."""

    def process_facts(self) -> ProcessFacts:
        """What an exchange that begins now has to know of this process."""
        log = self.log
        return ProcessFacts(
            has_store=self.store is not None,
            logs_bodies=log is not None and log.shows_bodies,
            logs_decisions=log is not None and log.traces,
            cool_downs=self.cool_downs,
            redact=self.redact,
        )

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

    def touch(self, principal: str, messages: Sequence[RequestMessage]) -> None:
        """Which blocks a request brought: news for the store once in a while."""
        news = self.seen.news(principal, folded(messages, BLOCK_KEYS), self.wall())
        if news and self.store is not None:
            self.store.touch(principal, keys=news, at=self.wall(), lazily=True)

    def forget_threads(self) -> None:
        """Of all that may belong to a thread that somebody deleted: which that was, only a hash says."""
        self.histories.clear()
        if self.store is not None:
            self.store.clear_memory()

    def learn(self, cooled: CoolDowns, now: float) -> None:
        """After each flow of attempts: what is over is forgotten, so that all goes the short way again."""
        if not cooled.until and not self.cool_downs.until:
            return
        if self.store is not None:
            tell_cool_downs(self.store, self.cool_downs, cooled, now=now, wall=self.wall())
        self.cool_downs = (self.cool_downs | cooled).after(now)
