"""TokenCounts: how far estimates of token counts were off, for each backend and model, as its answers told.

State of one process, bounded, gone with it: the first few answers teach it anew. An answer is worth the work of estimating
its request only now and then, so `is_due` says when.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

from msgspec import Struct

from clew.pipeline.token_estimate import calibrate

MOST: Final = 500
"""Pairs of backend and model; the one that was asked for longest ago goes first."""

_FIRST: Final = 4
_EVERY: Final = 16


_USUAL: Final = 0.25
"""Tokens in a byte of a request, before anybody told."""


class _Learnt(Struct):
    factor: float | None = None
    per_byte: float = _USUAL
    answers: int = 0


class TokenCounts:
    """What is known of each (backend, model)."""

    __slots__ = ("_known",)

    def __init__(self) -> None:
        self._known: OrderedDict[tuple[str, str], _Learnt] = OrderedDict()

    def factor(self, backend: str, model: str) -> float:
        """What an estimate is to be multiplied by; 1 where nothing is known."""
        known = self._known.get((backend, model))
        return 1.0 if known is None or known.factor is None else known.factor

    def corrected(self, backend: str, model: str, estimated: int) -> int:
        """The estimate as it is told."""
        return max(1, round(estimated * self.factor(backend, model)))

    def is_due(self, backend: str, model: str) -> bool:
        """Whether the next answer should be learnt from: the first few, then every sixteenth. Counts as an answer."""
        known = self._of(backend, model)
        known.answers += 1
        return known.answers <= _FIRST or known.answers % _EVERY == 0

    def learn(self, backend: str, model: str, estimated: int, reported: int) -> None:
        """An answer told how many tokens its request had (all of them, cached ones too)."""
        known = self._of(backend, model)
        known.factor = calibrate(estimated, reported, known.factor)

    def about(self, backend: str, model: str, size: int) -> int:
        """How many tokens a request of so many bytes has, by the last one of which that is known."""
        known = self._known.get((backend, model))
        return round(size * (_USUAL if known is None else known.per_byte))

    def learn_size(self, backend: str, model: str, size: int, reported: int) -> None:
        if size > 0 and reported > 0:
            self._of(backend, model).per_byte = reported / size

    def _of(self, backend: str, model: str) -> _Learnt:
        known = self._known.setdefault((backend, model), _Learnt())
        self._known.move_to_end((backend, model))
        while len(self._known) > MOST:
            self._known.popitem(last=False)
        return known
