"""What goes into a store and comes out of it, apart from recordings (`clew.model.recording`) and counts (`reports`).

Plain frozen values. Times are seconds since the epoch. They always come in as arguments: a store has no clock of its own, so
that tests and imports can write any date.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple, TypeAlias

from msgspec import Struct

from clew.errors import StoreError
from clew.model.change import Change
from clew.model.recording import Recording

Outcome: TypeAlias = Literal["whole", "cut", "refused", "failed", "open"]
"""How an exchange ended: with the end event; broken off by client or network; refused by the backend; never answered. An
`open` exchange is under way in some process. If that process died, the exchange was broken off."""

Kind: TypeAlias = Literal["messages", "count_tokens", "title", "forgotten"]
"""What was asked for: an answer, only its token count, or a title for a client's list of conversations. Counts and titles
are exchanges, but no turns of a thread. A `forgotten` exchange was a turn whose thread was deleted while it was answered:
what happened is kept, but none of its text."""


class TokenUsage(Struct, frozen=True, kw_only=True):
    """Tokens of one model call. `estimated`: the final count never came, this is the last one that was seen."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_written: int = 0
    estimated: bool = False
    thinking: int | None = None
    """The part of the output that was thinking; None where the backend did not report it."""

    @property
    def prompt(self) -> int:
        """All tokens of the prompt, whether they came from the cache or not."""
        return self.input + self.cache_read + self.cache_written


class Try(Struct, frozen=True, kw_only=True):
    """One call to a backend for an exchange: how it answered, after how long, and why it was not the last ("" if it was)."""

    backend: str
    status: int = 0
    """The status that the backend answered; 0 without an answer."""
    seconds: float = 0.0
    why: str = ""


class Exchange(Struct, frozen=True, kw_only=True):
    """One client request and everything that happened to it. Holds no text of the conversation."""

    id: str
    principal: str
    thread: str
    started: float
    ended: float
    asked_model: str
    backend: str
    model: str
    session: str = ""
    agent: str = ""
    outcome: Outcome = "whole"
    status: int = 200
    first_byte: float | None = None
    """Seconds from the request to the first byte of content; None if there never was one."""
    attempts: int = 1
    changes: tuple[Change, ...] = ()
    usage: TokenUsage | None = None
    kind: Kind = "messages"
    streamed: bool = False
    stop_reason: str = ""
    request_id: str = ""
    """The backend's own name for the call. Its vendor can be asked about the call by this name."""
    heals: int = 0
    kept: int = 0
    """Thinking blocks that went to the backend as the client sent them. The changes tell about all other blocks."""
    tries: tuple[Try, ...] = ()
    betas: tuple[str, ...] = ()
    """The values of the client's `anthropic-beta` header. A request that continues the thread must send them too."""


class Heads(Struct, frozen=True, kw_only=True):
    """Headers, without credentials: of the client's request, of the last request to the backend, of the answer to it.

    `target` is the request line of the request to the backend, `status` the answer's status; 0 if there was none.
    """

    asked: tuple[tuple[str, str], ...] = ()
    sent: tuple[tuple[str, str], ...] = ()
    answered: tuple[tuple[str, str], ...] = ()
    target: str = ""
    status: int = 0


class Bodies(Struct, frozen=True, kw_only=True):
    """The whole of an exchange as bytes, for people to look at: the client's request, the request that went to the backend,
    and the answer.

    `times` are some moments of a streamed answer: how many bytes had arrived, so many seconds after the request.
    """

    asked: bytes = b""
    sent: bytes = b""
    answered: bytes = b""
    heads: Heads = Heads()
    times: tuple[tuple[int, float], ...] = ()


class TurnRecord(Struct, frozen=True, kw_only=True):
    """One model call, committed as a whole: the exchange, its answer if there was one, and the question.

    `asked` are the client's new messages since the previous answer, as JSON bytes; `title` names a new thread; `bodies` are
    written after the commit and kept only for a while. These three are for people to read, and are not kept where the
    setting `content` is false.
    """

    exchange: Exchange
    recording: Recording | None = None
    asked: tuple[bytes, ...] = ()
    title: str = ""
    bodies: Bodies | None = None
    created: float | None = None
    """When the thread began, if not with this turn: an imported thread may have lost its first turns."""


class Passage(Struct, frozen=True, kw_only=True):
    """One turn of a thread as it was said: the question, and the answer if it is (still) recorded."""

    exchange: str
    at: float
    asked: tuple[bytes, ...]
    recording: Recording | None


class Thread(Struct, frozen=True, kw_only=True):
    """A conversation. `pin` is the backend that it stays with, "" for none."""

    id: str
    principal: str
    session: str
    agent: str
    title: str
    pin: str
    created: float
    used: float
    turns: int


class Branch(Struct, frozen=True, kw_only=True):
    """A part of a thread's tree without forks: exchanges of which each followed the one before, oldest first.

    `after` is the exchange that the branch continues, "" for a beginning. A sub-agent's branch is of another thread.
    """

    thread: str
    agent: str
    after: str
    exchanges: tuple[str, ...]
    began: float
    ended: float


class Hit(Struct, frozen=True, kw_only=True):
    """A turn in which words were found; or a thread whose title has them, and then `exchange` is "".

    `snippet` is the text around the words, on one line; `marks` say where in it each of them begins and ends.
    """

    thread: str
    title: str
    at: float
    exchange: str = ""
    snippet: str = ""
    marks: tuple[tuple[int, int], ...] = ()


class Lookup(Struct, frozen=True, kw_only=True):
    """What a request wants to know from a store, about one principal.

    Recordings by block key, tool id, place and id, and the recordings that these followed or came after, at most `links` in
    a row; the thread with this session and agent, where a session is given; and the pin of `thread`.
    """

    principal: str
    keys: tuple[bytes, ...] = ()
    tools: tuple[str, ...] = ()
    places: tuple[bytes, ...] = ()
    ids: tuple[str, ...] = ()
    links: int = 0
    session: str = ""
    agent: str = ""
    thread: str = ""


class LookupResult(Struct, frozen=True, kw_only=True):
    """The recordings in the order in which they were made; the thread of the session, "" for none; the pin of each thread
    that is named here, "" for none, as far as it can be read.

    A record that cannot be read counts as never recorded: it costs its own thinking, not that of the conversation around it.
    """

    recordings: tuple[Recording, ...] = ()
    thread: str = ""
    pins: Mapping[str, str] = {}
    failure: StoreError | None = None
    """Why a recording could not be read: the first failure."""
    thread_failure: StoreError | None = None
    """Why the thread, or a pin, could not be read."""
    has_pins: bool = False
    """Whether some thread of this principal has a pin, or may have one. Only filled in where something could not be read."""

    @property
    def is_whole(self) -> bool:
        return self.failure is None and self.thread_failure is None


class RunClaim(NamedTuple):
    """A run of an agent wants to run the tool calls of a turn's answer. Of several runs, exactly one gets them."""

    principal: str
    thread: str
    turn: str
    run: str
    was: str = ""
    """The run that began these calls before and, as far as the claimant knows, is not there any more."""
    followers: int | None = 0
    """How many turns the claimant knows to follow this one; None: neither that nor an earlier owner matters."""


class CallOwner(NamedTuple):
    """The turn whose calls were begun, by which run, and in which process; "" for what is not known, or is not there."""

    turn: str = ""
    run: str = ""
    process: str = ""
