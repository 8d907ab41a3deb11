"""The one shape of a dialect: what each folder beside this file gives, for both roles.

A dialect is a wire protocol. As a *front* it is spoken with clients: it reads requests and writes answers. As a *back* it is
spoken with backends: it writes requests and reads answers. Between the two are the values of `model`: `Request`, messages,
events, `Failure`. A dialect knows nothing of another one, so n dialects are n folders and no pairs.

What differs between two backends of one dialect is that dialect's own `options`, a value that a backend's row fills in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, Generic, Literal, NamedTuple, Protocol, TypeAlias, TypeVar

from msgspec import Struct, field

from clew.dialects.optional import PassedDeltas, Passthrough, StoredTurns
from clew.model.change import Change
from clew.model.events import Event, StreamFailed
from clew.model.failure import Failure
from clew.model.http import NO_WAIT, Wait
from clew.model.json import JsonObject
from clew.model.request import NativeRequest, Request, Wanted

Options = TypeVar("Options")

Operation: TypeAlias = Literal["messages", "count_tokens", "compact", "stored"]
"""What a client asks for: an answer, how many tokens its request has, a summary in place of its history; or an answer that
the store has, to be read or deleted. Backends are asked for the first two alone."""

OPERATION_METHODS: Final[Mapping[Operation, tuple[str, ...]]] = {
    "messages": ("POST",),
    "count_tokens": ("POST",),
    "compact": ("POST",),
    "stored": ("GET", "DELETE"),
}
"""The methods of HTTP with which it is asked."""

ClientHeaders: TypeAlias = Mapping[str, str]
"""A client's headers: names in lower case, values of repeated ones joined."""

BackendHeaders: TypeAlias = Sequence[tuple[bytes, bytes]]
"""A backend's headers as they came."""


class WrittenRequest(NamedTuple):
    """A request in a backend's dialect, and what had to be altered or left out to say it there."""

    body: bytes
    changes: tuple[Change, ...] = ()


class SentEvents:
    """What was written of a streamed answer so far, by all attempts to answer a request."""

    __slots__ = ("count", "has_end")

    def __init__(self) -> None:
        self.count = 0
        """How many events, in dialects that number them."""
        self.has_end = False
        """Nothing may be written behind it."""


class AnswerContext(Struct, frozen=True, kw_only=True, eq=False):
    """What reading or writing an answer must know of the request that it answers."""

    model: str
    """The name that the client asked for. Claude Code drops thinking of a model that it did not ask for."""
    message_id: str = "msg_0"
    """Unique. Ids that a dialect needs, and the other side did not give, are made from it."""
    created: int = 0
    """The time of the request in whole seconds since 1970, for dialects that say it."""
    input_tokens: int = 0
    """About how many tokens the request has: a stream says so before anybody has counted."""
    document: bytes = b""
    """The canonical request document, for what a dialect's reader needs of it: stop sequences, names of tools."""
    unsaid: Callable[[str], object] = str
    """Called with every kind of part that the client does not get."""
    report: Callable[[Change], object] = str
    """Called with every alteration of the answer."""
    own_ids: bool = True
    """Tool calls keep the backend's ids; the gateway makes them safe later."""
    eager: bool = False
    """The answer begins at once, with an empty text block."""
    sent: SentEvents = field(default_factory=SentEvents)
    """What the client has of the stream so far. All attempts to answer a request share it."""
    native: NativeRequest | None = None
    """The client's request as it came, where its dialect is not the canonical one."""
    operation: Operation = "messages"
    """What the client asks for."""


class ClientSession(NamedTuple):
    """Which conversation of which client a request belongs to, as its headers say; "" for what they do not."""

    session: str = ""
    agent: str = ""
    request_class: str = ""


class BackendRefusal(Struct, frozen=True, eq=False):
    """A backend's error in canonical words: the error document of the Messages API, which every front reads."""

    status: int
    body: bytes
    wait: Wait = NO_WAIT
    is_canonical: bool = False
    """The words are clew's: an error type and a message that clients know."""


class StreamReader(Protocol):
    """Reads one streamed answer of a backend. What it tells does not depend on where the bytes were cut, but for one thing:
    texts of one block that come in one read may be one delta."""

    @property
    def late(self) -> JsonObject | None:
        """A thinking block that came too late for the client, and that its maker needs back."""
        ...

    def begin(self) -> Iterable[Event]:
        """The events that go out before the backend has said anything; none unless the context says `eager`."""
        ...

    def feed(self, data: bytes) -> Iterable[Event]:
        """The events that these bytes complete, to be read to their end. Raises StreamIllegal, SseTooLarge, after all events
        that came before."""
        ...

    def flush(self) -> Iterable[Event]:
        """The events that the end of the bytes completes: a `StreamFailed` if the answer was not whole."""
        ...


class StreamWriter(Protocol):
    """Writes one streamed answer for a client. It cannot write an illegal stream: it raises StreamIllegal instead.

    Each attempt to answer has a writer of its own, and so have keep-alives and the failures that clew itself tells. A
    dialect that numbers its events, or must say something first, notes in the context what was written
    (`AnswerContext.sent`), and writes nothing before the first content, a failure or a keep-alive.
    """

    def write(self, event: Event) -> bytes:
        """The bytes for this event; none where the dialect says nothing for it."""
        ...

    def keep_alive(self) -> bytes:
        """What shows a silent client that the answer is still coming, with what must come before it, if that was not written
        yet; nothing once the end is written."""
        ...


