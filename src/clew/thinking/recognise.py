"""Recognise: which recording is each answer of this history?

From the newest answer back, each is found by the first that works:

a. *block key*: a signed, redacted or sealed block in the client's copy. Exact.
b. *tool id*: exact, since ids that may not be unique never reach a client; all ids of the answer agree.
c. *followed*: the answer before a found one is the one that it followed.
d. *place*: only when the answer after it was not found either, only without tools, and only if one recording fits.

Nothing found means that the answer has no recording. What is found by b, c or d must say what the client's copy says. A
run of assistant messages, or one into which a client merged them, is split into the recordings whose *said* make it up in
order; its end may be found by c or d. Where a newer answer is found, its own memory of what it followed outranks the place:
a second conversation with the same words must not lend its blocks.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from clew.model.blocks import is_signed, made
from clew.model.recording import AnswerContent, Recording, Recordings, Shelf
from clew.thinking.history import AnswerPiece, PastAnswer, places_of
from clew.thinking.keys import QuestionContent, answer_content, key_of, place_of

__all__ = ["Context", "RecognisedAnswer", "last_recording", "recognise"]


class Context(Struct, frozen=True, kw_only=True):
    """Whose history it is, and what its headers say of it. No session is no evidence; no agent is the main thread."""

    principal: str = "local"
    session: str = ""
    agent: str = ""


class RecognisedAnswer(Struct, frozen=True, eq=False):
    """A stretch of the history that is one answer, and its recording if there is one."""

    pieces: tuple[AnswerPiece, ...]
    recording: Recording | None
    messages: tuple[int, ...]


def recognise(answers: Sequence[PastAnswer], shelf: Recordings, context: Context) -> tuple[RecognisedAnswer, ...]:
    """Every answer of the history, oldest first, with its recording where one is found."""
    if isinstance(shelf, Shelf) and shelf.is_empty:  # a gateway without a store: there is nothing to look for
        return tuple([RecognisedAnswer(answer.pieces, None, answer.messages) for answer in answers])
    places = _Places(context.principal, answers)
    found: list[RecognisedAnswer] = []
    newer: Recording | None = None
    for index in range(len(answers) - 1, -1, -1):
        parts = _exact(answers[index], places, newer, shelf, context) or _weak(answers, places, index, newer, shelf, context)
        found.extend(reversed(parts))
        newer = parts[0].recording
    return tuple(reversed(found))


def last_recording(answers: Sequence[PastAnswer], shelf: Recordings, context: Context) -> Recording | None:
    """The recording of the newest answer. No other has to be found for it: each is looked for from the newest back."""
    if not answers:
        return None
    last, places = answers[-1], _Places(context.principal, answers)
    parts = _exact(last, places, None, shelf, context) or _weak(answers, places, len(answers) - 1, None, shelf, context)
    return parts[-1].recording


class _Places:
    """The places of a history's answers, worked out when the first is asked for: they are seldom needed."""

    def __init__(self, principal: str, answers: Sequence[PastAnswer]) -> None:
        self._principal = principal
        self._answers = answers
        self._places: tuple[bytes, ...] | None = None

    def __getitem__(self, index: int) -> bytes:
        if self._places is None:
            self._places = places_of(self._principal, self._answers)
        return self._places[index]

    def after(self, said: AnswerContent, then: AnswerContent) -> bytes:
        """That of an answer which went on, unasked, where this had been said (`pause_turn`)."""
        return place_of(self._principal, self._answers[0].asked, said, QuestionContent(), then)


def _exact(
    answer: PastAnswer, places: _Places, newer: Recording | None, shelf: Recordings, context: Context
) -> tuple[RecognisedAnswer, ...]:
    """By block key or tool id: as one recording, as several in a row, or message by message."""
    candidates = _candidates(answer.pieces, shelf, context)
    if not candidates:
        return ()
    whole = _that_says_all(answer, candidates) or _as_several(answer, candidates, places, newer, shelf, context)
    whole = whole or _by_its_key(answer, candidates)
    if whole or len(answer.messages) == 1:
        return whole
    return _by_message(answer, shelf, context, newer)


class _Candidate(Struct, frozen=True):
    recording: Recording
    by_key: bool


