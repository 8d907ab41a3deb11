"""TokenCounts: how far estimates of token counts were off, for each backend and model, as its answers told.

State of one process, bounded, gone with it: the first few answers teach it anew. An answer is worth the work of estimating
its request only now and then, so `is_due` says when.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from typing import Final

from msgspec import Struct

from clew.exchange.commands import LearnTokens, TokenRate
from clew.exchange.turns import counts_of
from clew.pipeline.token_estimate import calibrate, estimate

MOST: Final = 500
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
        while len(self._known) > MOST:
            self._known.popitem(last=False)
        return known
