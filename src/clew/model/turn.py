"""What is kept of an exchange: the turn, as the engine hands it to a store.

Plain frozen values without text of the conversation, but for `asked`, `title` and `bodies` of a turn. Times are seconds
since the epoch.
"""

from __future__ import annotations

from typing import Final, Literal, NamedTuple, TypeAlias

from msgspec import Struct

from clew.errors import StoreError
from clew.model.change import Change
from clew.model.recording import Recording

Outcome: TypeAlias = Literal["whole", "cut", "refused", "failed", "open"]
"""How an exchange ended: with the end event; broken off by client or network; refused by the backend; never answered. An
`open` exchange is under way in some process. If that process died, the exchange was broken off."""

Kind: TypeAlias = Literal["messages", "count_tokens", "title", "compact", "forgotten"]
"""What was asked for: an answer, only its token count, a title for a client's list of conversations, or a summary in place
of a history. Counts, titles and summaries are exchanges, but no turns of a thread. A `forgotten` exchange was a turn whose
thread was deleted while it was answered: what happened is kept, but none of its text."""


class TokenUsage(Struct, frozen=True, kw_only=True):
    """Tokens of one model call. `estimated`: the final count never came. This is the last one that was seen, with an
    estimate of the output where the backend counted none."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_written: int = 0
    estimated: bool = False
    thinking: int | None = None
    """The part of the output that was thinking; None where the backend did not report it."""
    micro_usd: int | None = None
    """What it cost by the list price, in millionths of a dollar. Only worked out where a limit on money holds."""

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


API_NAMES: Final = {
    "anthropic": "Messages",
    "openai-chat": "Chat Completions",
    "openai-responses": "Responses",
    "events": "clew's chat or library",
}
"""What vendors call the API of each dialect, for people to read. Chat, `clew ask` and programs with the library use none."""


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
    dialect: str = "anthropic"
    """What the client speaks."""
    client: str = ""
    """The program that asked, by its `user-agent`; "" where that says nothing, and for clew's own chat and the library."""
    key: str = ""
    """The name of the key that the client showed; "" for the gateway's own. It is kept with the usage,"""
    team: str = ""
    """and so is the team of that key."""

    @property
    def client_api(self) -> str:
        """The same as people call it."""
        return API_NAMES.get(self.dialect, self.dialect)


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


class NativeTurn(Struct, frozen=True, kw_only=True):
    """A turn in its client's own dialect, for clients that name an answer by its id instead of sending it back.

    A client may send its whole history with every turn. A store keeps only what is new: the first `before` of the items are
    those of the exchange `follows` and its answer, if that exchange was kept with the digest `before_digest`. Otherwise the
    client has changed its history, and all items are kept.
    """

    items: tuple[bytes, ...]
    """All of the client's input, in order."""
    answer: bytes
    """The whole answer as the client got it."""
    follows: str = ""
    before: int = 0
    before_digest: bytes = b""
    digest: bytes = b""
    """Of all items and the fact that an answer followed them."""


class Charge(NamedTuple):
    """What a turn adds to one window of a limit: whose (`key:anna`), how long it is, when it began, and how much."""

    scope: str
    seconds: int
    start: int
    micro_usd: int
    tokens: int
    requests: int


class TurnRecord(Struct, frozen=True, kw_only=True):
    """One model call, committed as a whole: the exchange, its answer if there was one, and the question.

    `asked` are the client's new messages since the previous answer, as JSON bytes; `title` names a new thread; `bodies` are
    written after the commit and kept only for a while. These three are for people to read, and are not kept where the
    setting `content` is false. `native` is kept for clients that name it, and neither is it kept there.
    """

    exchange: Exchange
    recording: Recording | None = None
    asked: tuple[bytes, ...] = ()
    title: str = ""
    bodies: Bodies | None = None
    native: NativeTurn | None = None
    created: float | None = None
    """When the thread began, if not with this turn: an imported thread may have lost its first turns."""
    charges: tuple[Charge, ...] = ()
    """What is added to the sums of limits when the turn is kept."""


Recorded: TypeAlias = Literal["shared", "local", "no"]
"""Where a turn is recorded: with all gateways, on this machine alone, or nowhere."""


class CommitResult(Struct, frozen=True):
    """Where a turn is recorded; and why it is not."""

    recorded: Recorded
    problem: StoreError | None = None
    waits: bool = False
    """It is on this machine until the shared store takes it."""
