"""Commands: what an exchange asks of the world around it.

An exchange (`machine`) is a coroutine without a loop: it awaits commands, and its driver carries each one out and sends the
result back in, or throws what went wrong. So everything that waits, reads or writes stands outside, and a test can play the
world by hand, on a clock of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from msgspec import Struct

from clew.errors import ClewError, StoreError
from clew.model.http import ResponseHead, Timeouts
from clew.model.turn import CommitResult
from clew.pipeline.stream.answer_stream import AnswerStream
from clew.thinking.registry.table import Filtered

if TYPE_CHECKING:
    from clew.exchange.heads import OutgoingHead
    from clew.exchange.inputs import BackendRoute
    from clew.exchange.streamed import StreamedAnswer
    from clew.model.change import Change
    from clew.model.json import JsonObject
    from clew.model.recording import Recording
    from clew.model.request import Request, RequestMessage
    from clew.model.turn import Exchange, TurnRecord
    from clew.pipeline.attempts import Candidate, CoolDowns


T = TypeVar("T")

LARGE: Final = 128 * 1024
"""Bytes of a request or an answer above which it is worked on in a thread: below, the way there costs more than the work."""


class ClientGone(Exception):
    """Thrown into an exchange: nobody is there any more to be answered."""


class ServerEnds(Exception):
    """Thrown into an exchange: the client is there, and the server cannot wait for the rest of the answer."""


class ExchangeCommand(Struct, Generic[T], eq=False):
    """Awaited by an exchange; its driver sends the result."""

    def __await__(self) -> Generator[ExchangeCommand[T], T, T]:
        return (yield self)


class Compute(ExchangeCommand[T]):
    """Work on so many bytes: at once if they are few, else the driver does it in a thread."""

    size: int
    work: Callable[[], T]

    @property
    def is_large(self) -> bool:
        return self.size > LARGE

    def __await__(self) -> Generator[ExchangeCommand[T], T, T]:
        return (yield self) if self.size > LARGE else self.work()


class GiveWay(ExchangeCommand[None]):
    """Let everybody else have a turn."""


class Sleep(ExchangeCommand[None]):
    seconds: float


class Reserve(ExchangeCommand[None]):
    """Let the call in, as far as limits hold for it, before the first backend is asked. Raises UsageLimitReached."""

    routes: Sequence[BackendRoute]
    input: int
    """About how many tokens it has; only known where a hard limit holds for somebody."""
    most_output: int
    """As many tokens as the client wants at most; 0 if it does not say."""
    dearer: str = ""
    """The field because of which it may cost more than its model does; only known where a hard limit holds for somebody."""


class TakeSlot(ExchangeCommand[None]):
    """Wait until it is this call's turn: at its backend, if one is given, else among the calls of its caller. Raises
    BackendOverloaded, UsageLimitReached."""

    route: BackendRoute | None = None


# The backend.


class Ask(ExchangeCommand[ResponseHead]):
    """Send a request, and wait for the head of its answer. Raises BackendError."""

    route: BackendRoute
    head: OutgoingHead
    body: bytes
    timeouts: Timeouts


class Take(ExchangeCommand[bytes]):
    """What came of the body since the last; b"" at its end. `within`: seconds from the head on. Raises BackendError."""

    within: float | None = None


class ReadBody(ExchangeCommand[bytes]):
    """All of the body, which has `begun` so, if it has no more bytes than that. Raises BackendError."""

    most: int
    begun: bytes = b""


class Expect(ExchangeCommand[None]):
    """A streamed answer comes: what of it a seal refers to is kept before that seal goes out."""

    stream: StreamedAnswer


class PassOn(ExchangeCommand[None]):
    """The rest of a stream to the client, read by read, to the end of the body; behind the end of the answer that is waited
    for a moment only. `hides`: not all that comes can be shown. Raises BackendError, StreamIllegal."""

    answer: AnswerStream
    hides: bool


class LetGo(ExchangeCommand[None]):
    """The backend is done, or no longer wanted: its connection is kept if the answer was read to its end, else closed."""


# The client.


class Push(ExchangeCommand[None]):
    """Whole events of a streamed answer, which begins with the first of them. `headers`: of the answer, with the first."""

    data: bytes
    headers: Sequence[tuple[str, str]] = ()


class Finish(ExchangeCommand[None]):
    """The last events of a streamed answer, and its end."""

    data: bytes


class SendWhole(ExchangeCommand[None]):
    """An answer in one piece."""

    headers: Sequence[tuple[str, str]]
    body: bytes


class Refuse(ExchangeCommand[None]):
    """Tell a failure: as a response, or as the last event of a stream that has begun."""

    failure: ClewError


# The store.


class Commit(ExchangeCommand[CommitResult]):
    """Keep a turn: done once the store has it, or cannot have it in time (law 8)."""

    turn: TurnRecord


class Keep(ExchangeCommand[None]):
    """Keep a turn that nobody waits for."""

    turn: TurnRecord


# What others hear of it.


class ReportExchange(ExchangeCommand[None]):
    """The exchange is over: for the log, the feed, the metrics, and a caller that keeps its own conversation."""

    exchange: Exchange
    recording: Recording | None
    problem: StoreError | None = None
    """Why the store does not have its turn."""
    waits: bool = False
    """Its turn is on this machine until the shared store takes it."""
    in_use: Sequence[RequestMessage] = ()
    """The thinking blocks in these messages are in use: the store keeps them for longer."""


class CoolDown(ExchangeCommand[None]):
    """What was learnt about backends that should be left alone for a while."""

    cooled: CoolDowns


class TokenRate(Struct, frozen=True):
    """How token counts of one backend's model compare with sizes and estimates, as its answers told."""

    per_byte: float
    """Tokens in a byte of a request."""
    factor: float = 1.0
    """What an estimate is multiplied by."""

    def about(self, size: int) -> int:
        """How many tokens a request of so many bytes has."""
        return round(size * self.per_byte)

    def corrected(self, estimated: int) -> int:
        """The estimate as it is told."""
        return max(1, round(estimated * self.factor))


class LookUpTokenRate(ExchangeCommand[TokenRate]):
    """What is known of the token counts of this backend and model."""

    route: BackendRoute


class LearnTokens(ExchangeCommand[None]):
    """How many tokens a request of so many bytes had, as the backend counted them."""

    route: BackendRoute
    size: int
    usage: JsonObject
    going: Request


class LearnRepairs(ExchangeCommand[None]):
    """A request that was repaired in these ways was answered; they hold for the account."""

    account: Candidate
    names: tuple[str, ...]


class FilterBySession(ExchangeCommand[Filtered]):
    """Under the session policy: which thinking of the request goes to this backend."""

    backend: str


class RegisterBlocks(ExchangeCommand[None]):
    """Under the session policy: the blocks that an answer brought. They belong to the session of its request."""

    blocks: Sequence[JsonObject]
    session: int
    cut: Sequence[JsonObject] = ()
    """Those of which the end did not come: known, and never sent on."""


class DrawJitter(ExchangeCommand[Sequence[float]]):
    """So many random numbers from 0 up to 1."""

    count: int


class ReportAnswering(ExchangeCommand[None]):
    """For a caller that keeps its own conversation: this backend answers, with this model. Its first content is here."""

    backend: str
    model: str


class LogBody(ExchangeCommand[None]):
    """A body as it went or came, for the log."""

    which: str
    raw: bytes


class LogDecisions(ExchangeCommand[None]):
    """What the projection did, for the log, with the paths of the thinking blocks that went as they came."""

    changes: Sequence[Change]
    kept: Sequence[str]
