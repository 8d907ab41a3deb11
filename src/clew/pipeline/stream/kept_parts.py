"""The parts of a stream, kept for the answer that is put together of them in the end.

A block may come in hundreds of thousands of deltas of one letter. As they came they take twenty times as much memory as what
they say, so they are joined now and then: all deltas of one kind become one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Final

from clew.model.events import BlockDelta, Ping, Unknown
from clew.model.json import JsonObject
from clew.pipeline.stream.answer import Part
from clew.pipeline.stream.joined import Stretch, stretches_of

__all__ = ["KeptParts"]

_LOOSE: Final = 512
_LOOSE_BYTES: Final = 64 * 1024
"""So many deltas, or so much of them, are kept as they came."""
_SAYS_NOTHING: Final = (Ping, Unknown)

_FEW: Final = 64

_MEMBERS: Final = {"text_delta": "text", "thinking_delta": "thinking", "input_json_delta": "partial_json"}
"""What is joined. Of all others the last counts, as of signatures, or they stand alone."""
_KINDS: Final = {"text_delta": 0, "thinking_delta": 1, "signature_delta": 1, "input_json_delta": 2}
"""Those with one number may come in any order: the last signature counts, and the others are joined."""


class KeptParts:
    """`append` what came; `so_far` is all of it, and may be asked for from another thread."""

    __slots__ = ("_loose", "_parts", "_size")

    def __init__(self) -> None:
        self._parts: list[Part] = []
        self._loose = 0
        """How many of the last parts are deltas as they came."""
        self._size = 0

    def so_far(self) -> Sequence[Part]:
        return tuple(self._parts)

    def append(self, part: Part) -> None:
        if isinstance(part, bytes):
            self._size += len(part)
        elif isinstance(part, _SAYS_NOTHING):
            return
        elif not isinstance(part, BlockDelta):
            self._parts.append(part)
            self._loose = self._size = 0
            return
        self._parts.append(part)
        self._loose += 1
        if self._loose >= _LOOSE or self._size >= _LOOSE_BYTES:
            self._parts[-self._loose :] = _joined(self._parts[-self._loose :])
            self._loose = self._size = 0


def _joined(parts: Sequence[Part]) -> Sequence[Part]:
    """The same deltas as few; as they came where other events stand between nearly all of them."""
    few = [part for _, alike in groupby(stretches_of(parts), _sort) for part in _as_few(list(alike))]
    return few if len(few) <= _FEW else parts


def _sort(stretch: Stretch) -> tuple[int, int]:
    """What can be joined has the same."""
    delta = stretch.delta
    return (-1, 0) if delta is None else (stretch.block, _KINDS.get(str(delta["type"]), id(delta)))


def _as_few(alike: Sequence[Stretch]) -> Iterator[Part]:
    """At most one for each kind of delta."""
    said: dict[str, list[JsonObject]] = {}
    for each in alike:
        if each.delta is None:
            yield each.raw
        else:
            said.setdefault(str(each.delta["type"]), []).append(each.delta)
    for kind, deltas in said.items():
        yield BlockDelta(alike[0].block, _as_one(kind, deltas))


def _as_one(kind: str, deltas: Sequence[JsonObject]) -> JsonObject:
    member = _MEMBERS.get(kind)
    return deltas[-1] if member is None else {"type": kind, member: "".join([str(each[member]) for each in deltas])}
