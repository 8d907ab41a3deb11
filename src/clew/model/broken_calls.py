"""Calls whose arguments are no JSON object, in an answer that came to its end.

A client that reads the stream sees what came, and can refuse to run it. A recording holds what could be read of the
arguments, so that it can be sent again; what was wrong is kept beside it, as a change.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec
from msgspec import Struct

from clew.model.assemble import AssembledBlock
from clew.model.change import Change
from clew.model.json import JsonObject

__all__ = ["BrokenCall", "arguments_in", "broken_calls"]

_CUT_SHORT: Final = ("max_tokens", "model_context_window_exceeded", "refusal")
_STEP: Final = "answer"
_WHY: Final = "the arguments of this call are no JSON object: "
_SHOWN: Final = 200
"""Characters of arguments that are quoted."""


class BrokenCall(Struct, frozen=True):
    """Which block of the answer it is, whom it calls, and the beginning of what it gives."""

    at: int
    name: str
    given: str

    def __str__(self) -> str:
        return f"the arguments of the call of {self.name} are no JSON object: {self.given}"

    @property
    def change(self) -> Change:
        return Change(_STEP, f"content.{self.at}.input", "replaced", _WHY + self.given)


def broken_calls(message: JsonObject, blocks: Iterable[AssembledBlock]) -> tuple[BrokenCall, ...]:
    """Those that a client would run.

    An answer that was cut short may end inside a call: its stop reason says so, and nobody runs it.
    """
    if message.get("stop_reason") in _CUT_SHORT:
        return ()
    return tuple(
        [BrokenCall(at, str(each.block.get("name")), _given(each)) for at, each in enumerate(blocks) if _broken(each)]
    )


def arguments_in(changes: Iterable[Change]) -> dict[int, str]:
    """The beginning of what each broken call gave, by its block's place in the answer. It is never a JSON object."""
    found = [change for change in changes if change.step == _STEP and change.why.startswith(_WHY)]
    return {int(change.path.split(".")[1]): change.why.removeprefix(_WHY) for change in found}


def _broken(each: AssembledBlock) -> bool:
    return each.block.get("type") == "tool_use" and (each.unparsed is not None or not isinstance(each.block["input"], dict))


def _given(each: AssembledBlock) -> str:
    text = each.unparsed if each.unparsed is not None else msgspec.json.encode(each.block["input"]).decode()
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
