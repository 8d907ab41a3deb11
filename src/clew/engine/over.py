"""What is over and went as others went: kept as what is its own, and told together with those that are like it.

Most exchanges differ from one another in their names, their times and their tokens only. So a row of them is handed on as it
is, and who adds up or writes lines does it for the row; an `Exchange` is made of one for whoever asks for each.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from clew.engine.turns import counts_of, usage_of
from clew.model.json import JsonValue
from clew.store.values import Exchange, Try

__all__ = ["UNTOLD", "Alike", "Over", "Tokens", "alike"]

Tokens: TypeAlias = Sequence[int]
"""Of the input, of the output, read from a cache and written to it."""

UNTOLD: Final[Tokens] = (0, 0, 0, 0)
"""Of an answer whose backend told none."""


class Over(Struct, frozen=True, eq=False, gc=False):
    """An exchange that is over: all that is its own."""

    like: Exchange
    """What is told of it as of all others that go so."""
    id: str
    started: float
    ended: float
    first_byte: float
    """Seconds until the first content was here, to the last digit."""
    usage: JsonValue
    stop_reason: JsonValue
    request_id: str

    def exchange(self) -> Exchange:
        seconds = round(self.first_byte, 6)
        return replace(
            self.like,
            id=self.id,
            thread=self.id,
            started=self.started,
            ended=self.ended,
            first_byte=seconds,
            usage=usage_of(self.usage, estimated=False) if isinstance(self.usage, dict) else None,
            stop_reason=self.stop_reason if isinstance(self.stop_reason, str) else "",
            request_id=self.request_id,
            tries=(Try(backend=self.like.backend, status=200, seconds=seconds),),
        )


class Alike(Struct, frozen=True, eq=False):
    """Exchanges that went as one another, in the order in which they ended."""

    like: Exchange
    overs: Sequence[Over]
    tokens: Sequence[Tokens]
    """Of each."""

    def exchanges(self) -> Iterator[Exchange]:
        return (over.exchange() for over in self.overs)


def alike(like: Exchange, overs: Sequence[Over]) -> Alike:
    """Those that are `like` it."""
    return Alike(like, overs, [_tokens(over.usage) for over in overs])


def _tokens(usage: JsonValue) -> Tokens:
    return counts_of(usage) if usage and isinstance(usage, dict) else UNTOLD
