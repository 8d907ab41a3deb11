"""Calls whose arguments are no JSON object, in an answer that came to its end.

A client that reads the stream sees the arguments as they came, and can refuse to run the call. A recording holds the part of
the arguments that could be read, so that it can be sent again; the defect is kept beside it, as a change.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec
from msgspec import Struct

from clew.model.assemble import AssembledBlock
from clew.model.change import Change
from clew.model.json import JsonObject

_CUT_SHORT: Final = ("max_tokens", "model_context_window_exceeded", "refusal")
_STEP: Final = "answer"
_WHY: Final = "the arguments of this call are no JSON object: "
_SHOWN: Final = 200
"""Characters of arguments that are quoted."""


class BrokenCall(Struct, frozen=True):
    """The index of its block in the answer, the name of the tool, and the beginning of its arguments."""

    at: int
    name: str
    given: str

    def __str__(self) -> str:
        return f"the arguments of the call of {self.name} are no JSON object: {self.given}"

    @property
    def change(self) -> Change:
        return Change(_STEP, f"content.{self.at}.input", "replaced", _WHY + self.given)


def broken_calls(message: JsonObject, blocks: Iterable[AssembledBlock]) -> tuple[BrokenCall, ...]:
    """The broken calls that a client would run.

    An answer that was cut short may end inside a call: its stop reason says so, and no client runs it.
    """
    if message.get("stop_reason") in _CUT_SHORT:
        return ()
    found: list[BrokenCall] = []
    for at, each in enumerate(blocks):
        if each.block.get("type") != "tool_use" or (each.unparsed is None and isinstance(each.block["input"], dict)):
            continue
        text = each.unparsed if each.unparsed is not None else msgspec.json.encode(each.block["input"]).decode()
        given = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
        found.append(BrokenCall(at, str(each.block.get("name")), given))
    return tuple(found)


def arguments_in(changes: Iterable[Change]) -> dict[int, str]:
    """The beginning of each broken call's arguments, by its block's index in the answer. It is never a JSON object."""
    found = [change for change in changes if change.step == _STEP and change.why.startswith(_WHY)]
    return {int(change.path.split(".")[1]): change.why.removeprefix(_WHY) for change in found}
