"""Every tool call answered once, right after it, and nothing answered that was not called (R23, R25–R29).

The API reads neighbouring messages of one role as one run. The tool results for an assistant run must lead the user run that
follows, one for each call; anything else there is refused. What is wrong is mended where it stands, by what these two runs
and the ids before them say, so that a history that grows stays mended in the same way:

- a result inside an assistant message moves into a user message at that place (R23);
- a call whose id was used before gets another one, and its result with it (R25);
- results move to the front of the user run that answers (R26);
- a call without a result gets one that says so, as an error (R26);
- a second result for one call is left out (R28); one that answers nothing is said as text, or left out if it says nothing
  (R27);
- a call of the server's that stayed without a result when the user went on is left out (R29).

A legal history is returned as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby
from typing import NamedTuple

from msgspec import Struct

from clew.model.blocks import Block, filler, is_signed, text_block
from clew.model.change import Change
from clew.model.origin import ANTHROPIC
from clew.model.past import Fold, all_of, folded
from clew.model.request import Edited, Message, Request, blocks_of, with_blocks, with_content
from clew.model.target import Target
from clew.pipeline.pairing import Pairing, UsedIds, pair, result_for_unanswered, with_paired_id, with_texts
from clew.pipeline.server_calls import without_abandoned, without_others
from clew.pipeline.step import Facts
from clew.pipeline.values import block_path, is_nothing_but_blank, message_path

__all__ = ["tool_structure"]

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
    request, changes = (request, ()) if _is_sound(request.messages) else _all_mended(request)
    request, served = _served(request, target)
    return request, (*changes, *served)


class _Sound(NamedTuple):
    """Whether every turn that is over is legal; the ids of the calls in them; and of the turn that may go on the calls, the
    blocks of the user run that answers, and whether that run has begun."""

    so_far: bool = True
    used: frozenset[str] = frozenset()
    calls: tuple[Block, ...] = ()
    answers: tuple[Block, ...] = ()
    is_answered: bool = False


def _is_sound(messages: Sequence[Message]) -> bool:
    """Whether nothing has to be mended."""
    sound = folded(messages, _SOUND)
    return sound.so_far and pair(sound.calls, sound.answers, UsedIds(sound.used)).is_legal


def _sound(before: _Sound, messages: Sequence[Message], at: int) -> _Sound:
    if not before.so_far:
        return before
    used, calls, answers, is_answered = UsedIds(before.used), [*before.calls], [*before.answers], before.is_answered
    for message in messages:
        if message.role == "assistant":
            if (is_answered and not pair(calls, answers, used).is_legal) or _has_results(message):
                return _UNSOUND
            calls, answers = ([], []) if is_answered else (calls, answers)
            calls += _calls(message)
            is_answered = False
        elif message.role == "user":
            answers += _stream(message)
            is_answered = True
    return _Sound(True, used.all(), tuple(calls), tuple(answers), is_answered)


_UNSOUND = _Sound(so_far=False)
_SOUND = Fold(_Sound(), _sound)


def _has_results(message: Message) -> bool:
    return "tool_result" in [block.type for block in blocks_of(message)]


def _calls(message: Message) -> tuple[Block, ...]:
    return tuple([block for block in blocks_of(message) if block.type == "tool_use" and is_signed(block.id)])


def _all_mended(request: Request) -> tuple[Request, tuple[Change, ...]]:
    request, moved = _results_out_of_answers(request)
    changes = list(moved)
    used = UsedIds()
    news: dict[int, tuple[Message, ...]] = {}
    for turn in _turns(request.messages):
        request.source.wanted.check()
        pairing = _paired(request, turn, used)
        if not pairing.is_legal:
            pairing = with_texts(pairing)
            news |= _mended(request, turn, pairing)
            changes += _changes(request, turn, pairing)
    if news:
        messages = tuple(new for i, message in enumerate(request.messages) for new in news.get(i, (message,)))
        request = request.with_messages(messages)
    return request, tuple(changes)


def _served(request: Request, target: Target) -> tuple[Request, tuple[Change, ...]]:
    """Other dialects have no calls of the server's: what is said of them there is theirs to say."""
    if target.dialect != "anthropic" or folded(request.messages, _NONE_SERVED):
        return request, ()
    request, others = without_others(request, step=STEP) if target.realm == ANTHROPIC else (request, ())
    request, abandoned = without_abandoned(request, step=STEP)
    return request, others + abandoned


_NONE_SERVED = all_of(
    lambda messages: "server_tool_use" not in [block.type for each in messages for block in blocks_of(each)]
)


def _turns(messages: Sequence[Message]) -> list[_Turn]:
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


