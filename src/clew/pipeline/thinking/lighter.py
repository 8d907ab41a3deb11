"""A maker that could not read its own entries again gets their text alone, as long as the conversation goes on from there.

The strand of its last answer says so, thought by thought (`model.payload`). What it thought since
then went whole ahead of that answer, or came after it, and goes whole.
"""

from __future__ import annotations

from collections.abc import Sequence

from clew.model.change import Change
from clew.model.payload import reduce_thought
from clew.model.target import Target
from clew.pipeline.step import Facts
from clew.pipeline.thinking.outcomes import STEP, AnswerOutcome, newest_made_by
from clew.thinking.history import AnswerPiece
from clew.thinking.keys import key_of
from clew.thinking.recognise import RecognisedAnswer
from clew.thinking.strands import remarks_of

UNREAD = "its maker could not read it when it gave its last answer: only its text goes"


def as_for_the_last(
    found: Sequence[RecognisedAnswer], own: list[AnswerOutcome], target: Target, facts: Facts
) -> list[AnswerOutcome]:
    """Each answer with its thoughts in the form in which they went ahead of this reader's last one."""
    _, last = newest_made_by(found, target)
    row = remarks_of(last, facts.recordings) if last else frozenset[bytes]()
    return [_as_in(row, outcome) for outcome in own] if row else own


def _as_in(row: frozenset[bytes], outcome: AnswerOutcome) -> AnswerOutcome:
    pieces = tuple(_piece_in(row, piece) for piece in outcome.pieces)
    changed = (new for old, new in zip(outcome.pieces, pieces, strict=True) if new is not old)
    changes = tuple(Change(STEP, f"messages.{piece.message}", "replaced", UNREAD) for piece in changed)
    return AnswerOutcome(pieces, (*outcome.changes, *changes)) if changes else outcome


def _piece_in(row: frozenset[bytes], piece: AnswerPiece) -> AnswerPiece:
    light = reduce_thought(piece.block)
    return AnswerPiece(piece.message, light) if light is not piece.block and key_of(light) in row else piece
