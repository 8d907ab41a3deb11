"""What a process learns from its exchanges, and forgets when it ends. All of it is bounded."""

from __future__ import annotations

import asyncio
import threading
from collections import OrderedDict
from collections.abc import Sequence
from itertools import takewhile
from typing import Final

import msgspec
from msgspec import Struct

from clew.exchange.call import Call
from clew.exchange.commands import LearnTokens, RegisterBlocks, TokenRate
from clew.exchange.turns import counts_of
from clew.model.json import JsonValue
from clew.pipeline.token_estimate import calibrate, estimate
from clew.thinking.registry.blocks import Registration, exact_block_key
from clew.thinking.registry.table import Filtered, ThinkingRegistry

MOST_SEEN: Final = 20_000
"""Keys of blocks; the longest known goes first."""
SEEN_AGAIN: Final = 60.0
"""Seconds after which it is news again: as coarse as the store's own marks."""


class SeenKeys:
    """Which thinking blocks requests have brought lately, so that the store is told once a minute and not with every
    request."""

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
    """How far estimates of token counts were off, for each backend and model, as its answers told. The first few answers
    teach it. An answer is worth the work of estimating its request only now and then, so `is_due` says when."""

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
    """The policy `session`: a counter of backend switches decides which thinking goes, as one of the documents describes it.

    Kept for those who want exactly that. Blocks reach the client as their makers signed them, without a seal, so they are
    known by text and signature: the same words of another maker are another block. What this policy loses, the default one
    keeps. From any thread.
    """

    def __init__(self) -> None:
        self.registry = ThinkingRegistry(key_of=exact_block_key, lock=threading.Lock())

    def filter(self, call: Call, backend: str, now: float, orphan_seconds: float) -> Filtered:
        """What this backend made since the last switch goes, and nothing else."""
        self.registry.orphan_threshold = orphan_seconds
        body: JsonValue = msgspec.json.decode(call.body)
        return self.registry.filter_request(body, now, backend=backend, only_looks=call.kind == "count_tokens")

    def register(self, answer: RegisterBlocks, now: float) -> Registration:
        """What an answer brought. It belongs to the session of its request, whatever was switched meanwhile."""
        whole = self.registry.register_blocks(answer.blocks, now, session=answer.session)
        cut = self.registry.register_blocks(answer.cut, now, session=answer.session, complete=False)
        return Registration(whole.blocks + cut.blocks)
