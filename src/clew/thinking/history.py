"""The answers in a history, and their recorded thinking put back into them.

Assistant messages in a row are one answer for identity (a client may split one, the API merges them); system-role messages
stand between messages without separating anything, because clients move them about.

`align` puts an answer's thinking back between the visible blocks where it stood. The recording's thinking is the truth, its
visible part is not: the client's copy is what the vendor saw last time, so that stays, whatever the model once said. The two
line up by type, and id or trimmed text, in order; empty texts, which clients add and drop at will, count for nothing. A
client whose dialect has one text for all, and its calls behind it, holds the same words without their places: those are the
recording's. If they do not line up, nothing is put back.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, overload

from msgspec import Struct

from clew.model.blocks import THINKING_TYPES, Block, Made, is_signed, is_thinking, made, string_of, text_block
from clew.model.facts.shapes import can_be_claudes
from clew.model.past import Fold, folded
from clew.model.recording import AnswerContent, Recording
from clew.model.request import Content, RequestMessage
from clew.thinking.keys import (
    ProofRow,
    QuestionContent,
    answer_content,
    key_of,
    keys_of,
    place_of,
    proof_of,
    question_content,
)
from clew.thinking.seal import named_key


class AnswerPiece(Struct, frozen=True, eq=False, gc=False):
    """A block of an answer, and the index of the message that holds it."""

    message: int
    block: Block


class PastAnswer(Struct, frozen=True, eq=False):
    """A run of assistant messages. `pieces` are its blocks in order; `asking` stood between it and the answer before."""

    messages: tuple[int, ...]
    pieces: tuple[AnswerPiece, ...]
    asking: tuple[RequestMessage, ...]
    said: AnswerContent

    @property
    def asked(self) -> QuestionContent:
        return question_content([message.content for message in self.asking])


def answers_of(messages: Sequence[RequestMessage]) -> tuple[PastAnswer, ...]:
    """All answers of a history, oldest first."""
    return PastAnswers(messages)[:]


class PastAnswers(Sequence[PastAnswer]):
    """The answers of a history, each built when it is first read: to read the newest of a long history costs one answer."""

    def __init__(self, messages: Sequence[RequestMessage]) -> None:
        self._messages = messages
        self._built: dict[tuple[int, ...], PastAnswer] = {}
        self.runs = runs_of(messages)

    def __len__(self) -> int:
        return len(self.runs)

    @overload
    def __getitem__(self, index: int) -> PastAnswer: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[PastAnswer, ...]: ...
    def __getitem__(self, index: int | slice) -> PastAnswer | tuple[PastAnswer, ...]:
        if isinstance(index, slice):
            return tuple([self[each] for each in range(*index.indices(len(self.runs)))])
        run = self.runs[index]
        answer = self._built.get(run.messages)
        if answer is None:
            messages = self._messages
            pieces = tuple([AnswerPiece(i, block) for i in run.messages for block in blocks_in(messages[i])])
            answer = PastAnswer(run.messages, pieces, tuple([messages[i] for i in run.asks]), run.said)
            self._built[run.messages] = answer
        return answer


class AnswerRun(NamedTuple):
    """One answer (assistant messages in a row) without its blocks: the indices of its messages and of those that asked for
    it, its keys and its visible content. With its keys and its tool ids it points at recordings."""

    messages: tuple[int, ...] = ()
    asks: tuple[int, ...] = ()
    keys: tuple[bytes, ...] = ()
    said: AnswerContent = AnswerContent()

    def longer(self, index: int, blocks: Sequence[Block]) -> AnswerRun:
        """The same with one more message."""
        keys, said = keys_of(blocks), answer_content(blocks)
        if not self.messages:
            return AnswerRun((index,), self.asks, keys, said)
        together = AnswerContent(self.said.ids + said.ids, self.said.texts + said.texts)
        return AnswerRun((*self.messages, index), self.asks, self.keys + keys, together)


class _Talk(NamedTuple):
    """The runs that have ended, the one that may go on, and what was asked since the last that ended; and before the first,
    once that has begun."""

    over: tuple[AnswerRun, ...] = ()
    last: AnswerRun | None = None
    asks: tuple[int, ...] = ()
    asked: QuestionContent = QuestionContent()
    first: QuestionContent | None = None


def _talk_on(before: _Talk, messages: Sequence[RequestMessage], at: int) -> _Talk:
    over, last, asked, first = list[AnswerRun](), before.last, before.asked, before.first
    asks, asking = [*before.asks], list[Content]()
    for index, message in enumerate(messages, at):
        if message.role == "assistant":
            if last is None:
                last = AnswerRun(asks=tuple(asks))
                first = asked.longer(asking) if first is None else first
            last = last.longer(index, blocks_in(message))
        elif message.role != "system":
            if last is not None:
                over.append(last)
                last, asked, asks, asking = None, QuestionContent(), [], []
            asks.append(index)
            asking.append(message.content)
    return _Talk((*before.over, *over) if over else before.over, last, tuple(asks), asked.longer(asking), first)


_TALK = Fold(_Talk(), _talk_on)


def runs_of(messages: Sequence[RequestMessage]) -> tuple[AnswerRun, ...]:
    """All answers of a history, oldest first, as far as it says without their blocks."""
    talk = folded(messages, _TALK)
    return (*talk.over, talk.last) if talk.last else talk.over


def first_question(messages: Sequence[RequestMessage]) -> QuestionContent:
    """What was asked before the first answer."""
    talk = folded(messages, _TALK)
    return talk.asked if talk.first is None else talk.first


def blocks_in(message: RequestMessage) -> tuple[Block, ...] | tuple[Made, ...]:
    """The blocks of a message. A string is one text block."""
    if isinstance(message.content, str):
        return (text_block(message.content),)
    return message.content or ()


def thoughts_in(message: RequestMessage) -> list[Block]:
    """The thinking blocks of an answer."""
    if message.role != "assistant" or not isinstance(message.content, tuple):
        return []
    return [block for block in message.content if block.type in THINKING_TYPES]


def is_signed_by_vendor(block: Block) -> bool:
    """Whether a block has a signature that can be Claude's: no seal, and nothing that stands in place of a signature."""
    return bool(proof := proof_of(block)) and can_be_claudes(block.type, proof)


