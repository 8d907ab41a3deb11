"""Commands: what an exchange asks of the world around it.

An exchange (`exchange`) is a coroutine without a loop: it awaits commands, and its driver carries each one out and
sends the result back in, or throws what went wrong. So everything that waits, reads or writes stands in one place
(`driver`), and a test can play the world by hand, on a clock of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import TYPE_CHECKING, Generic, TypeVar

from clew.errors import ClewError, StoreError
from clew.model.http import ResponseHead
from clew.pipeline.stream.answer_stream import AnswerStream

if TYPE_CHECKING:
    from clew.engine.route import BackendRoute
    from clew.engine.streamed import StreamedAnswer
    from clew.model.json import JsonObject
    from clew.model.recording import Recording
    from clew.model.request import Request
    from clew.model.turn import Exchange, TurnRecord
    from clew.pipeline.attempts import CoolDowns


T = TypeVar("T")


class ClientGone(Exception):
    """Thrown into an exchange: nobody is there any more to be answered."""


class ServerEnds(Exception):
    """Thrown into an exchange: the client is there, and the server cannot wait for the rest of the answer."""


class EngineCommand(Generic[T]):
    """Awaited by an exchange; its driver sends the result."""

    __slots__ = ()

    def __await__(self) -> Generator[EngineCommand[T], T, T]:
        return (yield self)


class Compute(EngineCommand[T]):
    """Work on so many bytes: at once if they are few, else in a thread."""

    __slots__ = ("size", "work")

    def __init__(self, size: int, work: Callable[[], T]) -> None:
        self.size = size
        self.work = work


class GiveWay(EngineCommand[None]):
    """Let everybody else have a turn."""

    __slots__ = ()


class Sleep(EngineCommand[None]):
    __slots__ = ("seconds",)

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds


# The backend.


class Ask(EngineCommand[ResponseHead]):
    """Send a request, and wait for the head of its answer. Raises BackendError."""

    __slots__ = ("body", "going", "route")

    def __init__(self, route: BackendRoute, going: Request, body: bytes) -> None:
        self.route = route
        self.going = going
        self.body = body


class Peek(EngineCommand[bytes]):
    """The beginning of the body, up to the read that brings more than white space, or so many bytes of that. It is still to
    be taken. `within`: seconds from the head on. Raises BackendError."""

    __slots__ = ("most", "within")

    def __init__(self, most: int, within: float | None) -> None:
        self.most = most
        self.within = within


class Take(EngineCommand[bytes]):
    """What came of the body since the last; b"" at its end. `within`: seconds from the head on. Raises BackendError."""

    __slots__ = ("within",)

    def __init__(self, within: float | None = None) -> None:
        self.within = within


class ReadBody(EngineCommand[bytes]):
    """The rest of the body, if it has no more bytes than that. Raises BackendError."""

    __slots__ = ("most",)

    def __init__(self, most: int) -> None:
        self.most = most


class Expect(EngineCommand[None]):
    """A streamed answer comes: what of it a seal refers to is kept before that seal goes out."""

    __slots__ = ("stream",)

    def __init__(self, stream: StreamedAnswer) -> None:
        self.stream = stream


class PassOn(EngineCommand[None]):
    """The rest of a stream to the client, read by read, to the end of the body; behind the end of the answer that is waited
    for a moment only. `hides`: not all that comes can be shown. Raises BackendError, StreamIllegal."""

    __slots__ = ("answer", "hides")

    def __init__(self, answer: AnswerStream, *, hides: bool) -> None:
        self.answer = answer
        self.hides = hides


class LetGo(EngineCommand[None]):
    """The backend is done, or no longer wanted: its connection is kept if the answer was read to its end, else closed."""

    __slots__ = ()


# The client.


class Push(EngineCommand[None]):
    """Whole events of a streamed answer, which begins with the first of them."""

    __slots__ = ("data",)

    def __init__(self, data: bytes) -> None:
        self.data = data


class Finish(EngineCommand[None]):
    """The last events of a streamed answer, and its end."""

    __slots__ = ("data",)

    def __init__(self, data: bytes) -> None:
        self.data = data


class SendWhole(EngineCommand[None]):
    """An answer in one piece."""

    __slots__ = ("body", "headers")

    def __init__(self, headers: Sequence[tuple[str, str]], body: bytes) -> None:
        self.headers = headers
        self.body = body


class Refuse(EngineCommand[None]):
    """Tell a failure: as a response, or as the last event of a stream that has begun."""

    __slots__ = ("failure",)

    def __init__(self, failure: ClewError) -> None:
        self.failure = failure


# The store.


class Commit(EngineCommand["StoreError | None"]):
    """Keep a turn: done once the store has it, or cannot have it in time, and then why (law 8)."""

    __slots__ = ("turn",)

    def __init__(self, turn: TurnRecord) -> None:
        self.turn = turn


class Keep(EngineCommand[None]):
    """Keep a turn that nobody waits for."""

    __slots__ = ("turn",)

    def __init__(self, turn: TurnRecord) -> None:
        self.turn = turn


# What others hear of it.


class ReportExchange(EngineCommand[None]):
    """The exchange is over: for the log, the feed, the metrics, and a caller that keeps its own conversation."""

    __slots__ = ("exchange", "problem", "recording", "was_kept")

    def __init__(
        self,
        exchange: Exchange,
        recording: Recording | None,
        problem: StoreError | None = None,
        *,
        was_kept: bool = False,
    ) -> None:
        """`problem`: why the store does not have its turn. `was_kept`: its end waited for the store."""
        self.exchange = exchange
        self.recording = recording
        self.problem = problem
        self.was_kept = was_kept


class CoolDown(EngineCommand[None]):
    """What was learnt about backends that should be left alone for a while."""

    __slots__ = ("cooled",)

    def __init__(self, cooled: CoolDowns) -> None:
        self.cooled = cooled


class LearnTokens(EngineCommand[None]):
    """How many tokens a request of so many bytes had, as the backend counted them."""

    __slots__ = ("going", "route", "size", "usage")

    def __init__(self, route: BackendRoute, size: int, usage: JsonObject, going: Request) -> None:
        self.route = route
        self.size = size
        self.usage = usage
        self.going = going
