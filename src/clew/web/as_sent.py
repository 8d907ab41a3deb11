"""As sent to: a conversation beside what a backend would get of it, each Change at its place.

The two sides are cut into runs, questions and answers in turn, and a run stands beside its run: whatever a dialect makes
of a message (a result becomes a message of its own), it never mixes the two.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby, zip_longest

import msgspec
from msgspec import Struct, structs

from clew.chat.projected import Projected
from clew.model.change import Change, tally
from clew.model.json import JsonObject
from clew.model.origin import Origin
from clew.store.values import Passage
from clew.web.pieces import Piece, blocks_in, pieces_of, sent_pieces

__all__ = ["Compared", "Held", "Pair", "compared"]


class Held(Struct, frozen=True, kw_only=True):
    """A message, on either side."""

    role: str
    pieces: Sequence[Piece]
    origin: Origin | None = None
    before: Sequence[Change] = ()
    """Of the message as a whole."""
    after: Sequence[Change] = ()
    """Of what was put in behind its last block."""


class Pair(Struct, frozen=True):
    """What the client holds, and what goes out for it."""

    held: Sequence[Held]
    sent: Sequence[Held]


class Compared(Struct, frozen=True, kw_only=True):
    backend: str
    model: str
    pairs: Sequence[Pair]
    counts: Sequence[tuple[str, int]]
    elsewhere: Sequence[Change]
    """Changes that belong to no message."""


def compared(projected: Projected, line: Sequence[Passage]) -> Compared:
    at = _by_place(projected.changes)
    held = [_held(index, message, at) for index, message in enumerate(projected.asked)]
    held = [structs.replace(each, origin=origin) for each, origin in zip(held, _origins(line, len(held)), strict=True)]
    sent = [_sent(msgspec.json.decode(raw, type=JsonObject)) for raw in projected.messages]
    kept = sum(_is_thinking(piece) and not piece.changes for each in held for piece in each.pieces)
    return Compared(
        backend=projected.backend,
        model=projected.model,
        pairs=[Pair(*pair) for pair in zip_longest(_runs(held), _runs(sent), fillvalue=())],
        counts=[*([("kept", kept)] if kept else []), *tally(projected.changes).items()],
        elsewhere=[change for rest in at.values() for change in rest],
    )


def _is_thinking(piece: Piece) -> bool:
    return piece.kind in ("thinking", "hidden", "redacted")


def _runs(messages: Sequence[Held]) -> Iterator[list[Held]]:
    for _, run in groupby(messages, key=lambda each: each.role == "assistant"):
        yield list(run)


def _origins(line: Sequence[Passage], length: int) -> list[Origin | None]:
    """Who made each message, by its place in the list; the messages are made from the same line."""
    origins: list[Origin | None] = []
    for passage in line:
        origins += [None] * len(passage.asked)
        if passage.recording and passage.recording.blocks:
            origins.append(passage.recording.origin)
    return [*origins, *([None] * length)][:length]


def _by_place(changes: Iterable[Change]) -> dict[str, list[Change]]:
    """Changes inside a block belong to the block."""
    at: dict[str, list[Change]] = {}
    for change in changes:
        at.setdefault(".".join(change.path.split(".")[:4]), []).append(change)
    return at


def _held(index: int, message: JsonObject, at: dict[str, list[Change]]) -> Held:
    path = f"messages.{index}"
    before = at.pop(path, [])
    pieces = _changed(path, pieces_of(blocks_in(message.get("content"))), at)
    after = [change for place in [*at] if place.startswith(f"{path}.") for change in at.pop(place)]
    return Held(role=str(message.get("role")), pieces=pieces, before=before, after=after)


def _changed(path: str, pieces: Sequence[Piece], at: dict[str, list[Change]]) -> list[Piece]:
    return [
        structs.replace(piece, changes=tuple(at.pop(f"{path}.content.{number}", ()))) for number, piece in enumerate(pieces)
    ]


def _sent(message: JsonObject) -> Held:
    return Held(role=_role(message), pieces=sent_pieces(message))


def _role(message: Mapping[str, object]) -> str:
    return str(message.get("role"))