class PastThoughts(NamedTuple):
    """The thinking that a history holds."""

    blocks: int = 0
    """How many blocks there are."""
    keys: tuple[bytes, ...] = ()
    """Of those that prove anything, in order."""
    signed: ProofRow = ProofRow()
    """Those that vendors signed,"""
    newest: tuple[int, Block] | None = None
    """and the last of them, with the index of its message."""
    strays: tuple[int, ...] = ()
    """The messages with others: without a signature, or under a seal of clew."""
    sealed: tuple[int, ...] = ()
    """The messages with seals that bring the whole block."""


def _think_on(before: PastThoughts, messages: Sequence[RequestMessage], at: int) -> PastThoughts:
    thoughts = [(index, block) for index, message in enumerate(messages, at) for block in thoughts_in(message)]
    if not thoughts:
        return before
    signed, newest, strays, sealed = list[Block](), before.newest, dict[int, None](), dict[int, None]()
    for index, block in thoughts:
        if is_signed_by_vendor(block):
            signed.append(block)
            newest = index, block
            continue
        strays[index] = None
        if named_key(proof_of(block)):
            sealed[index] = None
    return PastThoughts(
        before.blocks + len(thoughts),
        (*before.keys, *[key for _, block in thoughts if (key := key_of(block))]),
        before.signed.extended(signed),
        newest,
        (*before.strays, *strays),
        (*before.sealed, *sealed),
    )


_THOUGHTS = Fold(PastThoughts(), _think_on)


def thoughts_of(messages: Sequence[RequestMessage]) -> PastThoughts:
    """The thinking of a history."""
    return folded(messages, _THOUGHTS)


def places_of(principal: str, answers: Sequence[PastAnswer]) -> tuple[bytes, ...]:
    """The place of each answer."""
    places: list[bytes] = []
    before: AnswerContent | None = None
    for answer in answers:
        places.append(place_of(principal, answers[0].asked, before, answer.asked, answer.said))
        before = answer.said
    return tuple(places)


