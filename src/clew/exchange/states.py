"""Where an exchange stands, what may follow what, what time it is there, and when its client has heard nothing for too
long."""

from __future__ import annotations

from enum import Enum
from typing import Final, NamedTuple


class ExchangeState(Enum):
    """Where an exchange stands."""

    __hash__ = object.__hash__  # by identity, and not by name: each state is looked up in the table

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


HIDDEN_SECONDS: Final = 1.0
"""Between two pings while a backend sends what nobody can see."""
_EARLY: Final = 0.001
"""Seconds by which a timer may be early."""


class SilenceCheck(NamedTuple):
    """Whether a ping is due, and after how many seconds to look again."""

    is_due: bool
    wait: float


class SilenceWatch:
    """When a client of a stream that hears nothing gets a sign of life. Without a clock: each call says what time it is.

    In another dialect a backend may send much of which nothing can be shown: comments, or thoughts that it hides. Then there
    is a ping every second, for as long as something comes; and in an answer that began eagerly also while nothing comes.
    """

    __slots__ = ("hides", "is_eager", "last", "seconds")

    def __init__(self, seconds: float, now: float, *, is_eager: bool = False) -> None:
        """`seconds`: how long the client may hear nothing. `is_eager`: answers in another dialect begin at once."""
        self.seconds = seconds
        self.is_eager = is_eager
        self.hides = False
        """Not all that comes can be shown."""
        self.last = now
        """When something went to the client last."""

    def check(self, now: float, heard: float = 0.0, shown: float = 0.0) -> SilenceCheck:
        """`heard`, `shown`: when the backend said something last, and when that went on at once."""
        self.last = max(self.last, shown)
        quiet = now - (self.last if self.hides else max(self.last, heard))
        patience = min(HIDDEN_SECONDS, self.seconds) if self.hides else self.seconds
        is_due = quiet + _EARLY >= (patience if self.is_eager or heard > self.last else self.seconds)
        if is_due:
            self.last, quiet = now, 0.0
        return SilenceCheck(is_due, max(patience - quiet, 0.0) or patience)