def _candidates(pieces: Sequence[AnswerPiece], shelf: Recordings, context: Context) -> list[_Candidate]:
    """The recordings that the blocks point at, in order of first appearance."""
    seen: dict[str, _Candidate] = {}
    for piece in pieces:
        for each in _pointed_at(piece, shelf):
            recording = each.recording
            if recording.principal != context.principal:
                continue
            if recording.id not in seen or each.by_key:
                seen[recording.id] = each
    return list(seen.values())


def _pointed_at(piece: AnswerPiece, shelf: Recordings) -> list[_Candidate]:
    block = piece.block
    if key := key_of(block):
        recording = shelf.by_key(key)
        return [_Candidate(recording, True)] if recording else []
    if block.type.endswith("tool_use") and isinstance(block.id, str) and block.id:
        return [_Candidate(recording, False) for recording in shelf.by_tool(block.id)]
    return []


def _as_one(answer: PastAnswer, candidates: list[_Candidate]) -> tuple[RecognisedAnswer, ...]:
    """One recording for all."""
    return _that_says_all(answer, candidates) or _by_its_key(answer, candidates)


def _that_says_all(answer: PastAnswer, candidates: list[_Candidate]) -> tuple[RecognisedAnswer, ...]:
    fits = [each.recording for each in candidates if each.recording.said == answer.said]
    return (RecognisedAnswer(answer.pieces, fits[0], answer.messages),) if len(fits) == 1 else ()


def _by_its_key(answer: PastAnswer, candidates: list[_Candidate]) -> tuple[RecognisedAnswer, ...]:
    """A key is exact by itself, unless two keys disagree."""
    if len(candidates) == 1 and candidates[0].by_key:
        return (RecognisedAnswer(answer.pieces, candidates[0].recording, answer.messages),)
    return ()


def _as_several(
    answer: PastAnswer,
    candidates: list[_Candidate],
    places: _Places,
    newer: Recording | None,
    shelf: Recordings,
    context: Context,
) -> tuple[RecognisedAnswer, ...]:
    """A run that several recordings make up in order (`pause_turn`), each with the blocks that it said.

    Nothing in its last one may point at a recording: a text that came after the search, its thinking dropped."""
    parts: list[RecognisedAnswer] = []
    rest = answer.pieces
    for candidate in candidates:
        taken = _made_up_by(rest, candidate.recording)
        if not taken:
            return ()
        parts.append(_found(rest[:taken], candidate.recording))
        rest = rest[taken:]
    return _ended(parts, rest, _ending(parts, rest, places, newer, shelf, context))


def _ended(
    parts: list[RecognisedAnswer], rest: tuple[AnswerPiece, ...], ending: Recording | None
) -> tuple[RecognisedAnswer, ...]:
    """What says nothing belongs to the last part; what says something needs a recording that says it."""
    if answer_content(piece.block for piece in rest) == AnswerContent():
        return (*parts[:-1], _found([*parts[-1].pieces, *rest], parts[-1].recording))
    return (*parts, _found(rest, ending)) if ending else ()


def _ending(
    parts: list[RecognisedAnswer],
    rest: Sequence[AnswerPiece],
    places: _Places,
    newer: Recording | None,
    shelf: Recordings,
    context: Context,
) -> Recording | None:
    """The recording that says the rest: the one that the newer followed, or the only one that went on from this place."""
    said, last = answer_content(piece.block for piece in rest), parts[-1].recording
    if newer is not None or last is None or said == AnswerContent():
        return _followed(newer, said, shelf, context)
    before = answer_content(piece.block for part in parts for piece in part.pieces)
    there = shelf.by_place(places.after(before, said))
    fits = [each for each in there if each.followed == last.id and _same_talk(each, context)]
    return _saying(said, fits[0], context) if len(fits) == 1 else None


def _made_up_by(pieces: Sequence[AnswerPiece], recording: Recording) -> int:
    """How many blocks at the head are this recording's; 0 if they do not say what it says."""
    taken = _prefix_that_says(pieces, recording.said)
    if answer_content(piece.block for piece in pieces[:taken]) != recording.said:
        return 0
    return taken + _unsaid(pieces[taken:], recording)


