"""Every tool call answered once, right after it, and nothing answered that was not called (R23, R25–R29).

The API reads neighbouring messages of one role as one run. The tool results for an assistant run must lead the user run that
follows, one for each call; anything else there is refused. A defect is repaired where it stands, from these two runs and the
ids before them alone, so that a history that grows stays repaired in the same way:

- a result inside an assistant message moves into a user message at that place (R23);
- a call whose id was used before gets another one, and its result with it (R25);
- results move to the front of the user run that answers (R26);
- a call without a result gets one that says so, as an error (R26);
- a second result for one call is left out (R28); one that answers nothing is said as text, or left out if it says nothing
  (R27);
- a call of a server tool that stayed without a result when the user went on is left out (R29).

A legal history is returned as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from itertools import groupby
from typing import NamedTuple

from msgspec import Struct

from clew.model.blocks import Block, filler, is_signed, text_block
from clew.model.change import Change
from clew.model.origin import ANTHROPIC, Target
from clew.model.past import Fold, folded
from clew.model.request import Edited, Request, RequestMessage, blocks_of, with_blocks, with_content
from clew.pipeline.findings import findings_in
from clew.pipeline.pairing import Pairing, UsedIds, pair, result_for_unanswered, with_paired_id, with_texts
from clew.pipeline.step import Facts
from clew.pipeline.tool_calls import without_abandoned, without_others
from clew.pipeline.values import block_path, is_nothing_but_blank, message_path

STEP = "tool_structure"

IN_ANSWER = "a tool_result can only be in a user message (R23)"
ID_USED = "an earlier tool_use has this id (R25)"
LATE = "results must come first in the message that answers (R26)"
UNANSWERED = "the call has no result (R26)"
REPEATED = "the call has a result already (R28)"
BLANK = "white space alone is refused (R22)"
ORPHAN = "no call in the message before it (R27)"


class _Turn(Struct, frozen=True, eq=False):
    """An assistant run and the user run that answers it, as message indices; either may be empty."""

    asks: tuple[int, ...]
    answers: tuple[int, ...]


def tool_structure(request: Request, target: Target, facts: Facts) -> tuple[Request, tuple[Change, ...]]:
    """The step."""
    state = folded(request.messages, _LEGALITY)
    is_legal = state.so_far and _is_legal(state.calls, state.answers, state.used)
    request, changes = (request, ()) if is_legal else _repair(request)
    # Other dialects have no calls of server tools, and their writers say what becomes of them there.
    if target.dialect != "anthropic" or not findings_in(request.messages).server_calls:
        return request, changes
    request, others = without_others(request, step=STEP) if target.realm == ANTHROPIC else (request, ())
    request, abandoned = without_abandoned(request, step=STEP)
    return request, (*changes, *others, *abandoned)


class _Legality(NamedTuple):
    """Whether every turn that is over is legal; the ids of the calls in them; and of the turn that may go on the calls, the
    blocks of the user run that answers, and whether that run has begun."""

    so_far: bool = True
    used: frozenset[str] = frozenset()
    calls: tuple[Block, ...] = ()
    answers: tuple[Block, ...] = ()
    is_answered: bool = False


def _legality(before: _Legality, messages: Sequence[RequestMessage], at: int) -> _Legality:
    if not before.so_far:
        return before
    used, calls, answers, is_answered = {*before.used}, [*before.calls], [*before.answers], before.is_answered
    for message in messages:
        if message.role == "assistant":
            has_results = "tool_result" in [block.type for block in blocks_of(message)]
            if (is_answered and not _is_legal(calls, answers, used)) or has_results:
                return _ILLEGAL
            if is_answered:
                used.update([call.id for call in calls if is_signed(call.id)])
                calls, answers = [], []
            calls += _calls(message)
            is_answered = False
        elif message.role == "user":
            answers += _stream(message)
            is_answered = True
    return _Legality(True, frozenset(used), tuple(calls), tuple(answers), is_answered)


def _is_legal(calls: Sequence[Block], stream: Sequence[Block], used: Set[str]) -> bool:
    """Whether the blocks that follow a run begin with one result for each of its calls, and hold no other; and whether the
    ids of the calls are new."""
    ids = {call.id for call in calls}
    answered = [block.tool_use_id for block in stream[: len(calls)] if block.type == "tool_result"]
    others = [block.type for block in stream[len(calls) :]]
    is_paired = len(ids) == len(answered) == len(calls) and ids == set(answered)
    return is_paired and "tool_result" not in others and ids.isdisjoint(used)


_ILLEGAL = _Legality(so_far=False)
_LEGALITY = Fold(_Legality(), _legality)


def _calls(message: RequestMessage) -> tuple[Block, ...]:
    return tuple([block for block in blocks_of(message) if block.type == "tool_use" and is_signed(block.id)])


def _repair(request: Request) -> tuple[Request, tuple[Change, ...]]:
    request, moved = _results_out_of_answers(request)
    changes = list(moved)
    used = UsedIds()
    news: dict[int, tuple[RequestMessage, ...]] = {}
    for turn in _turns(request.messages):
        request.source.wanted.check()
        calls = [call for i in turn.asks for call in _calls(request.messages[i])]
        stream = [block for i in turn.answers for block in _stream(request.messages[i])]
        pairing = pair(calls, stream, used)
        if not pairing.is_legal:
            pairing = with_texts(pairing)
            news |= _repaired_turn(request, turn, pairing)
            changes += _changes(request, turn, pairing)
    if news:
        messages = tuple(new for i, message in enumerate(request.messages) for new in news.get(i, (message,)))
        request = request.with_messages(messages)
    return request, tuple(changes)


def _turns(messages: Sequence[RequestMessage]) -> list[_Turn]:
    """The history as turns. System-role messages stand between without separating anything."""
    turns: list[_Turn] = []
    asks: list[int] = []
    answers: list[int] = []
    for index, message in enumerate(messages):
        if message.role == "assistant" and answers:
            turns.append(_Turn(tuple(asks), tuple(answers)))
            asks, answers = [], []
        if message.role in ("assistant", "user"):
            (asks if message.role == "assistant" else answers).append(index)
    return [*turns, _Turn(tuple(asks), tuple(answers))]


_TEXT = text_block("any text")


def _stream(message: RequestMessage) -> tuple[Block, ...]:
    """The message's blocks, as far as pairing reads them: a string is a block that is no result."""
    return (_TEXT,) if isinstance(message.content, str) else blocks_of(message)


