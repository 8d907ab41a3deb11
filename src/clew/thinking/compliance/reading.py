"""A request as the checks read it.

Checks run on whatever a client can send, also where a schema rule is switched off, so nothing here trusts a type: a value of
the wrong kind reads as absent. Messages keep the caller's indices. String content is one text block. *Runs* are neighbouring
messages of one role; system messages stand aside and do not cut them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, groupby
from operator import attrgetter
from typing import NamedTuple, TypeAlias

from clew.model.blocks import THINKING_TYPES
from clew.model.facts import Block, ModelFacts, blocks
from clew.model.json import JsonArray, JsonObject, JsonValue

__all__ = ["MOST_MESSAGES", "Check", "Piece", "Reading", "Run", "Seen", "Spot", "at", "listed", "number", "obj", "spoken"]

ROLES = frozenset({"user", "assistant", "system"})
MOST_MESSAGES = 100_000
"""R17. The entries of a longer list are not looked at, in any phase."""


def obj(value: JsonValue) -> JsonObject:
    """The object, or an empty one."""
    return value if isinstance(value, dict) else {}


def listed(value: JsonValue) -> JsonArray:
    """The list, or an empty one."""
    return value if isinstance(value, list) else []


def spoken(value: JsonValue) -> str:
    """The string, or an empty one."""
    return value if isinstance(value, str) else ""


def number(value: JsonValue) -> int | float | None:
    """The number; JSON's true and false are none."""
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


class Spot(NamedTuple):
    """Where a rule is broken, and the names that its words need."""

    path: str
    said: Mapping[str, object]


def at(path: str, **said: object) -> Spot:
    return Spot(path, said)


class Piece(NamedTuple):
    """One block, at its place in the caller's request."""

    message: int
    place: int
    type: str
    value: JsonObject

    @property
    def path(self) -> str:
        return f"messages.{self.message}.content.{self.place}"

    @property
    def thinks(self) -> bool:
        return self.type in THINKING_TYPES

    @property
    def facts(self) -> Block | None:
        return blocks().get(self.type)

    @property
    def answers(self) -> str:
        """The type of block that this one answers, if it is a server tool's result."""
        return self.facts.answers if self.facts else ""

    def says(self, key: str) -> str:
        return spoken(self.value.get(key))


@dataclass(frozen=True, slots=True)
class Seen:
    """One message with a known role."""

    index: int
    role: str
    value: JsonObject
    pieces: tuple[Piece, ...]

    @property
    def path(self) -> str:
        return f"messages.{self.index}"

    @property
    def content(self) -> JsonValue:
        return self.value.get("content")

    @property
    def effort(self) -> str:
        return spoken(obj(self.value.get("output_config")).get("effort"))

    @property
    def configures(self) -> bool:
        """A system message whose `output_config` says something."""
        return any(value is not None for value in obj(self.value.get("output_config")).values())

    @property
    def directs_only(self) -> bool:
        """The form that may stand anywhere: no content, only `output_config`."""
        return self.content == [] and self.configures

    def holds(self, kind: str) -> bool:
        return any(piece.type == kind for piece in self.pieces)


@dataclass(frozen=True, slots=True)
class Run:
    """Neighbouring messages of one role."""

    role: str
    messages: tuple[Seen, ...]
    pieces: tuple[Piece, ...]

    def of(self, *kinds: str) -> Iterator[Piece]:
        return (piece for piece in self.pieces if piece.type in kinds)


def _pieces(index: int, content: JsonValue) -> tuple[Piece, ...]:
    if isinstance(content, str):
        return (Piece(index, 0, "text", {"type": "text", "text": content}),)
    return tuple(
        Piece(index, j, spoken(block.get("type")), block)
        for j, block in enumerate(listed(content))
        if isinstance(block, dict)
    )


def _seen(messages: JsonValue) -> Iterator[Seen]:
    entries = listed(messages)
    for index, message in enumerate(entries if len(entries) <= MOST_MESSAGES else ()):
        value = obj(message)
        role = spoken(value.get("role"))
        if role in ROLES:
            yield Seen(index, role, value, _pieces(index, value.get("content")))


def _runs(messages: tuple[Seen, ...]) -> Iterator[Run]:
    turns = (each for each in messages if each.role != "system")
    for role, group in groupby(turns, key=attrgetter("role")):
        together = tuple(group)
        yield Run(role, together, tuple(chain.from_iterable(each.pieces for each in together)))


@dataclass(frozen=True)
class Reading:
    """Body, headers, profile and stance, with what most checks ask of them."""

    body: JsonObject
    profile: ModelFacts
    version: str = ""
    betas: frozenset[str] = frozenset()
    stance: Mapping[str, str] = field(default_factory=dict[str, str])

    @cached_property
    def messages(self) -> tuple[Seen, ...]:
        return tuple(_seen(self.body.get("messages")))

    @cached_property
    def runs(self) -> tuple[Run, ...]:
        return tuple(_runs(self.messages))

    @cached_property
    def tools(self) -> tuple[JsonObject, ...]:
        return tuple(map(obj, listed(self.body.get("tools"))))

    @property
    def model(self) -> str:
        return spoken(self.body.get("model"))

    @property
    def thinking(self) -> str:
        """The type that the request asks for; "" if it does not ask."""
        return spoken(obj(self.body.get("thinking")).get("type"))

    @property
    def thinks(self) -> bool:
        """Whether thinking is on: asked for, or the model's own default."""
        if self.body.get("thinking") is None:
            return self.profile.thinking_default != "off"
        return self.thinking in ("enabled", "adaptive")

    @property
    def output(self) -> JsonObject:
        return obj(self.body.get("output_config"))

    @property
    def effort(self) -> str:
        return spoken(self.output.get("effort"))

    @property
    def forced(self) -> bool:
        return obj(self.body.get("tool_choice")).get("type") in ("any", "tool")

    @property
    def final(self) -> Run | None:
        """The assistant run that ends the request, if its last message is the assistant's."""
        ends = bool(self.messages) and self.messages[-1].role == "assistant"
        return self.runs[-1] if ends else None

    @property
    def loop_is_open(self) -> bool:
        """The last message, system ones aside, hands tool results in."""
        return bool(self.runs) and self.runs[-1].role == "user" and self.runs[-1].messages[-1].holds("tool_result")

    def pieces(self) -> Iterator[Piece]:
        return chain.from_iterable(each.pieces for each in self.messages)


Check: TypeAlias = Callable[[Reading], Iterator[Spot]]