def _unsaid(pieces: Sequence[AnswerPiece], recording: Recording) -> int:
    """How many more, of those that say nothing, are its own: its last thoughts, and what its server's tools gave."""
    results = {block.tool_use_id for raw in recording.blocks if is_signed((block := made(raw)).tool_use_id)}
    count = 0
    for index, piece in enumerate(pieces, 1):
        if answer_content([piece.block]) != AnswerContent():
            break
        if key_of(piece.block) in recording.keys or piece.block.tool_use_id in results:
            count = index
    return count


def _prefix_that_says(pieces: Sequence[AnswerPiece], said: AnswerContent) -> int:
    """How many blocks at the head say exactly this, its trailing thinking left to the next answer; 0 if they do not."""
    ids, texts = 0, 0
    for count, piece in enumerate(pieces):
        if ids == len(said.ids) and texts == len(said.texts):
            return count
        own = answer_content([piece.block])
        ids, texts = ids + len(own.ids), texts + len(own.texts)
    return len(pieces)


def _by_message(
    answer: PastAnswer, shelf: Recordings, context: Context, newer: Recording | None
) -> tuple[RecognisedAnswer, ...]:
    """Each message by itself, from the newest back; one that nothing points at may be what the newer one followed."""
    parts: list[RecognisedAnswer] = []
    for index in reversed(answer.messages):
        pieces = tuple(piece for piece in answer.pieces if piece.message == index)
        alone = PastAnswer((index,), pieces, answer.asked, answer_content(piece.block for piece in pieces))
        one = _as_one(alone, _candidates(pieces, shelf, context))
        parts.extend(one or (RecognisedAnswer(pieces, _followed(newer, alone.said, shelf, context), (index,)),))
        newer = parts[-1].recording
    return tuple(reversed(parts)) if any(part.recording for part in parts) else ()


def _followed(newer: Recording | None, said: AnswerContent, shelf: Recordings, context: Context) -> Recording | None:
    """The recording that the newer one followed, if it says this."""
    return _saying(said, shelf.by_id(newer.followed) if newer and newer.followed else None, context)


def _saying(said: AnswerContent, recording: Recording | None, context: Context) -> Recording | None:
    fits = recording is not None and recording.said == said and recording.principal == context.principal
    return recording if fits else None


def _found(pieces: Sequence[AnswerPiece], recording: Recording | None) -> RecognisedAnswer:
    return RecognisedAnswer(tuple(pieces), recording, tuple(dict.fromkeys(piece.message for piece in pieces)))


def _weak(
    answers: Sequence[PastAnswer],
    places: _Places,
    index: int,
    newer: Recording | None,
    shelf: Recordings,
    context: Context,
) -> tuple[RecognisedAnswer, ...]:
    """By what the newer answer followed, or else by place."""
    answer = answers[index]
    recording: Recording | None = None
    if newer is not None:
        recording = _followed(newer, answer.said, shelf, context)
    elif index == len(answers) - 1 or not answer.said.ids:
        recording = _saying(answer.said, _by_place(places, index, shelf, context), context)
    return (RecognisedAnswer(answer.pieces, recording, answer.messages),)


def _by_place(places: _Places, index: int, shelf: Recordings, context: Context) -> Recording | None:
    """The one recording that fits this place; of several, the one whose predecessors fit too."""
    fits = [each for each in shelf.by_place(places[index]) if _same_talk(each, context)]
    chains: list[tuple[Recording, Recording | None]] = [(each, each) for each in fits]
    while len(chains) > 1 and index > 0:
        index -= 1
        chains = [(head, prior) for head, at in chains if (prior := _prior(at, places[index], shelf))]
    return chains[0][0] if len(chains) == 1 else None


def _prior(at: Recording | None, place: bytes, shelf: Recordings) -> Recording | None:
    prior = shelf.by_id(at.followed) if at and at.followed else None
    return prior if prior and prior.place == place else None


def _same_talk(recording: Recording, context: Context) -> bool:
    """Headers that both sides have must agree."""
    if not recording.session or not context.session:
        return True
    return (recording.session, recording.agent) == (context.session, context.agent)