def _repaired_turn(request: Request, turn: _Turn, pairing: Pairing) -> dict[int, tuple[RequestMessage, ...]]:
    """The messages that stand in the place of each message of the turn."""
    news: dict[int, tuple[RequestMessage, ...]] = {}
    for i in turn.asks:
        blocks = [with_paired_id(request, block, "id", pairing) for block in blocks_of(request.messages[i])]
        news[i] = (with_blocks(request.messages[i], tuple(blocks)),)
    # The results, in the order in which they came, and then one for each call that has none.
    front: tuple[Block, ...] = (
        *[with_paired_id(request, block, "tool_use_id", pairing) for block in pairing.results],
        *[result_for_unanswered(request, pairing.id_of(call)) for call in pairing.unanswered],
    )
    if not turn.answers:
        last = turn.asks[-1]
        return {**news, last: (*news[last], Edited("user", front))}
    first = turn.answers[0]
    answers = {i: _answer(request.messages[i], front if i == first else (), pairing) for i in turn.answers}
    if not any(answers.values()):  # a message that held nothing else is gone, unless the run would be
        answers[first] = (with_content(request.messages[first], (filler(),)),)
    return news | answers


def _answer(message: RequestMessage, front: tuple[Block, ...], pairing: Pairing) -> tuple[RequestMessage, ...]:
    """A user message with these results in front; nothing if nothing is left of it."""
    if isinstance(message.content, str):
        return (with_content(message, (*front, text_block(message.content))),) if front else (message,)
    blocks = front + _rest(message, pairing)
    return (with_blocks(message, blocks),) if blocks and not _left_alone(message, front, pairing) else ()


