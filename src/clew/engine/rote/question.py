"""The question of a request that asks nothing but one, in words: as the client wrote it, read with as little as will do."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct

__all__ = ["question_in"]


class _Question(Struct, gc=False):
    role: Literal["user"]
    content: Annotated[str, Meta(min_length=1)]


class _Alone(Struct, gc=False, forbid_unknown_fields=True):
    role: Literal["user"]
    content: Annotated[str, Meta(min_length=1)]


_questions = msgspec.json.Decoder(tuple[_Question])
_alone = msgspec.json.Decoder(tuple[_Alone])
_WRONG = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)


def question_in(messages: bytes, *, alone: bool) -> str:
    """The words of the one message that these are; "" if they are anything else.

    `alone`: nothing else stands in it. Where messages go as they came, what nobody knows goes along.
    """
    try:
        (asked,) = (_alone if alone else _questions).decode(messages)
    except _WRONG:
        return ""
    return "" if asked.content.isspace() else asked.content