def _paired(request: Request, turn: _Turn, used: UsedIds) -> Pairing:
    calls = [call for i in turn.asks for call in _calls(request.messages[i])]
    stream = [block for i in turn.answers for block in _stream(request.messages[i])]
    return pair(calls, stream, used)


_TEXT = text_block("any text")


def _stream(message: Message) -> tuple[Block, ...]:
    """The message's blocks, as far as pairing looks at them: a string is a block that is no result."""
    return (_TEXT,) if isinstance(message.content, str) else blocks_of(message)


def _mended(request: Request, turn: _Turn, pairing: Pairing) -> dict[int, tuple[Message, ...]]:
    """What stands in the place of each message of the turn."""
    asks = {i: (_with_new_ids(request, request.messages[i], pairing),) for i in turn.asks}
    front = _front(request, pairing)
    if not turn.answers:
        last = turn.asks[-1]
        return {**asks, last: (*asks[last], Edited("user", front))}
    return {**asks, **_answers(request, turn.answers, front, pairing)}


def _with_new_ids(request: Request, message: Message, pairing: Pairing) -> Message:
    return with_blocks(message, tuple(with_paired_id(request, block, "id", pairing) for block in blocks_of(message)))


def _front(request: Request, pairing: Pairing) -> tuple[Block, ...]:
    """The results, in the order in which they came, and then one for each call that has none."""
    given = tuple(with_paired_id(request, block, "tool_use_id", pairing) for block in pairing.results)
    return given + tuple(result_for_unanswered(request, pairing.id_of(call)) for call in pairing.unanswered)


def _answers(
    request: Request, indices: Sequence[int], front: tuple[Block, ...], pairing: Pairing
) -> dict[int, tuple[Message, ...]]:
    """The user run with the results in front; a message that held nothing else is gone, unless the run would be."""
    news = {i: _answer(request.messages[i], front if i == indices[0] else (), pairing) for i in indices}
    if any(news.values()):
        return news
    return {**news, indices[0]: (with_content(request.messages[indices[0]], (filler(),)),)}


def _answer(message: Message, front: tuple[Block, ...], pairing: Pairing) -> tuple[Message, ...]:
    if isinstance(message.content, str):
        return (with_content(message, (*front, text_block(message.content))),) if front else (message,)
    blocks = front + _rest(message, pairing)
    return (with_blocks(message, blocks),) if blocks and not _left_alone(message, front, pairing) else ()


def _left_alone(message: Message, front: tuple[Block, ...], pairing: Pairing) -> tuple[Block, ...]:
    """White space that would be all that is left of a message. Beside a result it is legal, alone it is not (R22)."""
    rest = _rest(message, pairing)
    moved = len(rest) < len(blocks_of(message))
    return rest if moved and not front and is_nothing_but_blank(rest) else ()


def _rest(message: Message, pairing: Pairing) -> tuple[Block, ...]:
    """What is no result, and what was said by results that answer nothing."""
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
    blank = [Change(STEP, path(block), "removed", BLANK) for block in _all_left_alone(request, turn, pairing)]
    return (*ids, *moved, *gone, *said, *added, *blank)


def _all_left_alone(request: Request, turn: _Turn, pairing: Pairing) -> list[Block]:
    first = turn.answers[1:] if pairing.results or pairing.unanswered else turn.answers
    return [block for i in first for block in _left_alone(request.messages[i], (), pairing)]


def _paths(request: Request, turn: _Turn) -> Callable[[Block], str]:
    """Says where a block of this turn stood in the client's request, or where one stands that clew made."""
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
    messages: list[Message] = []
    for index, message in enumerate(request.messages):
        results = [block for block in blocks_of(message) if block.type == "tool_result"]
        if message.role != "assistant" or not results:
            messages.append(message)
            continue
        parts = _cut(message)
        kept = {id(block) for part in parts for block in blocks_of(part)}
        blank = [block for block in blocks_of(message) if id(block) not in kept]
        changes.extend(Change(STEP, block_path(request, index, block), "moved", IN_ANSWER) for block in results)
        changes.extend(Change(STEP, block_path(request, index, block), "removed", BLANK) for block in blank)
        messages.extend(parts)
    return request.with_messages(tuple(messages)), tuple(changes)


def _cut(message: Message) -> list[Message]:
    """The message as alternating parts: what it said, as the assistant's; the results in between, as the user's."""
    parts: list[Message] = []
    for is_result, group in groupby(blocks_of(message), key=lambda block: block.type == "tool_result"):
        blocks = tuple(group)
        if is_result:
            parts.append(Edited("user", blocks))
        elif not is_nothing_but_blank(blocks):
            first = all(part.role == "user" for part in parts)
            parts.append(with_blocks(message, blocks) if first else Edited("assistant", blocks))
    return parts
