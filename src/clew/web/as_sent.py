"""As sent to: a conversation beside what a backend would get of it, each Change at its place.

The two sides are cut into runs, questions and answers in turn, and a run stands beside its run: whatever a dialect makes
of a message (a result becomes a message of its own), it never mixes the two.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby, zip_longest
from typing import TypeAlias

import msgspec
from msgspec import Raw, Struct, structs

from clew.chat.projected import Projected
from clew.model.blocks import THINKING_TYPES
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

    @property
    def words(self) -> Sequence[tuple[str, str]]:
        return [(piece.kind, piece.text) for piece in self.pieces]


class Pair(Struct, frozen=True):
    """What the client holds, and what goes out for it."""

    held: Sequence[Held]
    sent: Sequence[Held]

    @property
    def same(self) -> bool:
        """Nothing is said about it, and it reads the same: a narrow page shows it once."""
        quiet = not any(each.before or each.after or any(piece.changes for piece in each.pieces) for each in self.held)
        return quiet and [each.words for each in self.held] == [each.words for each in self.sent]


class Compared(Struct, frozen=True, kw_only=True):
    """One page of a comparison; the counts are of the whole."""

    backend: str
    model: str
    pairs: Sequence[Pair]
    counts: Sequence[tuple[str, int]]
    elsewhere: Sequence[Change]
    """Changes that belong to no message."""


def compared(projected: Projected, line: Sequence[Passage], first: int, last: int) -> Compared:
    """The pairs from `first` to before `last`. The rest is only counted: a long conversation has thousands."""
    at = _by_message(projected.changes)
    asked, sent = projected.asked, projected.messages
    origins = _origins(line, len(asked))
    runs = zip_longest(_runs([_is_answer(each) for each in asked]), _runs(map(_is_raw_answer, sent)), fillvalue=range(0))
    return Compared(
        backend=projected.backend,
        model=projected.model,
        pairs=[
            Pair([_held(index, asked[index], at, origins[index]) for index in one], [_sent(sent[index]) for index in other])
            for one, other in [*runs][first:last]
        ],
        counts=[*_kept(projected), *tally(projected.changes).items()],
        elsewhere=at.get(-1, {}).get("", []),
    )


def _is_answer(message: JsonObject) -> bool:
    return message.get("role") == "assistant"


class _Role(Struct):
    role: str = ""


def _is_raw_answer(message: Raw) -> bool:
    return msgspec.json.decode(message, type=_Role).role == "assistant"


def _runs(answers: Iterable[bool]) -> Iterator[range]:
    """Questions and answers in turn, by their places."""
    at = 0
    for _, run in groupby(answers):
        length = sum(1 for _ in run)
        yield range(at, at + length)
        at += length


def _kept(projected: Projected) -> list[tuple[str, int]]:
    """How many thinking blocks go as they are: those that nothing is said about."""
    places = {change.path for change in projected.changes}
    thoughts = [
        f"messages.{index}.content.{number}"
        for index, message in enumerate(projected.asked)
        for number, block in enumerate(blocks_in(message.get("content")))
        if block.get("type") in THINKING_TYPES
    ]
    count = sum(place not in places for place in thoughts)
    return [("kept", count)] if count else []


def _origins(line: Sequence[Passage], length: int) -> list[Origin | None]:
    """Who made each message, by its place in the list; the messages are made from the same line."""
    origins: list[Origin | None] = []
    for passage in line:
        origins += [None] * len(passage.asked)
        if passage.recording and passage.recording.blocks:
            origins.append(passage.recording.origin)
    return [*origins, *([None] * length)][:length]


_Places: TypeAlias = Mapping[int, Mapping[str, list[Change]]]
"""By the message, then by the place in it: "" for the message itself, else a block's. -1 is no message."""


def _by_message(changes: Iterable[Change]) -> _Places:
    """Changes inside a block belong to the block."""
    at: dict[int, dict[str, list[Change]]] = {}
    for change in changes:
        _, index, *rest = [*change.path.split("."), ""][:4]
        message = int(index) if index.isdecimal() else -1
        at.setdefault(message, {}).setdefault(".".join(rest).rstrip(".") if message >= 0 else "", []).append(change)
    return at


def _held(index: int, message: JsonObject, at: _Places, origin: Origin | None) -> Held:
    here = at.get(index, {})
    pieces = pieces_of(blocks_in(message.get("content")), role=str(message.get("role")))
    places = {f"content.{number}" for number in range(len(pieces))}
    return Held(
        role=str(message.get("role")),
        pieces=[
            structs.replace(piece, changes=tuple(here.get(f"content.{number}", ()))) for number, piece in enumerate(pieces)
        ],
        origin=origin,
        before=here.get("", ()),
        after=[change for place, changes in here.items() if place and place not in places for change in changes],
    )


def _sent(raw: Raw) -> Held:
    message = msgspec.json.decode(raw, type=JsonObject)
    return Held(role=str(message.get("role")), pieces=sent_pieces(message))
