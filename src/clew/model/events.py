"""The canonical events of a stream: frozen values, named after Anthropic's, that refuse to be built wrong.

An event is its JSON object with names on the members that matter. Members that nobody knows yet live in `extra`, deltas
and blocks stay JSON objects, so reading and writing an event loses nothing; two events are equal if their JSON is. An
event that was read keeps the bytes of its data in `raw` and is written back as it came; one that is made, or altered with
`altered`, has none and is written again.

What a delta or a block *means* is decided elsewhere: `lifecycle` says which may follow which, `assemble` what they add up
to. Reading them from SSE, and writing them, is `wire.events`. An event that is the same in every answer can be written
once, ahead (`written`), and then has its bytes too.

Every chunk of every translated stream becomes one of these, so they are structs without a part in garbage collection, and
their checks are written out.
"""

from __future__ import annotations

from typing import Any, ClassVar, TypeVar

from msgspec import Struct, field
from msgspec.structs import force_setattr, replace

from clew.errors import StreamIllegal
from clew.model.http import NO_WAIT, Wait
from clew.model.json import JsonObject, JsonValue, encoded


class Event(Struct, frozen=True, eq=False, gc=False, kw_only=True):
    """Something that happened on a stream. Only the classes below are events."""

    type: ClassVar[str] = ""
    members: ClassVar[tuple[str, ...]] = ()
    """What the event says on the wire, besides its type and `extra`."""
    extra: JsonObject = field(default_factory=dict[str, JsonValue])
    raw: bytes = b""

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other) or not isinstance(other, Event):
            return NotImplemented
        return self.extra == other.extra and all(getattr(self, name) == getattr(other, name) for name in self.members)

    def __hash__(self) -> int:
        return hash((self.type, data_of(self)))


E = TypeVar("E", bound=Event)


class MessageStart(Event, frozen=True, eq=False, gc=False):
    """The answer begins: the whole message, without content and without an end."""

    type: ClassVar[str] = "message_start"
    members: ClassVar[tuple[str, ...]] = ("message",)
    message: JsonObject

    def __post_init__(self) -> None:
        if type(self.message) is not dict:
            raise _refusal(self, self.message, "message", "dict")


class BlockStart(Event, frozen=True, eq=False, gc=False):
    """A block opens. What it holds at its start counts; deltas add to it."""

    type: ClassVar[str] = "content_block_start"
    members: ClassVar[tuple[str, ...]] = ("index", "content_block")
    index: int
    content_block: JsonObject

    def __post_init__(self) -> None:
        if type(self.index) is not int:
            raise _refusal(self, self.index, "index", "int")
        if type(self.content_block) is not dict:
            raise _refusal(self, self.content_block, "content_block", "dict")
        if type(kind := self.content_block.get("type")) is not str:
            raise _refusal(self, kind, "content_block.type", "str")

    @property
    def block_type(self) -> str:
        return str(self.content_block["type"])


_DELTA_MEMBERS: dict[str, tuple[str, type]] = {
    "text_delta": ("text", str),
    "thinking_delta": ("thinking", str),
    "signature_delta": ("signature", str),
    "input_json_delta": ("partial_json", str),
    "citations_delta": ("citation", dict),
}
"""The member that each kind of delta must have. (A compaction_delta may have none; other kinds are unknown.)"""


class BlockDelta(Event, frozen=True, eq=False, gc=False):
    """The open block grows."""

    type: ClassVar[str] = "content_block_delta"
    members: ClassVar[tuple[str, ...]] = ("index", "delta")
    index: int
    delta: JsonObject

    def __post_init__(self) -> None:
        delta = self.delta
        if type(self.index) is not int:
            raise _refusal(self, self.index, "index", "int")
        if type(delta) is not dict:
            raise _refusal(self, delta, "delta", "dict")
        if type(kind := delta.get("type")) is not str:
            raise _refusal(self, kind, "delta.type", "str")
        if kind in _DELTA_MEMBERS:
            member, shape = _DELTA_MEMBERS[kind]
            if type(value := delta.get(member)) is not shape:
                raise _refusal(self, value, f"delta.{member}", shape.__name__)

    @property
    def kind(self) -> str:
        return str(self.delta["type"])