def place_after(principal: str, messages: Sequence[RequestMessage], said: AnswerContent) -> bytes:
    """The place of a new answer to this history that said this."""
    talk = folded(messages, _TALK)
    if talk.first is None:
        return place_of(principal, talk.asked, None, talk.asked, said)
    before, since = (talk.last, QuestionContent()) if talk.last else (talk.over[-1], talk.asked)
    return place_of(principal, talk.first, before.said, since, said)


def holds_all(pieces: Sequence[AnswerPiece], recording: Recording) -> bool:
    """Whether the client's copy has exactly the recording's thinking, in its order."""
    own = tuple(key_of(piece.block) for piece in pieces if is_thinking(piece.block))
    return own == recording.keys


def align(pieces: Sequence[AnswerPiece], recording: Recording) -> tuple[AnswerPiece, ...] | None:
    """The client's visible blocks with the recording's thinking, verbatim, between them; None if they do not line up."""
    recorded = [made(raw) for raw in recording.blocks]
    visible: Sequence[AnswerPiece] = [piece for piece in pieces if not is_thinking(piece.block)]
    # The maker's tool ids as the client got them: a safe id may stand for each.
    ids = iter(recording.said.ids)
    tokens = [(type, next(ids, id) if type.endswith("tool_use") else id) for type, id in _tokens(recorded)]
    if tokens != _tokens([piece.block for piece in visible]):
        visible = _apart(visible, recorded, tokens)
    if not visible:
        return None
    held = {key: piece.message for piece in pieces if (key := key_of(piece.block))}
    out = _merge(recorded, visible, [held.get(key) for key in recording.keys])
    ends_in_thinking = is_thinking(out[-1].block) and not is_thinking(recorded[-1])
    return None if ends_in_thinking else tuple(out)


def _apart(
    visible: Sequence[AnswerPiece], recorded: Sequence[Made], tokens: Sequence[tuple[str, str]]
) -> Sequence[AnswerPiece]:
    """The client's visible blocks in the places of the recorded ones, where it holds one text for all of these, and the same
    calls; nothing if it holds anything else."""
    texts = [block for block in recorded if _token(block) and block.type == "text"]
    calls = [piece for piece in visible if _token(piece.block) and piece.block.type != "text"]
    held = [string_of(piece.block.text) for piece in visible if piece.block.type == "text"]
    said = "".join([string_of(block.text) for block in texts])
    if "".join(held).strip() != said.strip() or len({piece.message for piece in visible}) != 1:
        return ()
    if [_token(piece.block) for piece in calls] != [token for token in tokens if token[0] != "text"]:
        return ()
    at, own, call = visible[0].message, iter(texts), iter(calls)
    return [AnswerPiece(at, next(own)) if type == "text" else next(call) for type, _ in tokens]


def _merge(recorded: Sequence[Made], visible: Sequence[AnswerPiece], homes: Sequence[int | None]) -> list[AnswerPiece]:
    """`homes` are the messages in which the client holds each thought: one that it split off stays by itself."""
    out: list[AnswerPiece] = []
    rest, home = iter(visible), iter(homes)
    waiting: list[tuple[Made, int | None]] = []
    for block in recorded:
        if is_thinking(block):
            waiting.append((block, next(home, None)))
        elif _token(block):
            at = out[-1].message if out else 0
            piece = next(rest)
            while not _token(piece.block):  # an empty text stays where the client has it
                out.append(piece)
                piece = next(rest)
            for thought, wanted in waiting:
                # Where the client holds it, if the order allows that; else beside the block that follows it.
                at = wanted if wanted is not None and at <= wanted <= piece.message else piece.message
                out.append(AnswerPiece(at, thought))
            out.append(piece)
            waiting.clear()
    out.extend(rest)
    last = out[-1].message
    out.extend(AnswerPiece(max(last, at or 0), each) for each, at in waiting)
    return out


def _tokens(blocks: Sequence[Block]) -> list[tuple[str, str]]:
    return [token for block in blocks if not is_thinking(block) and (token := _token(block))]


def _token(block: Block) -> tuple[str, str] | None:
    """Type, and text or id, of a visible block; None for an empty text."""
    if block.type == "text":
        text = string_of(block.text).strip()
        return ("text", text) if text else None
    id = block.id if is_signed(block.id) else block.tool_use_id
    return (block.type, id if is_signed(id) else "")
