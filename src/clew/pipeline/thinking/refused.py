"""What a vendor of the Anthropic dialect refused does not go to it again, as long as the conversation goes on from there.

A reader of the realm `anthropic` gets the strand of its last answer and nothing else. An open one gets all of its own back,
unless that strand bears the mark of a repair: then what is not in it was refused, and what came since goes.
"""

from __future__ import annotations

from collections.abc import Sequence

from clew.model.change import Change
from clew.model.target import Target
from clew.pipeline.step import Facts
from clew.pipeline.thinking.newest import newest_made
from clew.pipeline.thinking.pieces import STEP, Outcome
from clew.thinking.history import AnswerPiece
from clew.thinking.keys import key_of
from clew.thinking.recognise import RecognisedAnswer
from clew.thinking.strands import LEFT_OUT, remarks_of, strand_keys

__all__ = ["without_refused"]

REFUSED_BEFORE = "its maker refused it before it gave its last answer"


def without_refused(found: Sequence[RecognisedAnswer], own: list[Outcome], target: Target, facts: Facts) -> list[Outcome]:
    """Each answer ahead of this reader's last one with the thinking that went ahead of that."""
    at, last = newest_made(found, target)
    if last is None or LEFT_OUT not in remarks_of(last, facts.recordings):
        return own
    row = frozenset(strand_keys(last, facts.recordings))
    return [*(_as_in(row, outcome) for outcome in own[:at]), *own[at:]]


def _as_in(row: frozenset[bytes], outcome: Outcome) -> Outcome:
    pieces = tuple(piece for piece in outcome.pieces if _went(piece, row))
    out = (piece for piece in outcome.pieces if not _went(piece, row))
    changes = tuple(Change(STEP, f"messages.{piece.message}", "left out", REFUSED_BEFORE) for piece in out)
    return Outcome(pieces, (*outcome.changes, *changes)) if changes else outcome


def _went(piece: AnswerPiece, row: frozenset[bytes]) -> bool:
    """What has no proof has no key either; nobody refuses it for one."""
    key = key_of(piece.block)
    return key is None or key in row
