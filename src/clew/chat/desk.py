"""Desk: what a conversation stands on. It keeps the turns of one thread, and asks.

There are two: one on the engine in this process (`clew.chat.local`), and one on a gateway that runs elsewhere
(`clew.chat.remote`). What is said is in the store before anybody is asked, as an open turn; so whatever happens afterwards,
to the backend, to the caller or to a process, what was said is there, and says what came of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Protocol, TypeAlias

from msgspec import Struct

from clew.chat.events import Said
from clew.chat.floor import Stop
from clew.chat.projected import Projected
from clew.chat.request import Wishes
from clew.chat.tree import Tree
from clew.store.values import Thread

__all__ = ["Begun", "Claim", "Desk", "Hearing", "Question", "Taken"]

Begun: TypeAlias = Callable[[str], None]
"""Told of the turn's id, as soon as there is one."""


class Claim(NamedTuple):
    """A run of an agent, the turn whose calls it is about, and the run that it found to have begun them, which is gone."""

    run: str
    turn: str = ""
    was: str = ""


class Taken(NamedTuple):
    """The turn whose calls were begun, "" if there is none; by which run, and is that one at it?"""

    turn: str = ""
    run: str = ""
    lives: bool = False


class Question(Struct, frozen=True, kw_only=True):
    """What is asked, after which turn ("" for a beginning), of whom, and how."""

    asked: tuple[bytes, ...]
    follows: str
    model: str
    backend: str = ""
    """Who is asked for this answer alone; "" is the one that the thread stays with, or whichever is active."""
    wishes: Wishes


class Hearing(Protocol):
    """An answer while it comes."""

    @property
    def id(self) -> str:
        """Of its turn."""
        ...

    @property
    def failure(self) -> BaseException | None:
        """Why it is not whole, as far as somebody said so; known when it is over."""
        ...

    async def heard(self) -> Sequence[Said]:
        """What came since the last; nothing at the end."""
        ...

    async def kept(self) -> None:
        """Until the turn is in the store as what became of it, and in the desk's tree."""
        ...

    def leave(self) -> None:
        """Listen no more: whoever answers is told at once."""
        ...


class Desk(Protocol):
    """One thread of one principal."""

    thread: Thread
    tree: Tree

    @property
    def backends(self) -> Mapping[str, str]:
        """Who can be asked, and for which model if nobody names one ("" where there is none)."""
        ...

    @property
    def active(self) -> str:
        """Who answers where nobody is named."""
        ...

    async def beside(self, agent: str, id: str) -> Desk:
        """The desk of a sub-agent's thread, new or as it is: in the same session, so that the tree shows who sent it."""
        ...

    async def refresh(self) -> None:
        """See what others did with this thread meanwhile."""
        ...

    async def ask(self, question: Question, begun: Begun) -> Hearing:
        """Save first, then ask. Whatever prevents that is raised, and leaves a turn that says so."""
        ...

    async def rename(self, title: str) -> bool:
        """Another title. False if nothing was said yet."""
        ...

    async def as_sent(self, tip: str, backend: str, model: str) -> Projected:
        """The line up to this turn as a backend would get it."""
        ...

    async def take_calls(self, claim: Claim) -> bool:
        """Keep that the calls of this turn's answer are begun, which outlives this process. False if somebody else began
        them, or went on from there."""
        ...

    async def leave_calls(self, claim: Claim) -> None:
        """They are run no further."""
        ...

    async def end_calls(self, claim: Claim) -> None:
        """Nothing is left that this run began, or found begun."""
        ...

    async def calls_begun(self) -> Taken:
        """The turn whose calls were begun, and whether whoever did so is at it."""
        ...

    def begin(self, stop: Stop) -> None:
        """One answer at a time: see `Floor`."""
        ...

    def end(self) -> None: ...

    async def close(self) -> None: ...