class BlockStop(Event, frozen=True, eq=False, gc=False):
    """The block is whole: what came of it counts from now on."""

    type: ClassVar[str] = "content_block_stop"
    members: ClassVar[tuple[str, ...]] = ("index",)
    index: int

    def __post_init__(self) -> None:
        if type(self.index) is not int:
            raise _refusal(self, self.index, "index", "int")


class MessageDelta(Event, frozen=True, eq=False, gc=False):
    """How the answer ended, and what it cost in all. Clients take the one with a stop reason as the end."""

    type: ClassVar[str] = "message_delta"
    members: ClassVar[tuple[str, ...]] = ("delta", "usage")
    delta: JsonObject
    usage: JsonObject | None = None

    def __post_init__(self) -> None:
        if type(self.delta) is not dict:
            raise _refusal(self, self.delta, "delta", "dict")
        if self.usage is not None and type(self.usage) is not dict:
            raise _refusal(self, self.usage, "usage", "dict or NoneType")


class MessageStop(Event, frozen=True, eq=False, gc=False):
    """Nothing follows."""

    type: ClassVar[str] = "message_stop"


class Ping(Event, frozen=True, eq=False, gc=False):
    """Still there."""

    type: ClassVar[str] = "ping"


class StreamFailed(Event, frozen=True, eq=False, gc=False):
    """The answer broke off; `error` is the vendor's error object.

    Known where it was read, and written by no stream: the `status` that it would have had as a response (0: the one that
    goes with the error's type), the `wait` that it asks for, and whether it is `broken`: the backend reported no error.
    """

    type: ClassVar[str] = "error"
    members: ClassVar[tuple[str, ...]] = ("error",)
    error: JsonObject
    status: int = 0
    wait: Wait = NO_WAIT
    broken: bool = False

    def __post_init__(self) -> None:
        if type(self.error) is not dict:
            raise _refusal(self, self.error, "error", "dict")


class Unknown(Event, frozen=True, eq=False, gc=False):
    """An event of a type that is not in EVENTS, or whose data is not a JSON object: kept as it came."""

    members: ClassVar[tuple[str, ...]] = ("name", "data")
    name: str
    data: bytes


BLOCK_EVENTS = (BlockStart, BlockDelta, BlockStop)

EVENTS: dict[str, type[Event]] = {
    cls.type: cls for cls in (MessageStart, BlockStart, BlockDelta, BlockStop, MessageDelta, MessageStop, Ping, StreamFailed)
}
"""Every event that has a type of its own, by that type."""


def read_event(data: JsonObject) -> Event:
    """The event that an object describes, whose type is one of EVENTS. Raises StreamIllegal if a member is wrong."""
    kind = EVENTS[str(data["type"])]
    known: dict[str, Any] = {name: data.get(name) for name in kind.members}
    extra = {name: value for name, value in data.items() if name not in known and name != "type"}
    return kind(**known, extra=extra)


def data_of(event: Event) -> bytes:
    """The event's data as JSON bytes: as it came, or written again."""
    if isinstance(event, Unknown):
        return event.data
    if event.raw:
        return event.raw
    if type(event) is BlockDelta and not event.extra:  # nearly every event, so it is written out
        return b'{"type":"content_block_delta","index":%d,"delta":%b}' % (event.index, encoded(event.delta))
    known = {name: value for name in event.members if (value := getattr(event, name)) is not None}
    return encoded({"type": event.type, **known, **event.extra})


def with_raw(event: E, raw: bytes) -> E:
    """The event, knowing the bytes it was read from."""
    force_setattr(event, "raw", raw)
    return event


def written(event: E) -> E:
    """The event, knowing the bytes of its data as if it had been read."""
    return with_raw(event, data_of(event))


def altered(event: E, **members: object) -> E:
    """The event with other members. It does not keep the bytes that it was read from."""
    return replace(event, raw=b"", **members)


def _refusal(event: Event, value: object, member: str, wanted: str) -> StreamIllegal:
    """Exact types: `true` is no index."""
    return StreamIllegal(f"{event.type}: {member} must be {wanted}, not {type(value).__name__}", event=event.type)