class BackendFacts(Struct, frozen=True, kw_only=True, eq=False):
    """What the row of a backend says that a dialect may need for its options."""

    is_first_party: bool = False
    """It is one of Anthropic's hosts."""
    betas: bool = True
    overlaps: bool = False
    tables: Mapping[str, object] = {}
    """Tables of the row that one dialect alone reads, by their names."""


class RequestRepair(NamedTuple):
    """A weaker form of a request, after the backend refused it."""

    name: str
    options: object
    what: str
    """What is altered, as a `Change` names it: "replaced" or "healed"."""
    path: str
    why: str


class RequestRepairs(Protocol):
    """How a dialect writes a refused request again, in a weaker form."""

    lasting: Sequence[str]
    """Names of repairs that hold for the rest of the conversation,"""
    loop_long: Sequence[str]
    """of those that hold until the tool loop is over,"""
    account_long: Sequence[str]
    """and of those that hold for every conversation of the account."""
    reducing: str
    """The repair after which thoughts went without what only their maker can read (`model.payload`)."""

    def repair(self, options: object, status: int, words: str, tried: Sequence[str]) -> RequestRepair | None:
        """What to try after this refusal; None if it is about something else, or nothing is left."""
        ...

    def repeat(self, options: object, names: Sequence[str]) -> Sequence[RequestRepair]:
        """Those of the named repairs that change anything, one upon the other: the last has the options to begin with."""
        ...


class Dialect(Struct, Generic[Options], frozen=True, kw_only=True, eq=False):
    """One dialect, as functions of its folder."""

    name: str
    """As backends' rows call it."""

    is_canonical: bool = False
    """Its request bodies are canonical request documents as they are."""

    # The front role: spoken with clients.
    routes: Mapping[str, Operation]
    """The paths that clients of this dialect ask, the usual one first, and what for. A path that ends in `/*` takes one more
    name."""
    session_of: Callable[[ClientHeaders], ClientSession]
    read_request: Callable[[bytes, ClientHeaders, Wanted], Request]
    """A client's request body. Raises RequestInvalid with a JSON path, BodyTooLarge, and NotWanted."""
    stream_writer: Callable[[AnswerContext], StreamWriter]
    write_answer: Callable[[JsonObject, AnswerContext], bytes]
    """An answer in one piece, from the canonical message."""
    write_count: Callable[[int], bytes] = b'{"input_tokens":%d}'.__mod__
    """The answer of a client that asked how many tokens its request has."""
    write_error: Callable[[Failure, str | None], bytes]
    """The body of a response that is an error; with the id of the exchange."""
    client_path: Callable[[NativeRequest, str], str] = lambda native, path: path
    """The place in the client's request that a path in the canonical request stands for."""
    statuses: Mapping[int, int] = {}
    """Statuses that its clients get in place of others."""
    is_told_in_stream: Callable[[Failure], bool] = lambda failure: False
    """Whether a client that wants a stream is told of this refusal inside one, with a 200."""
    seals_whole_blocks: bool = False
    """Its clients lose the text of a thought: what they hold in place of a signature has to bring the whole block."""
    joins_texts: bool = False
    """Its clients hold all texts of an answer as one."""
    tool_id: Callable[[str, int], str] | None = None
    """The id that every tool call gets for its clients, of the exchange and the index of the block. None: a backend's own
    ids pass where they are unique."""

    stored: StoredTurns | None = None
    """How its clients name stored answers; None: they send everything."""

    # The back role: spoken with backends.
    paths: Mapping[Operation, str]
    """What is appended to a backend's base URL. An operation that is not here is answered by the gateway itself."""
    request_headers: Callable[[ClientHeaders, Request, Options], tuple[tuple[bytes, bytes], ...]]
    """What goes along with a request, besides the credential."""
    write_request: Callable[[Request, Options], WrittenRequest]
    """A projected request. Bytes that came in this dialect and need no change go as they came. Raises Unrepresentable,
    RequestInvalid."""
    counts_tokens: Callable[[Options], bool] = lambda options: True
    """Whether a backend does, of a dialect that has a path for it."""
    write_count_request: Callable[[Request, Options], WrittenRequest] | None = None
    """The same for a request whose tokens are to be counted; None: as any other."""
    stream_reader: Callable[[AnswerContext, Options], StreamReader]
    read_answer: Callable[[bytes, Operation, AnswerContext, Options], JsonObject | StreamFailed | None]
    """An answer in one piece as a canonical message; the failure that it reports; None if it is no answer at all."""
    read_error: Callable[[int, BackendHeaders, bytes, Options], BackendRefusal]
    """The error that a response with this status reports."""
    response_headers: Callable[[BackendHeaders, float], list[tuple[str, str]]]
    """What of a backend's headers the client is told; with the time of day in seconds since 1970."""
    always_returns_payloads: bool = False
    """Its backends want what they put on a thought back, whatever their rows say."""
    options_of: Callable[[BackendFacts], Options]
    """The options that a backend's row fills in."""
    repairs: RequestRepairs | None = None
    """None: what the backend refuses is repaired by the pipeline alone."""
    passthrough: Callable[[Options], Passthrough | None]
    """How bytes pass where client and backend both speak this dialect; None: they are read and written again."""
    passed_deltas: Callable[[StreamReader, StreamWriter], PassedDeltas | None] | None = None
    """How deltas pass there, between a reader and a writer of this dialect; None: they are read, too."""
