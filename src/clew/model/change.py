"""Change: one recorded alteration. Nothing is silent (law 6)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

import msgspec
from msgspec import Struct

from clew.model.json import JsonObject

if TYPE_CHECKING:  # `clew statusline` loads this module
    from clew.model.assemble import AssembledBlock

What: TypeAlias = Literal["left out", "restored", "handed over", "healed", "replaced", "added", "removed", "moved", "set"]

THINKING_STEPS: Final = frozenset({"thinking", "thinking_parameter", "heal"})
"""Steps that leave out thinking blocks, or put them back. Others leave out other things."""

MOST_CHANGES: Final = 2000
"""Of one request, each by itself. A client can send a request that needs hundreds of thousands."""
MANY_REASONS: Final = "for so many reasons that they are not told apart"


class Change(Struct, frozen=True, gc=False, omit_defaults=True, repr_omit_defaults=True):
    """One change of a step: what it did, where in the client's request, and why.

    `path` is a JSON path in the client's request (`messages.3.content.0`). A value that the client did not send is named by
    the place where it was put.

    >>> change = Change("thinking", "messages.3.content.0", "left out", "made by glm")
    >>> f"{change.path} was {change.what}: {change.why}"
    'messages.3.content.0 was left out: made by glm'
    """

    step: str
    path: str
    what: What
    why: str
    count: int = 1
    """How many places it stands for. Where a request has thousands of changes, those at the end are counted together, with
    the path of the first."""


def tally(changes: Iterable[Change]) -> dict[What, int]:
    """How many of each, in order of first appearance."""
    counts: dict[What, int] = {}
    for change in changes:
        counts[change.what] = counts.get(change.what, 0) + change.count
    return counts


def count_of(changes: Iterable[Change]) -> int:
    """How many places all of them stand for."""
    return sum([change.count for change in changes])


def bounded(changes: Sequence[Change], most: int = MOST_CHANGES) -> tuple[Change, ...]:
    """The first `most` as they are, the others counted by step, kind and reason.

    >>> bounded([Change("model", f"messages.{i}", "set", "why") for i in range(9)], 1)[1]
    Change(step='model', path='messages.1', what='set', why='why', count=8)
    """
    if len(changes) <= most:
        return tuple(changes)
    groups: dict[tuple[str, What, str], tuple[str, int]] = {}
    for change in changes[most:]:
        key = change.step, change.what, change.why
        if key not in groups and len(groups) >= most:
            key = change.step, change.what, MANY_REASONS
        path, count = groups.get(key, (change.path, 0))
        groups[key] = path, count + change.count
    return (*changes[:most], *[Change(step, path, what, why, n) for (step, what, why), (path, n) in groups.items()])


_CUT_SHORT: Final = ("max_tokens", "model_context_window_exceeded", "refusal")
_STEP: Final = "answer"
_WHY: Final = "the arguments of this call are not a JSON object: "
_SHOWN: Final = 200
"""Characters of arguments that are quoted."""


class BrokenCall(Struct, frozen=True):
    """The index of its block in the answer, the name of the tool, and the beginning of its arguments."""

    at: int
    name: str
    given: str

    def __str__(self) -> str:
        return f"the arguments of the call of {self.name} are not a JSON object: {self.given}"

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
