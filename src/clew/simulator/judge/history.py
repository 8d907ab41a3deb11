"""The messages of a request as the rules look at them.

Content given as a string is one text block. Neighbouring messages of one role are one *run*, system messages in between not
counted, because the vendor merges them (R21). A block still knows its place in the caller's own arrays, since every path in
an error is the caller's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from clew.model.json import JsonObject, JsonValue
from clew.simulator.judge.values import array, inner, string, text_blocks

__all__ = ["ROLES", "THINKING", "Block", "Message", "Run", "messages_of", "runs_of"]

ROLES = ("user", "assistant", "system")
THINKING = frozenset({"thinking", "redacted_thinking"})


@dataclass(frozen=True, slots=True)
class Block:
    """One content block at its place."""

    message: int
    index: int
    value: JsonObject

    @property
    def type(self) -> str:
        return string(self.value.get("type"))

    @property
    def path(self) -> str:
        return f"messages.{self.message}.content.{self.index}"

    @property
    def is_thinking(self) -> bool:
        return self.type in THINKING


@dataclass(frozen=True, slots=True)
class Message:
    """One message at its place. `content` is as it came; `blocks` are what it means."""

    index: int
    role: str
    value: JsonObject
    blocks: tuple[Block, ...]

    @property
    def content(self) -> JsonValue:
        return self.value.get("content")

    @property
    def path(self) -> str:
        return f"messages.{self.index}"

    def has(self, kind: str) -> bool:
        return any(block.type == kind for block in self.blocks)


@dataclass(frozen=True, slots=True)
class Run:
    """Messages of one role that the vendor takes as one."""

    role: str
    messages: tuple[Message, ...]
    blocks: tuple[Block, ...]


def messages_of(body: JsonObject) -> tuple[Message, ...]:
    """The messages whose role is known; of any other nothing is looked at."""
    return tuple(
        _message(index, inner(value))
        for index, value in enumerate(array(body.get("messages")))
        if inner(value).get("role") in ROLES
    )


def _message(index: int, value: JsonObject) -> Message:
    found = text_blocks(value.get("content"))
    blocks = tuple(Block(index, j, block) for j, block in enumerate(found) if isinstance(block, dict))
    return Message(index, string(value.get("role")), value, blocks)


def runs_of(messages: Sequence[Message]) -> tuple[Run, ...]:
    """The user and assistant runs, in order."""
    groups: list[list[Message]] = []
    for message in messages:
        if message.role == "system":
            continue
        if groups and groups[-1][0].role == message.role:
            groups[-1].append(message)
        else:
            groups.append([message])
    return tuple(_run(group) for group in groups)


def _run(group: list[Message]) -> Run:
    return Run(group[0].role, tuple(group), tuple(block for message in group for block in message.blocks))
