"""As sent to: a conversation beside what a backend would get of it, each Change at its place.

The two sides are cut into runs, questions and answers in turn, and a run stands beside its run: whatever a dialect makes
of a message (a result becomes a message of its own), it never mixes the two.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby, zip_longest
from typing import TypeAlias

from msgspec import Struct, structs

from clew.chat.request import Projected, is_answer
from clew.model.blocks import THINKING_TYPES
from clew.model.change import Change, tally
from clew.model.json import JsonObject
from clew.model.origin import Origin
from clew.store.values import Passage
from clew.web.blocks import ShownBlock, blocks_in, shown_blocks
from clew.web.client_form import name_of, sent_blocks


class ComparedMessage(Struct, frozen=True, kw_only=True):
    """A message on one side of a comparison."""

    role: str
    pieces: Sequence[ShownBlock]
    origin: Origin | None = None
    before: Sequence[Change] = ()
    """Of the message as a whole."""
    after: Sequence[Change] = ()
    """Of what was put in behind its last block."""

    @property
    def words(self) -> Sequence[tuple[str, str]]:
        return [(piece.kind, piece.text) for piece in self.pieces]


class MessagePair(Struct, frozen=True):
    """What the client holds, and what goes out for it."""

    held: Sequence[ComparedMessage]
    sent: Sequence[ComparedMessage]

    @property
    def same(self) -> bool:
        """Nothing changes in it, and it reads the same: a narrow page shows it once."""
        quiet = not any(each.before or each.after or any(piece.changes for piece in each.pieces) for each in self.held)
        return quiet and [each.words for each in self.held] == [each.words for each in self.sent]


class Comparison(Struct, frozen=True, kw_only=True):
    """One page of a comparison; the counts are of the whole."""

    backend: str
    model: str
    pairs: Sequence[MessagePair]
    counts: Sequence[tuple[str, int]]
    elsewhere: Sequence[Change]
    """Changes that belong to no message."""


_Changes: TypeAlias = Mapping[int, Mapping[str, list[Change]]]
"""By the message, then by the place in it: "" for the message itself, else a block's. -1 is no message."""


def compare(projected: Projected, line: Sequence[Passage], first: int, last: int) -> Comparison:
    """The pairs from `first` to before `last`. The rest is only counted: a long conversation has thousands."""
    asked, sent = projected.asked, projected.messages
    changes, origins = _by_message(projected.changes), _origins(line, len(asked))
    runs = zip_longest(
        _runs(map(is_answer, asked)),
        _runs(map(is_answer, sent)),
        fillvalue=range(0),
    )
    paths = {change.path for change in projected.changes}
    kept = sum(
        block.get("type") in THINKING_TYPES and f"messages.{index}.content.{number}" not in paths
        for index, message in enumerate(asked)
        for number, block in enumerate(blocks_in(message.get("content")))
    )
    return Comparison(
        backend=projected.backend,
        model=projected.model,
        pairs=[
            MessagePair(
                [_held(asked[index], changes.get(index, {}), origins[index]) for index in one],
                [ComparedMessage(role=name_of(sent[index]), pieces=sent_blocks(sent[index])) for index in other],
            )
            for one, other in [*runs][first:last]
        ],
        counts=[*([("kept", kept)] if kept else []), *tally(projected.changes).items()],
        elsewhere=changes.get(-1, {}).get("", []),
    )


def _runs(is_answer: Iterable[bool]) -> Iterator[range]:
    """The indices of questions and answers in turn."""
    at = 0
    for _, run in groupby(is_answer):
        length = sum(1 for _ in run)
        yield range(at, at + length)
        at += length


def _origins(line: Sequence[Passage], length: int) -> list[Origin | None]:
    """Who made each message, by its index; the messages are made from the same line."""
    origins: list[Origin | None] = []
    for passage in line:
        origins += [None] * len(passage.asked)
        if passage.recording and passage.recording.blocks:
            origins.append(passage.recording.origin)
    return [*origins, *([None] * length)][:length]


def _by_message(changes: Iterable[Change]) -> _Changes:
    """The changes by their places. A change inside a block belongs to the block."""
    found: dict[int, dict[str, list[Change]]] = {}
    for change in changes:
        _, index, *rest = [*change.path.split("."), ""][:4]
        message = int(index) if index.isdecimal() else -1
        found.setdefault(message, {}).setdefault(".".join(rest).rstrip(".") if message >= 0 else "", []).append(change)
    return found


def _held(message: JsonObject, changes: Mapping[str, list[Change]], origin: Origin | None) -> ComparedMessage:
    role = str(message.get("role"))
    views = {f"content.{n}": view for n, view in enumerate(shown_blocks(blocks_in(message.get("content")), role=role))}
    return ComparedMessage(
        role=role,
        pieces=[structs.replace(view, changes=tuple(changes.get(place, ()))) for place, view in views.items()],
        origin=origin,
        before=changes.get("", ()),
        after=[change for place, here in changes.items() if place and place not in views for change in here],
    )
