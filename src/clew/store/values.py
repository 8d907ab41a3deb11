"""What goes into the store and comes out of it, apart from recordings (`clew.model.recording`).

Plain frozen values. Times are seconds since the epoch and always come in as arguments: the store has no clock of its own, so
that tests and imports can write any day they like.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import Struct

from clew.model.change import Change
from clew.model.recording import Recording

__all__ = [
    "Bodies",
    "Branch",
    "DayAnswers",
    "DaySpent",
    "Days",
    "Deletions",
    "Exchange",
    "Fault",
    "Heads",
    "Health",
    "Hit",
    "Kind",
    "Outcome",
    "Passage",
    "Retention",
    "Spent",
    "Statistics",
    "StoreSize",
    "Thread",
    "Try",
    "Turn",
    "Usage",
]

Outcome: TypeAlias = Literal["whole", "cut", "refused", "failed", "open"]
"""How an exchange ended: with the end event; broken off by client or network; refused by the backend; never answered. One
that is `open` is under way: a process hears it. If that died, it was broken off."""

Kind: TypeAlias = Literal["messages", "count_tokens", "title", "forgotten"]
"""What was asked for: an answer, only its count, or a title for a client's list of conversations. The last two are exchanges
like any other, but no turns of a thread. One that is `forgotten` was a turn, and its thread was deleted while it was
answered: what befell it is kept, and no word of it."""


DAY = 86_400.0


class Usage(Struct, frozen=True, kw_only=True):
    """Tokens of one model call. `estimated`: the final count never came, this is the last one that was seen."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_written: int = 0
    estimated: bool = False
    thinking: int | None = None
    """Of the output, what was thought; None where nobody reported it."""


class Try(Struct, frozen=True, kw_only=True):
    """One call to a backend for an exchange: how it answered, after how long, and why it was not the last ("" if it was)."""

    backend: str
    status: int = 0
    """What the backend answered; 0 if it did not."""
    seconds: float = 0.0
    why: str = ""


class Exchange(Struct, frozen=True, kw_only=True):
    """One client request and all that befell it. Holds no words of the conversation."""

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
    usage: Usage | None = None
    kind: Kind = "messages"
    streamed: bool = False
    stop_reason: str = ""
    request_id: str = ""
    """The backend's own name for the call, by which its makers can be asked about it."""
    heals: int = 0
    kept: int = 0
    """Thinking blocks that went to the backend as the client sent them. What became of the others, the changes say."""
    tries: tuple[Try, ...] = ()
    betas: tuple[str, ...] = ()
    """The values of the client's `anthropic-beta` header. Who continues its thread must send them too."""


class Heads(Struct, frozen=True, kw_only=True):
    """Headers, without credentials: of the client's request, of the last one that went out, of the answer to it.

    `target` is that request's first line, `status` the answer's; 0 if there was none.
    """

    asked: tuple[tuple[str, str], ...] = ()
    sent: tuple[tuple[str, str], ...] = ()
    answered: tuple[tuple[str, str], ...] = ()
    target: str = ""
    status: int = 0


class Bodies(Struct, frozen=True, kw_only=True):
    """The whole of an exchange as bytes, for people to look at: what the client asked, what went out, what came back.

    `times` are some moments of a stream: how many bytes of it were here, so many seconds after the request.
    """

    asked: bytes = b""
    sent: bytes = b""
    answered: bytes = b""
    heads: Heads = Heads()
    times: tuple[tuple[int, float], ...] = ()


class Turn(Struct, frozen=True, kw_only=True):
    """One model call, committed as one: the exchange, its answer if there was one, and what was asked.

    `asked` are the new messages of the client since the answer before, as JSON bytes; `title` names a new thread; `bodies`
    are kept after the commit and not for long. All three are for people to read, and are not kept where `content` is false.
    """

    exchange: Exchange
    recording: Recording | None = None
    asked: tuple[bytes, ...] = ()
    title: str = ""
    bodies: Bodies | None = None
    created: float | None = None
    """When its thread began, if not with this turn: the first ones of a thread that is imported may be forgotten."""


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
    """A stretch of a thread's tree: exchanges of which each followed the one before, oldest first.

    `after` is the exchange that it goes on from, "" for a beginning. A sub-agent's stretch is of another thread.
    """

    thread: str
    agent: str
    after: str
    exchanges: tuple[str, ...]
    began: float
    ended: float


class Hit(Struct, frozen=True, kw_only=True):
    """A turn in which words were found; or a thread whose title has them, and then `exchange` is "".

    `snippet` is the text around them, on one line; `marks` are where in it they begin and end.
    """

    thread: str
    title: str
    at: float
    exchange: str = ""
    snippet: str = ""
    marks: tuple[tuple[int, int], ...] = ()


class Spent(Struct, frozen=True, kw_only=True):
    """Usage added up for one backend and model."""

    backend: str
    model: str
    calls: int
    usage: Usage


class DaySpent(Struct, frozen=True, kw_only=True):
    """Usage of one local day (`2026-11-16`), backend and model. Calls of very different prompts are apart, for the price."""

    day: str
    backend: str
    model: str
    calls: int
    usage: Usage


class DayAnswers(Struct, frozen=True, kw_only=True):
    """How a day's requests to one backend and model went: how many, how many to their end, how many of those with thinking.

    `first_byte` and `seconds` are how long each took to the first content, and to its end; sorted.
    """

    day: str
    backend: str
    model: str
    asked: int
    whole: int
    thought: int
    first_byte: tuple[float, ...]
    seconds: tuple[float, ...]


class Days(Struct, frozen=True, kw_only=True):
    """What was used, and how it went. Usage is kept for longer than the rest."""

    spent: tuple[DaySpent, ...] = ()
    answers: tuple[DayAnswers, ...] = ()


class Statistics(Struct, frozen=True, kw_only=True):
    """Thinking blocks of one principal.

    `total` is the sum of the next two, and of the two after. A *session* is what the present backend made: there is no
    proxy-wide counter here (law 7). `dormant` blocks of the total were in no request for a while, and are still valid when
    they return; `unknown` ones came in requests and nobody recorded them, so they are not part of the total.
    """

    total: int = 0
    confirmed: int = 0
    unconfirmed: int = 0
    current_session: int = 0
    old_session: int = 0
    dormant: int = 0
    unknown: int = 0


class Retention(Struct, frozen=True, kw_only=True):
    """What may stay. `age` counts from the last use; None is no limit. Usage has its own age: it holds no words."""

    age: float | None = 90 * DAY
    bytes: int | None = 2 << 30
    usage_age: float | None = 400 * DAY


class Health(Struct, frozen=True, kw_only=True):
    """Whether the store writes: "ok"; "degraded" after a failure that may pass; "read-only" after one that may not.

    `why` says what failed; `warning` what will fail if it goes on so.
    """

    state: Literal["ok", "degraded", "read-only"] = "ok"
    why: str = ""
    warning: str = ""
    waiting: int = 0
    wal_bytes: int = 0
    skipped: int = 0
    """Bodies that were not kept: too many waited, or one could not be compressed or written."""


class StoreSize(Struct, frozen=True, kw_only=True):
    """Bytes of what is kept; and of what is committed and not yet there, where a store has such a log."""

    bytes: int = 0
    log_bytes: int = 0


class Deletions(Struct, frozen=True, array_like=True):
    """How many threads were deleted of late, and when the last one was: others after each."""

    count: int
    last: float


class Fault(Struct, frozen=True):
    """Something that `verify` found: which record ("" for the file) and what is wrong with it."""

    record: str
    what: str
