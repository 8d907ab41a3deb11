"""Where an exchange stands, what may follow what, and what time it is there."""

from __future__ import annotations

from enum import Enum
from typing import Final


class ExchangeState(Enum):
    """Where an exchange stands."""

    BEGUN = "begun"
    """Its request is read, and nobody is being asked: it was not tried yet, or a try failed."""
    ASKING = "asking"
    """A try is under way, and its answer has not come to its first content."""
    PASSING = "passing"
    """Content of an answer goes to the client: nobody else is asked any more."""
    WHOLE = "whole"
    """All of the answer is here; its end waits for the store."""
    OVER = "over"


FOLLOWS: Final = {
    ExchangeState.BEGUN: frozenset({ExchangeState.ASKING, ExchangeState.OVER}),
    ExchangeState.ASKING: frozenset({ExchangeState.PASSING, ExchangeState.WHOLE, ExchangeState.BEGUN, ExchangeState.OVER}),
    ExchangeState.PASSING: frozenset({ExchangeState.WHOLE, ExchangeState.BEGUN, ExchangeState.OVER}),
    ExchangeState.WHOLE: frozenset({ExchangeState.OVER}),
    ExchangeState.OVER: frozenset[ExchangeState](),
}
"""What may follow what. OVER can follow at any moment: the client may leave, or the server end. From PASSING it goes back to
BEGUN only to be judged: `pipeline.attempts` tries nothing again once content has gone out."""


class Progress:
    """Of one exchange. The driver sets `now` and `wall` before each step of the machine, which has no clock."""

    __slots__ = ("now", "state", "wall")

    def __init__(self, now: float, wall: float) -> None:
        """`now`: seconds on a clock that never jumps. `wall`: seconds since the epoch."""
        self.state = ExchangeState.BEGUN
        self.now = now
        self.wall = wall

    def enter(self, state: ExchangeState) -> None:
        assert state in FOLLOWS[self.state], f"{state} cannot follow {self.state}"
        self.state = state
