"""Who runs the calls of an answer: what an agent's run says when it takes them, and what is known of it.

Of several runs that want the calls of one answer, in one process or in several, exactly one is first.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["Beginning", "Mark"]


class Mark(NamedTuple):
    """The turn whose calls were begun, by which run, and in which process; "" for what is not known, or is not there."""

    turn: str = ""
    run: str = ""
    process: str = ""


class Beginning(NamedTuple):
    """A run of an agent wants to run the calls of a turn's answer."""

    principal: str
    thread: str
    turn: str
    run: str
    was: str = ""
    """The run that it knows to have begun them before, and not to be there any more."""
    followers: int | None = 0
    """The turns that it knows to go on from this one; None: that does not matter, nor does who began them."""
