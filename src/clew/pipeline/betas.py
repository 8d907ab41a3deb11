"""The betas that messages need: some of their fields and blocks are refused without a value of the `anthropic-beta` header.

Which ones, the tables of facts say (`fields.toml`, `blocks.toml`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias

import msgspec
from msgspec import Raw, Struct

from clew.model.facts import blocks, fields

_Either: TypeAlias = tuple[str, ...]
"""Betas of which one is enough."""


class _Block(Struct):
    type: str = ""


class _Message(Struct):
    role: str
    content: list[_Block] | str | None = None

    @property
    def blocks(self) -> list[_Block]:
        return self.content if isinstance(self.content, list) else []


_message = msgspec.json.Decoder(_Message)
_keys = msgspec.json.Decoder(dict[str, Raw])


def needed_betas(messages: Iterable[bytes | Raw], given: Sequence[str] = ()) -> tuple[str, ...]:
    """What must be sent besides `given`. Where one of several is enough, it is the first that the tables name.

    >>> needed_betas([b'{"role": "system", "content": [], "output_config": {"effort": "low"}}'])
    ('mid-conversation-output-config-2026-07-01',)
    """
    found = list(given)
    for either in dict.fromkeys(each for message in messages for each in _gates(message)):
        if not set(either).intersection(found):
            found.append(either[0])
    return tuple(found[len(given) :])


def _gates(raw: bytes | Raw) -> Iterator[_Either]:
    """Of one message. One of another shape has none: it is refused for its shape."""
    try:
        message, values = _message.decode(raw), _keys.decode(raw)
    except msgspec.MsgspecError:
        return
    shape = fields().shapes.get(f"message.{message.role}")
    for name, field in shape.fields.items() if shape else ():
        if field.beta and name in values and bytes(values[name]) != b"null":
            yield field.beta
    for block in message.blocks:
        known = blocks().get(block.type)
        if known and known.beta:
            yield known.beta