def _left_alone(message: RequestMessage, front: tuple[Block, ...], pairing: Pairing) -> tuple[Block, ...]:
    """The blocks of white space that would be all of a message. Beside a result they are legal, alone they are not (R22)."""
    rest = _rest(message, pairing)
    moved = len(rest) < len(blocks_of(message))
    return rest if moved and not front and is_nothing_but_blank(rest) else ()


def _rest(message: RequestMessage, pairing: Pairing) -> tuple[Block, ...]:
    """The blocks that are no result, and the texts of results that answer nothing."""
    rest: list[Block] = []
    for block in blocks_of(message):
        if block.type != "tool_result":
            rest.append(block)
        else:
            rest.extend(pairing.texts.get(id(block), ()))
    return tuple(rest)


def _changes(request: Request, turn: _Turn, pairing: Pairing) -> tuple[Change, ...]:
    path = _paths(request, turn)
    ids = [Change(STEP, f"{path(call)}.id", "set", ID_USED) for call in pairing.calls if pairing.id_of(call) != call.id]
    moved = [Change(STEP, path(block), "moved", LATE) for block in pairing.late]
    gone = [Change(STEP, path(block), "left out", REPEATED) for block in pairing.repeated]
    said = [
        Change(STEP, path(block), "replaced" if pairing.texts[id(block)] else "left out", ORPHAN)
        for block in pairing.orphans
    ]
    added = [Change(STEP, path(call), "added", UNANSWERED) for call in pairing.unanswered]
    # Results lead the first message of the answer, so white space there does not stand alone.
    unled = turn.answers[1:] if pairing.results or pairing.unanswered else turn.answers
    alone = [block for i in unled for block in _left_alone(request.messages[i], (), pairing)]
    blank = [Change(STEP, path(block), "removed", BLANK) for block in alone]
    return (*ids, *moved, *gone, *said, *added, *blank)


def _paths(request: Request, turn: _Turn) -> Callable[[Block], str]:
    """A function that gives the path of a block of this turn in the client's request, or of one that clew made."""
    source, indices = request.source, (*turn.asks, *turn.answers)
    places = {id(block): (i, j) for i in indices for j, block in enumerate(blocks_of(request.messages[i]))}

    def path(block: Block) -> str:
        source.wanted.check()
        given = source.place_of(block)
        if given is not None:
            return f"messages.{given[0]}.content.{given[1]}"
        index, position = places[id(block)]
        return f"{message_path(request, index)}.content.{position}"

    return path


def _results_out_of_answers(request: Request) -> tuple[Request, tuple[Change, ...]]:
    """Assistant messages cut where results stand in them, which become user messages of their own."""
    changes: list[Change] = []
    messages: list[RequestMessage] = []
    for index, message in enumerate(request.messages):
        results = [block for block in blocks_of(message) if block.type == "tool_result"]
        if message.role != "assistant" or not results:
            messages.append(message)
            continue
        changes.extend(Change(STEP, block_path(request, index, block), "moved", IN_ANSWER) for block in results)
        is_first = True
        for is_result, group in groupby(blocks_of(message), key=lambda block: block.type == "tool_result"):
            blocks = tuple(group)
            if is_result:
                messages.append(Edited("user", blocks))
            elif is_nothing_but_blank(blocks):
                changes.extend(Change(STEP, block_path(request, index, block), "removed", BLANK) for block in blocks)
            else:
                messages.append(with_blocks(message, blocks) if is_first else Edited("assistant", blocks))
                is_first = False
    return request.with_messages(tuple(messages)), tuple(changes)
