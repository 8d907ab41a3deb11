"""The canonical events of a stream: frozen values, named after Anthropic's, that refuse to be built wrong.

An event is its JSON object with names on the members that matter. Members that nobody knows yet live in `extra`, deltas
and blocks stay JSON objects, so reading and writing an event loses nothing; two events are equal if their JSON is. An
event that was read keeps the bytes of its data in `raw` and is written back as it came; one that is made, or altered with
`dataclasses.replace`, has none and is written anew.

What a delta or a block *means* is decided elsewhere: `lifecycle` says which may follow which, `assemble` what they add up
to. Reading them from SSE, and writing them, is `wire.events`. An event that is the same in every answer can be written
once, ahead (`written`), and then has its bytes too.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import ClassVar, TypeVar

from clew.errors import StreamIllegal
from clew.model.halves import encoded
from clew.model.json import JsonObject, JsonValue
from clew.model.wait import NO_WAIT, Wait

__all__ = [
    "EVENTS",
    "BlockDelta",
    "BlockStart",
    "BlockStop",
    "Event",
    "MessageDelta",
    "MessageStart",
    "MessageStop",
    "Ping",
    "StreamFailed",
    "Unknown",
    "data_of",
    "read_event",
    "with_raw",
    "written",
]

_NULL = type(None)


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened on a stream. Only the classes below are events."""

    type: ClassVar[str] = ""
    shapes: ClassVar[dict[str, tuple[type, ...]]] = {}
    extra: JsonObject = field(default_factory=dict[str, JsonValue], kw_only=True)
    raw: bytes = field(default=b"", init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        for name, shape in self.shapes.items():
            if type(getattr(self, name)) not in shape:
                _need(self, getattr(self, name), name, *shape)


E = TypeVar("E", bound=Event)


@dataclass(frozen=True, slots=True)
class MessageStart(Event):
    """The answer begins: the whole message, without content and without an end."""

    type: ClassVar[str] = "message_start"
    shapes: ClassVar[dict[str, tuple[type, ...]]] = {"message": (dict,)}
    message: JsonObject


@dataclass(frozen=True, slots=True)
class BlockStart(Event):
    """A block opens. What it holds at its start counts; deltas add to it."""

    type: ClassVar[str] = "content_block_start"
    shapes: ClassVar[dict[str, tuple[type, ...]]] = {"index": (int,), "content_block": (dict,)}
    index: int
    content_block: JsonObject

    def __post_init__(self) -> None:
        Event.__post_init__(self)
        _need(self, self.content_block.get("type"), "content_block.type", str)

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


@dataclass(frozen=True, slots=True)
class BlockDelta(Event):
    """The open block grows."""

    type: ClassVar[str] = "content_block_delta"
    shapes: ClassVar[dict[str, tuple[type, ...]]] = {"index": (int,), "delta": (dict,)}
    index: int
    delta: JsonObject

    def __post_init__(self) -> None:
        Event.__post_init__(self)
        _need(self, self.delta.get("type"), "delta.type", str)
        if self.kind in _DELTA_MEMBERS:
            member, shape = _DELTA_MEMBERS[self.kind]
            _need(self, self.delta.get(member), f"delta.{member}", shape)

    @property
    def kind(self) -> str:
        return str(self.delta["type"])


@dataclass(frozen=True, slots=True)
class BlockStop(Event):
    """The block is whole: what came of it counts from now on."""

    type: ClassVar[str] = "content_block_stop"
    shapes: ClassVar[dict[str, tuple[type, ...]]] = {"index": (int,)}
    index: int


@dataclass(frozen=True, slots=True)
class MessageDelta(Event):
    """How the answer ended, and what it cost in all. Clients take the one with a stop reason as the end."""

    type: ClassVar[str] = "message_delta"
    shapes: ClassVar[dict[str, tuple[type, ...]]] = {"delta": (dict,), "usage": (dict, _NULL)}
    delta: JsonObject
    usage: JsonObject | None = None


@dataclass(frozen=True, slots=True)
class MessageStop(Event):
    """Nothing follows."""

    type: ClassVar[str] = "message_stop"


@dataclass(frozen=True, slots=True)
class Ping(Event):
    """Still there."""

    type: ClassVar[str] = "ping"


@dataclass(frozen=True, slots=True)
class StreamFailed(Event):
    """The answer broke off; `error` is the vendor's error object.

    Known where it was read, and said by no stream: the `status` that it would have had as a response (0: the one that goes
    with the error's type), the `wait` that it asks for, and whether it is `broken`: then the backend said no such thing.
    """

    type: ClassVar[str] = "error"
    shapes: ClassVar[dict[str, tuple[type, ...]]] = {"error": (dict,)}
    error: JsonObject
    status: int = field(default=0, kw_only=True, compare=False)
    wait: Wait = field(default=NO_WAIT, kw_only=True, compare=False)
    broken: bool = field(default=False, kw_only=True, compare=False)


@dataclass(frozen=True, slots=True)
class Unknown(Event):
    """An event of a type that is not in EVENTS, or whose data is no JSON object: kept as it came."""

    name: str
    data: bytes


EVENTS: dict[str, type[Event]] = {
    cls.type: cls for cls in (MessageStart, BlockStart, BlockDelta, BlockStop, MessageDelta, MessageStop, Ping, StreamFailed)
}
"""Every event that has a type of its own, by that type."""

_MEMBERS = {
    cls.type: tuple(each.name for each in fields(cls) if each.compare and each.name != "extra") for cls in EVENTS.values()
}
"""What an event says on the wire: all that makes two of them differ."""


def read_event(data: JsonObject) -> Event:
    """The event that an object describes, whose type is one of EVENTS. Raises StreamIllegal if a member is amiss."""
    kind = str(data["type"])
    known = {name: data.get(name) for name in _MEMBERS[kind]}
    extra = {name: value for name, value in data.items() if name not in known and name != "type"}
    return EVENTS[kind](**known, extra=extra)


def data_of(event: Event) -> bytes:
    """The event's data as JSON bytes: as it came, or written anew."""
    if isinstance(event, Unknown):
        return event.data
    if event.raw:
        return event.raw
    known = {name: value for name in _MEMBERS[event.type] if (value := getattr(event, name)) is not None}
    return encoded({"type": event.type, **known, **event.extra})


def with_raw(event: Event, raw: bytes) -> Event:
    """The event, knowing the bytes it was read from. No argument of its class: a changed event must not keep old bytes."""
    object.__setattr__(event, "raw", raw)
    return event


def written(event: E) -> E:
    """The event, knowing the bytes of its data as if it had been read."""
    with_raw(event, data_of(event))
    return event


def _need(event: Event, value: object, member: str, *shape: type) -> None:
    """Exact types: `true` is no index."""
    if type(value) not in shape:
        wanted = " or ".join(each.__name__ for each in shape)
        raise StreamIllegal(f"{event.type}: {member} must be {wanted}, not {type(value).__name__}", event=event.type)
