"""The answers in a history.

Assistant messages in a row are one answer for identity (a client may split one, the API merges them); system-role messages
stand between messages without separating anything, because clients move them about.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias, overload

from msgspec import Struct

from clew.model.blocks import Block, Made, text_block
from clew.model.past import Fold, folded
from clew.model.recording import AnswerContent
from clew.model.request import Message
from clew.thinking.keys import QuestionContent, answer_content, place_of, question_content

__all__ = ["AnswerPiece", "PastAnswer", "PastAnswers", "answers_of", "blocks_in", "place_after", "places_of"]


class AnswerPiece(Struct, frozen=True, eq=False, gc=False):
    """A block of an answer, and the message that holds it."""

    message: int
    block: Block


class PastAnswer(Struct, frozen=True, eq=False):
    """A run of assistant messages. `pieces` are its blocks in order; `asked` is what stood between it and the one before."""

    messages: tuple[int, ...]
    pieces: tuple[AnswerPiece, ...]
    asked: QuestionContent
    said: AnswerContent


def answers_of(messages: Sequence[Message]) -> tuple[PastAnswer, ...]:
    """All answers of a history, oldest first."""
    return tuple([_answer(messages, run, asks) for run, asks in _runs(messages)])


class PastAnswers(Sequence[PastAnswer]):
    """The same, each put together when it is asked for: whoever wants the newest of a long history pays for one."""

    def __init__(self, messages: Sequence[Message]) -> None:
        self._messages = messages
        self._runs = _runs(messages)

    def __len__(self) -> int:
        return len(self._runs)

    @overload
    def __getitem__(self, index: int) -> PastAnswer: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[PastAnswer, ...]: ...
    def __getitem__(self, index: int | slice) -> PastAnswer | tuple[PastAnswer, ...]:
        if isinstance(index, slice):
            return tuple([_answer(self._messages, *each) for each in self._runs[index]])
        return _answer(self._messages, *self._runs[index])


_Run: TypeAlias = tuple[tuple[int, ...], tuple[int, ...]]
"""The messages of one answer, and those that asked for it."""


class _Runs(NamedTuple):
    """Those that are over, and the messages of the one that may go on."""

    over: tuple[_Run, ...] = ()
    run: tuple[int, ...] = ()
    asks: tuple[int, ...] = ()


def _runs(messages: Sequence[Message]) -> tuple[_Run, ...]:
    over, run, asks = folded(messages, _RUNS)
    return (*over, (run, asks)) if run else over


def _run_on(before: _Runs, messages: Sequence[Message], at: int) -> _Runs:
    found, run, asks = [*before.over], [*before.run], [*before.asks]
    for index, message in enumerate(messages, at):
        if message.role == "assistant":
            run.append(index)
        elif message.role != "system":
            if run:
                found.append((tuple(run), tuple(asks)))
                run, asks = [], []
            asks.append(index)
    return _Runs(tuple(found), tuple(run), tuple(asks))


_RUNS = Fold(_Runs(), _run_on)


def _answer(messages: Sequence[Message], run: tuple[int, ...], asks: tuple[int, ...]) -> PastAnswer:
    pieces = tuple(AnswerPiece(i, block) for i in run for block in blocks_in(messages[i]))
    asked = question_content(messages[i].content for i in asks)
    return PastAnswer(run, pieces, asked, answer_content(piece.block for piece in pieces))


def blocks_in(message: Message) -> tuple[Block, ...] | tuple[Made, ...]:
    """A string says the same as one text block; nothing says nothing."""
    if isinstance(message.content, str):
        return (text_block(message.content),)
    return message.content or ()


def places_of(principal: str, answers: Sequence[PastAnswer]) -> tuple[bytes, ...]:
    """The place of each answer."""
    places: list[bytes] = []
    before: AnswerContent | None = None
    for answer in answers:
        places.append(place_of(principal, answers[0].asked, before, answer.asked, answer.said))
        before = answer.said
    return tuple(places)


def place_after(
    principal: str, messages: Sequence[Message], said: AnswerContent, answers: Sequence[PastAnswer] | None = None
) -> bytes:
    """The place of an answer that was given to this history and said this; `answers` are the history's, where known."""
    answers = PastAnswers(messages) if answers is None else answers
    last = answers[-1] if answers else None
    rest = messages[last.messages[-1] + 1 :] if last else messages
    since = question_content(m.content for m in rest if m.role not in ("assistant", "system"))
    return place_of(principal, answers[0].asked if answers else since, last.said if last else None, since, said)
