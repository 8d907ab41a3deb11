"""A request: the client's bytes, how they read, and what has become of them.

`parse` (in the dialect) reads the bytes once into a `Body`: typed where decisions look, raw bytes everywhere else. Steps
never edit a value; they return a new `Body` in which everything that they did not touch is the very same object. The
encoder then compares the two bodies by identity and splices only what differs into the original bytes, so "smallest edit"
(law 5) is not a promise of each step but a property of the representation.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import is_
from typing import Final, NamedTuple, TypeAlias

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from clew.model.blocks import Block
from clew.model.change import Change

Content: TypeAlias = tuple[Block, ...] | str | None
"""A message's content: blocks, a plain string, or nothing at all."""


class RequestMessage(Struct, frozen=True, eq=False, gc=False):
    """One message as the client sent it. Keys that no step reads stay in the bytes."""

    role: str
    content: Content = None
    output_config: Raw | UnsetType = UNSET


class Edited(RequestMessage, frozen=True, eq=False, gc=False):
    """A message that a step altered (`given` is the client's own), or put in (`given` is None)."""

    given: RequestMessage | None = None


class Body(Struct, frozen=True, eq=False):
    """The request body. Fields that no step reads are left out here, and pass untouched."""

    messages: tuple[RequestMessage, ...]
    model: str = ""
    system: Raw | UnsetType = UNSET
    tools: Raw | UnsetType = UNSET
    tool_choice: Raw | UnsetType = UNSET
    max_tokens: Raw | UnsetType = UNSET
    thinking: Raw | UnsetType = UNSET
    output_config: Raw | UnsetType = UNSET
    context_management: Raw | UnsetType = UNSET
    temperature: Raw | UnsetType = UNSET
    top_p: Raw | UnsetType = UNSET
    top_k: Raw | UnsetType = UNSET
    stop_sequences: Raw | UnsetType = UNSET
    cache_control: Raw | UnsetType = UNSET
    safeguards: Raw | UnsetType = UNSET
    stream: Raw | UnsetType = UNSET
    metadata: Raw | UnsetType = UNSET


class NotWanted(Exception):
    """Nobody waits for this work. The exception ends it in its thread, and is not reported."""


class Wanted:
    """Whether anybody still waits for the result of work on a request: a flag that never changes a result.

    A long history takes seconds, and its client may leave meanwhile. The shell that knows calls `drop`, in another thread;
    loops over the messages of a long history call `check` now and then, and stop there.
    """

    __slots__ = ("_is_dropped",)

    def __init__(self) -> None:
        self._is_dropped = False

    def drop(self) -> None:
        self._is_dropped = True

    def check(self) -> None:
        """Raises NotWanted."""
        if self._is_dropped:
            raise NotWanted


ALWAYS: Final = Wanted()
"""For work that is too short to be worth stopping."""


class Demand(NamedTuple):
    """What a client insists on: the path of the field, and why it cannot be left out."""

    path: str
    why: str


class NativeRequest(Struct, frozen=True, kw_only=True, eq=False):
    """A client's request as it came, where its dialect is not the canonical one."""

    dialect: str
    raw: bytes
    detail: object = None
    """What the code of this dialect alone reads: items by their blocks, kinds of tools, wishes about the answer."""
    changes: tuple[Change, ...] = ()
    """What the canonical request has no place for, or has in another form."""
    shows_thoughts: bool = False
    """Its clients show what a model thinks without asking for it: where the model thinks, a summary is asked for."""
    compacts: bool = False
    """The client wants a sealed summary of its history in place of an answer."""
    demand: Demand | None = None
    """What only a backend of this dialect can do: any other would answer something else."""


class Source:
    """The client's bytes and their first reading; knows where each of its values stood."""

    __slots__ = (
        "_blocks",
        "_messages",
        "block_spans",
        "body",
        "held",
        "in_order",
        "layout",
        "native",
        "raw",
        "untouched",
        "wanted",
    )

    def __init__(self, raw: bytes, body: Body) -> None:
        self.raw = raw
        self.body = body
        self.layout: object = None
        """The encoder's note of where the messages stand, once it had to look."""
        self.block_spans: dict[int, Sequence[tuple[int, int]]] = {}
        """The same for the blocks of a message, by its index."""
        self.held = 0
        """How many bytes the messages are views of besides: those of requests before this one."""
        self.untouched: object = None
        """Under which settings its messages went out as they came, or those did that it goes on from."""
        self.in_order: object = None
        """A system prompt in which there was nothing to repair: this one's, or that of a request that it goes on from."""
        self.wanted = ALWAYS
        """Whether anybody waits for what is made of it."""
        self.native: NativeRequest | None = None
        """The request of which `raw` was made; None if the client's bytes are canonical."""
        self._messages: dict[int, int] | None = None
        self._blocks: dict[int, tuple[int, int]] | None = None

    def index_of(self, message: RequestMessage) -> int | None:
        """Where this message stood in the client's list; None for one that clew put in."""
        if self._messages is None:
            self._messages = {id(each): i for i, each in enumerate(self.body.messages)}
        own = message.given if isinstance(message, Edited) else message
        return None if own is None else self._messages.get(id(own))

    def place_of(self, block: Block) -> tuple[int, int] | None:
        """Message and block index in the client's request; None for a block that clew made."""
        if self._blocks is None:
            self._blocks = {
                id(block): (i, j) for i, each in enumerate(self.body.messages) for j, block in enumerate(blocks_of(each))
            }
        return self._blocks.get(id(block))


class Request(Struct, frozen=True, eq=False):
    """What the client sent (`source`), what is to go out (`body`), and the betas that go with it."""

    source: Source
    body: Body
    betas: tuple[str, ...] = ()

    @property
    def messages(self) -> tuple[RequestMessage, ...]:
        return self.body.messages

    def with_messages(self, messages: tuple[RequestMessage, ...]) -> Request:
        """The same request if nothing differs, so that untouched stays untouched by identity."""
        if len(messages) == len(self.messages) and all(map(is_, messages, self.messages)):
            return self
        return self.with_fields(messages=messages)

    def with_fields(self, **fields: object) -> Request:
        return msgspec.structs.replace(self, body=msgspec.structs.replace(self.body, **fields))


def blocks_of(message: RequestMessage) -> tuple[Block, ...]:
    """The message's blocks; none for string content, which holds no block that could carry anything."""
    return message.content if isinstance(message.content, tuple) else ()


def with_content(message: RequestMessage, content: Content) -> RequestMessage:
    """The same message with other content, still knowing which of the client's messages it was."""
    given = message.given if isinstance(message, Edited) else message
    return Edited(message.role, content, message.output_config, given=given)


def with_blocks(message: RequestMessage, blocks: tuple[Block, ...]) -> RequestMessage:
    """As `with_content`; the very same message if the blocks are the very same."""
    own = blocks_of(message)
    if len(own) == len(blocks) and all(map(is_, own, blocks)):
        return message
    return with_content(message, blocks)
