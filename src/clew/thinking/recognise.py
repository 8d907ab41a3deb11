"""Recognise: which recording is each answer of this history?

From the newest answer back, each is found by the first that works:

a. *block key*: a signed, redacted or sealed block in the client's copy. Exact.
b. *tool id*: exact, since ids that may not be unique never reach a client; all ids of the answer agree.
c. *followed*: the answer before a found one is the one that it followed.
d. *place*: only when the answer after it was not found either, only without tools, and only if one recording fits.

If nothing is found, the answer has no recording. A recording found by b, c or d must say what the client's copy says. A run
of assistant messages, or one into which a client merged them, is split into the recordings whose *said* make it up in order;
its end may be found by c or d. Where a newer answer is found, the recording that it followed overrides the place: a second
conversation with the same words must not lend its blocks.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from clew.model.blocks import is_signed, made
from clew.model.recording import AnswerContent, Recording, Recordings, Shelf
from clew.thinking.history import AnswerPiece, AnswerRun, PastAnswer, PastAnswers, places_of
from clew.thinking.keys import QuestionContent, answer_content, key_of, place_of

_NOTHING = AnswerContent()


class Context(Struct, frozen=True, kw_only=True):
    """The owner of a history, and what its headers say. An empty session is no evidence; no agent is the main thread."""

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
    search = _Search(answers, shelf, context)
    found: list[RecognisedAnswer] = []
    newer: Recording | None = None
    for index in range(len(answers) - 1, -1, -1):
        parts = search.find(index, newer)
        found.extend(reversed(parts))
        newer = parts[0].recording
    return tuple(reversed(found))


def last_recording(answers: PastAnswers, shelf: Recordings, context: Context) -> Recording | None:
    """The recording of the newest answer. No other answer has to be found for it: the search runs from the newest back, and
    nearly always it names itself."""
    if not answers.runs:
        return None
    if one := names_itself(answers.runs[-1], shelf, context):
        return one
    return _Search(answers, shelf, context).find(len(answers) - 1, None)[-1].recording


def names_itself(run: AnswerRun, shelf: Recordings, context: Context) -> Recording | None:
    """The recording of an answer for which no other answer has to be found: all that points at one points at this one, and
    it says what the answer says."""
    found = pointed_at(run, shelf)
    if not found or found.count(found[0]) < len(found):
        return None
    return found[0] if found[0].principal == context.principal and found[0].said == run.said else None


def pointed_at(run: AnswerRun, shelf: Recordings) -> list[Recording]:
    """The recordings that the blocks of an answer point at, one for each that points."""
    found = [each for key in run.keys if (each := shelf.by_key(key))]
    for tool in run.said.ids:
        found += shelf.by_tool(tool)
    return found


class _Candidate(Struct, frozen=True):
    """A recording that a block of an answer points at."""

    recording: Recording
    by_key: bool


class _Search:
    """The search for the recordings of one history. `newer` is always the recording of the answer after."""

    def __init__(self, answers: Sequence[PastAnswer], shelf: Recordings, context: Context) -> None:
        self.answers = answers
        self.shelf = shelf
        self.context = context
        self._places: tuple[bytes, ...] | None = None

    def place(self, index: int) -> bytes:
        """The place of an answer. All are computed when the first is asked for: they are seldom needed."""
        if self._places is None:
            self._places = places_of(self.context.principal, self.answers)
        return self._places[index]

    def find(self, index: int, newer: Recording | None) -> tuple[RecognisedAnswer, ...]:
        answer = self.answers[index]
        if parts := self.by_pointers(answer, newer):
            return parts
        recording: Recording | None = None
        if newer is not None:
            recording = self.followed_by(newer, answer.said)
        elif index == len(self.answers) - 1 or not answer.said.ids:
            recording = self.if_it_says(answer.said, self.by_place(index))
        return (RecognisedAnswer(answer.pieces, recording, answer.messages),)

    # ── by block key or tool id

    def by_pointers(self, answer: PastAnswer, newer: Recording | None) -> tuple[RecognisedAnswer, ...]:
        """The answer as one recording, as several in a row, or message by message; nothing if no block points at one."""
        candidates = self.candidates(answer.pieces)
        if not candidates:
            return ()
        whole = _that_says_all(answer, candidates) or self.as_several(answer, candidates, newer)
        whole = whole or _by_only_key(answer, candidates)
        return whole if whole or len(answer.messages) == 1 else self.by_message(answer, newer)

    def candidates(self, pieces: Sequence[AnswerPiece]) -> list[_Candidate]:
        """The recordings that the blocks point at, in order of first appearance."""
        seen: dict[str, _Candidate] = {}
        for piece in pieces:
            block = piece.block
            found: Sequence[Recording] = ()
            if key := key_of(block):
                recording = self.shelf.by_key(key)
                found = (recording,) if recording else ()
            elif block.type.endswith("tool_use") and isinstance(block.id, str) and block.id:
                found = self.shelf.by_tool(block.id)
            for each in found:
                if each.principal == self.context.principal and (key or each.id not in seen):
                    seen[each.id] = _Candidate(each, key is not None)
        return list(seen.values())

    def as_several(
        self, answer: PastAnswer, candidates: list[_Candidate], newer: Recording | None
    ) -> tuple[RecognisedAnswer, ...]:
        """A run that several recordings make up in order (`pause_turn`), each with the blocks that it said.

        Nothing in its last part may point at a recording: a text that came after a server tool, its thinking dropped.
        """
        parts: list[RecognisedAnswer] = []
        rest = answer.pieces
        for candidate in candidates:
            taken = _blocks_at_head(rest, candidate.recording)
            if not taken:
                return ()
            parts.append(_recognised(rest[:taken], candidate.recording))
            rest = rest[taken:]
        said = answer_content(piece.block for piece in rest)
        if said == _NOTHING:  # blocks that say nothing belong to the last part
            return (*parts[:-1], _recognised([*parts[-1].pieces, *rest], parts[-1].recording))
        ending = self.ending(parts, said, newer)
        return (*parts, _recognised(rest, ending)) if ending else ()

    def ending(self, parts: list[RecognisedAnswer], said: AnswerContent, newer: Recording | None) -> Recording | None:
        """The recording that says the rest: the one that the newer followed, or the only one that went on from here."""
        last = parts[-1].recording
        if newer is not None or last is None:
            return self.followed_by(newer, said)
        before = answer_content(piece.block for part in parts for piece in part.pieces)
        place = place_of(self.context.principal, self.answers[0].asked, before, QuestionContent(), said)
        fits = [each for each in self.shelf.by_place(place) if each.followed == last.id and self.is_same_talk(each)]
        return self.if_it_says(said, fits[0]) if len(fits) == 1 else None

    def by_message(self, answer: PastAnswer, newer: Recording | None) -> tuple[RecognisedAnswer, ...]:
        """Each message by itself, from the newest back; one that nothing points at may be what the newer one followed."""
        parts: list[RecognisedAnswer] = []
        for index in reversed(answer.messages):
            pieces = tuple(piece for piece in answer.pieces if piece.message == index)
            alone = PastAnswer((index,), pieces, answer.asking, answer_content(piece.block for piece in pieces))
            candidates = self.candidates(pieces)
            one = _that_says_all(alone, candidates) or _by_only_key(alone, candidates)
            parts.extend(one or (RecognisedAnswer(pieces, self.followed_by(newer, alone.said), (index,)),))
            newer = parts[-1].recording
        return tuple(reversed(parts)) if any(part.recording for part in parts) else ()

    # ── by the order of answers, or by place

    def followed_by(self, newer: Recording | None, said: AnswerContent) -> Recording | None:
        """The recording that the newer one followed, if it says this."""
        return self.if_it_says(said, self.shelf.by_id(newer.followed) if newer and newer.followed else None)

    def if_it_says(self, said: AnswerContent, recording: Recording | None) -> Recording | None:
        fits = recording is not None and recording.said == said and recording.principal == self.context.principal
        return recording if fits else None

    def by_place(self, index: int) -> Recording | None:
        """The one recording that fits this place; of several, the one whose predecessors fit too."""
        fits = [each for each in self.shelf.by_place(self.place(index)) if self.is_same_talk(each)]
        chains = [(each, each) for each in fits]
        while len(chains) > 1 and index > 0:
            index -= 1
            longer: list[tuple[Recording, Recording]] = []
            for head, oldest in chains:
                prior = self.shelf.by_id(oldest.followed) if oldest.followed else None
                if prior and prior.place == self.place(index):
                    longer.append((head, prior))
            chains = longer
        return chains[0][0] if len(chains) == 1 else None

    def is_same_talk(self, recording: Recording) -> bool:
        """Whether the headers that both sides have agree."""
        if not recording.session or not self.context.session:
            return True
        return (recording.session, recording.agent) == (self.context.session, self.context.agent)


def _that_says_all(answer: PastAnswer, candidates: list[_Candidate]) -> tuple[RecognisedAnswer, ...]:
    fits = [each.recording for each in candidates if each.recording.said == answer.said]
    return (RecognisedAnswer(answer.pieces, fits[0], answer.messages),) if len(fits) == 1 else ()


def _by_only_key(answer: PastAnswer, candidates: list[_Candidate]) -> tuple[RecognisedAnswer, ...]:
    """A key is exact by itself, unless two keys disagree."""
    if len(candidates) == 1 and candidates[0].by_key:
        return (RecognisedAnswer(answer.pieces, candidates[0].recording, answer.messages),)
    return ()


def _blocks_at_head(pieces: Sequence[AnswerPiece], recording: Recording) -> int:
    """How many blocks at the head are this recording's; 0 if they do not say what it says."""
    said = recording.said
    ids = texts = taken = 0
    while taken < len(pieces) and (ids < len(said.ids) or texts < len(said.texts)):
        own = answer_content([pieces[taken].block])
        ids, texts, taken = ids + len(own.ids), texts + len(own.texts), taken + 1
    if answer_content(piece.block for piece in pieces[:taken]) != said:
        return 0
    # Of the next blocks, those that say nothing are its own up to its last thought and its server tools' last result.
    results = {block.tool_use_id for raw in recording.blocks if is_signed((block := made(raw)).tool_use_id)}
    own_end = taken
    for index, piece in enumerate(pieces[taken:], taken + 1):
        if answer_content([piece.block]) != _NOTHING:
            break
        if key_of(piece.block) in recording.keys or piece.block.tool_use_id in results:
            own_end = index
    return own_end


def _recognised(pieces: Sequence[AnswerPiece], recording: Recording | None) -> RecognisedAnswer:
    return RecognisedAnswer(tuple(pieces), recording, tuple(dict.fromkeys(piece.message for piece in pieces)))
