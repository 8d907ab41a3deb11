"""ThreadService: keeps the turns of one thread, and asks. Every conversation works on one.

There are two: one on the engine in this process (`clew.chat.local`), and one on a gateway that runs elsewhere
(`clew.chat.remote`). A question is stored as an open turn before a backend is asked. So whatever happens afterwards, to the
backend, the caller or the process, the question is in the store with its outcome. An answer comes as events: pieces of
thinking and text, calls (each a `ToolCall`, when it is complete), and the end, when the turn is in the store.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import NamedTuple, Protocol, TypeAlias

from msgspec import Struct

from clew.chat.messages import Message, ToolCall
from clew.chat.request import Projected, Wishes
from clew.chat.turns import Tree, Turn
from clew.errors import RequestInvalid
from clew.store.values import Thread

# The events of an answer


class TextDelta(Struct, frozen=True):
    """A piece of the answer's text.

    >>> TextDelta("Hello").text
    'Hello'
    """

    text: str


class ThinkingDelta(Struct, frozen=True):
    """A piece of the model's thinking, if the model shows it.

    >>> ThinkingDelta("Let me see.").text
    'Let me see.'
    """

    text: str


class Ended(Struct, frozen=True):
    """The answer is complete and stored. This is the last event.

    >>> from clew import Message
    >>> Ended(Message(role="assistant", content="Hello"), None).message.content
    'Hello'
    """

    message: Message
    turn: Turn | None


class Compacted(Struct, frozen=True):
    """The conversation was too long, and continues from a summary: the following events belong to a new line.

    `before` is the question that did not fit, `summary` the turn in which the model wrote it.

    >>> from clew import Turn
    >>> refused = Turn(id="1a", at=0.0, asked=(), answer=None, outcome="refused")
    >>> written = Turn(id="1b", at=1.0, asked=(), answer=None, outcome="whole", is_summary=True)
    >>> Compacted(refused, written).summary.is_summary
    True
    """

    before: Turn
    summary: Turn


AnswerEvent: TypeAlias = TextDelta | ThinkingDelta | ToolCall | Compacted | Ended
"""Every event of an answer."""


# The service

OnTurn: TypeAlias = Callable[[str], None]
"""Called with the id of the turn, as soon as there is one."""

Stop: TypeAlias = Callable[[], Awaitable[None]]


class Claim(NamedTuple):
    """A run of an agent, the turn whose calls it claims, and an earlier run that had begun them and is over."""

    run: str
    turn: str = ""
    was: str = ""


class BegunCalls(NamedTuple):
    """The turn whose calls were begun ("" if there is none), by which run, and whether that run is active."""

    turn: str = ""
    run: str = ""
    lives: bool = False


class Question(Struct, frozen=True, kw_only=True):
    """The messages of a question, the turn before it ("" at the beginning), the model, and the parameters."""

    asked: tuple[bytes, ...]
    follows: str
    model: str
    backend: str = ""
    """The backend for this answer alone; "" is the thread's pinned backend, or the active one."""
    wishes: Wishes


def new_thread(id: str, *, principal: str = "", session: str = "", agent: str = "") -> Thread:
    """A thread without turns. It is its own session unless one is named: the same words elsewhere are another thread's."""
    now = time.time()
    return Thread(
        id=id, principal=principal, session=session or id, agent=agent, title="", pin="", created=now, used=now, turns=0
    )


class AnswerReader(Protocol):
    """Reads an answer as it comes. One is made for each question."""

    @property
    def id(self) -> str:
        """The id of the answer's turn."""
        ...

    @property
    def failure(self) -> BaseException | None:
        """Why the answer is not whole, if that is known; set at the end."""
        ...

    async def next_events(self) -> Sequence[AnswerEvent]:
        """The events since the last call; none at the end."""
        ...

    async def wait_stored(self) -> None:
        """Wait until the turn is stored with its outcome, and in the tree."""
        ...

    def leave(self) -> None:
        """Stop reading: the backend is stopped at once."""
        ...


class ThreadService(Protocol):
    """A thread of a principal: where its turns are stored and its questions are asked."""

    thread: Thread
    tree: Tree

    @property
    def backends(self) -> Mapping[str, str]:
        """The backends, each with its default model ("" if it has none)."""
        ...

    @property
    def active(self) -> str:
        """The backend that answers if none is named."""
        ...

    async def beside(self, agent: str, id: str) -> ThreadService:
        """The service of a sub-agent's thread, new or existing, in the same session."""
        ...

    async def refresh(self) -> None:
        """Read the turns that other processes have added to this thread."""
        ...

    async def ask(self, question: Question, on_turn: OnTurn) -> AnswerReader:
        """Store the question, then ask. A failure is raised, and the turn is marked with it."""
        ...

    async def rename(self, title: str) -> bool:
        """Set the title. False if the thread has no turn yet."""
        ...

    async def as_sent(self, tip: str, backend: str, model: str) -> Projected:
        """The line up to this turn, as a backend would get it."""
        ...

    async def take_calls(self, claim: Claim) -> bool:
        """Store that the calls of this turn's answer are begun. False if another run began them, or continued from
        there."""
        ...

    async def leave_calls(self, claim: Claim) -> None:
        """Store that this run is over. Its calls without results still count as begun."""
        ...

    async def end_calls(self, claim: Claim) -> None:
        """Store that no begun call of this run is left."""
        ...

    async def calls_begun(self) -> BegunCalls:
        """The turn whose calls were begun, and whether that run is active."""
        ...

    def begin(self, stop: Stop) -> None:
        """Take the lock of the thread, which has one answer at a time: see `AnswerLock`."""
        ...

    def end(self) -> None: ...

    async def close(self) -> None: ...


class AnswerLock:
    """Allows one answer at a time: locked by `begin`, unlocked by `end`."""

    _stop: Stop | None = None

    def begin(self, stop: Stop) -> None:
        """Begin an answer, which `stop` ends. Raises RequestInvalid while there is another one."""
        if self._stop is not None:
            raise RequestInvalid("an answer is under way: wait until it ends, or stop it")
        self._stop = stop

    def end(self) -> None:
        """The answer is over: another one may begin."""
        self._stop = None

    async def close(self) -> None:
        """Stop an answer that is under way. Its finished blocks are stored."""
        if self._stop is not None:
            await self._stop()
