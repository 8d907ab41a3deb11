"""Claude Code transcripts: the reader of JSON lines, linked by `parentUuid`, one line for each finished block of an answer.

Lines with the same `message.id` are one answer. A line of the user or a tool belongs to the answer that its parents lead to,
so forks and rewinds find their place; if a parent is unknown, the newest answer is used. An abandoned question is kept as a
turn without an answer. Sub-agents (`isSidechain`) are conversations of their own. In memory are the answer that is being
read, the open questions, and the positions of the last lines.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple

from msgspec import Raw, Struct, structs

from clew.chat.formats.answers import IMPORTED, Chain, FileAnswer, ImportedAnswer, asked_in, hash_of, import_answer
from clew.chat.formats.claude_code_lines import (
    TranscriptLine,
    TranscriptMessage,
    blocks_in,
    decode_line,
    fits,
    is_notice,
    time_of,
    usage_of,
    why_broken,
    write,
)
from clew.chat.formats.documents import FOREIGN, MARKS
from clew.chat.formats.format import KNOWN, UNREADABLE, BrokenLine, Format, ImportContext, NumberedLine, ReadItem, Skipped
from clew.exchange.turns import titled
from clew.model.turn import Exchange, TokenUsage, TurnRecord

_MOST_POSITIONS: Final = 50_000
"""How many lines' positions are kept. A rewind goes back some hundreds of lines."""

_COMPACTED: Final = "compact_boundary"
_INTERRUPTED: Final = b"[Request interrupted by user]"
_RESULT: Final = b'"tool_result"'


def read_transcript(lines: Iterable[NumberedLine], context: ImportContext) -> Iterator[ReadItem]:
    """Every turn, as soon as its last line was read."""
    conversations: dict[tuple[str, str], _Conversation] = {}
    for number, raw in lines:
        if not raw.strip():
            continue
        try:
            decoded = decode_line(raw)
        except UNREADABLE as error:
            yield BrokenLine(number, why_broken(raw, error))
            continue
        if decoded is None:
            yield Skipped("of another shape")
            continue
        line = decoded[0]
        name = (line.session_id or "", (line.agent_id or "side") if line.is_sidechain else "")
        if name not in conversations:
            conversations[name] = _Conversation(*name, context)
        yield from conversations[name].read_line(number, *decoded)
    for conversation in conversations.values():
        yield from conversation.end()


class _Question(Struct, frozen=True):
    """A message to the model, and the name under which an unanswered question is stored."""

    raw: bytes
    at: float
    name: str


class _Node(Struct, eq=False):
    """An answer, or the beginning. `chain` is the conversation's position after it, once the answer was imported."""

    chain: Chain | None = None
    open_questions: list[_Question] = []
    """Asked after this answer, and not answered yet."""


class _Position(NamedTuple):
    """Where a line is: after which answer, and whether a question is in between."""

    node: _Node
    asked: bool


class _OpenAnswer(Struct, kw_only=True, eq=False):
    """An answer of which more lines may come."""

    key: str
    number: int
    follows: _Node
    node: _Node
    asked: list[_Question]
    line: TranscriptLine
    message: TranscriptMessage
    began: float
    ended: float = 0.0
    blocks: list[bytes] = []
    usage: TokenUsage | None = None


class _Conversation:
    """The conversation of one transcript, as its lines are read."""

    def __init__(self, session: str, agent: str, context: ImportContext) -> None:
        self._session, self._agent, self._context = session, agent, context
        self._thread = context.thread_of(session, agent) or hash_of("thread", session, agent)
        self._newest = _Node()
        self._positions: dict[str, _Position] = {}
        self._asking: dict[int, _Node] = {}
        """The nodes with open questions, in the order in which they were asked."""
        self._last_asked: tuple[_Node, list[_Question]] = (self._newest, [])
        self._open: _OpenAnswer | None = None
        self._at = context.at

    def read_line(self, number: int, line: TranscriptLine, message: TranscriptMessage | None) -> Iterator[ReadItem]:
        """Add one line to the conversation."""
        self._at = time_of(line) or self._at
        position = self._positions.get(line.parent_uuid or "")
        if position is None:
            # A line without a parent begins again, in a file where other lines have one.
            is_later = line.type == "user" and bool(line.uuid) and self._newest.chain is not None
            begins = line.parent_uuid is None and (line.subtype == _COMPACTED or is_later)
            position = _Position(_Node(), False) if begins else _Position(self._newest, True)
        if message is None or (line.type == "assistant" and is_notice(message)):
            yield Skipped("notice" if message else line.type or "without a type")
        elif line.type == "user":
            yield from self._read_question(number, position, line)
            position = _Position(position.node, True)
        else:
            yield from self._read_answer(number, position.node, line, message)
            position = _Position(self._newest, False)
        if line.uuid:
            self._positions[line.uuid] = position
            if len(self._positions) > _MOST_POSITIONS:
                del self._positions[next(iter(self._positions))]

    def end(self) -> Iterator[ReadItem]:
        """The last answer, and every question that has no answer."""
        yield from self._close_answer()
        for node in list(self._asking.values()):
            yield from self._give_up(node)

    # Questions

    def _read_question(self, number: int, position: _Position, line: TranscriptLine) -> Iterator[ReadItem]:
        raw = bytes(line.message) if isinstance(line.message, Raw) else b""
        try:
            asked_in([raw])
        except UNREADABLE as error:
            yield BrokenLine(number, str(error))
            return
        node = position.node
        if node.open_questions and not position.asked and _RESULT not in raw:  # it replaces an abandoned question
            yield from self._close_answer()
            yield from self._give_up(node)
        name = line.uuid or hash_of(raw.decode("utf-8", "replace"))
        node.open_questions.append(_Question(raw, self._at, name))
        self._asking[id(node)] = node

    def _give_up(self, node: _Node) -> Iterator[ReadItem]:
        """Make a turn without an answer from the open questions of a node."""
        asked = self._take_questions(node)
        if asked:
            thread = node.chain.thread if node.chain else self._thread
            turn_id = hash_of("unanswered", *(each.name for each in asked))
            exchange = self._exchange(turn_id, thread, asked[0].at, asked[-1].at, outcome="failed", status=0)
            yield TurnRecord(exchange=exchange, asked=tuple(each.raw for each in asked), title=_title(asked))

    def _take_questions(self, node: _Node) -> list[_Question]:
        asked, node.open_questions = node.open_questions, []
        self._asking.pop(id(node), None)
        return asked

    # Answers

    def _read_answer(
        self, number: int, follows: _Node, line: TranscriptLine, message: TranscriptMessage
    ) -> Iterator[ReadItem]:
        key = message.id or line.uuid or f"{self._session} line {number}"
        answer = self._open
        if answer is None or answer.key != key:
            yield from self._close_answer()
            asked = self._take_questions(follows)
            if not asked and self._last_asked[0] is follows:  # a second answer to the same question
                asked = self._last_asked[1]
            self._last_asked, self._newest = (follows, asked), _Node()
            began = asked[-1].at if asked else self._at
            answer = self._open = _OpenAnswer(
                key=key,
                number=number,
                follows=follows,
                node=self._newest,
                asked=asked,
                began=began,
                line=line,
                message=message,
            )
        answer.blocks += blocks_in(message.content)
        answer.ended, answer.line, answer.message = self._at, line, message
        answer.usage = usage_of(message) or answer.usage

    def _close_answer(self) -> Iterator[ReadItem]:
        """Import the open answer: no more of its lines come."""
        answer, self._open = self._open, None
        if answer is None:
            return
        problem: ReadItem = Skipped("empty answer")
        imported = None
        try:
            if answer.blocks:
                imported = import_answer(self._file_answer(answer), answer.follows.chain, self._context)
        except UNREADABLE as error:
            problem = BrokenLine(answer.number, str(error))
        node = answer.node
        if imported is None:  # its questions still wait for an answer
            node.chain, node.open_questions = answer.follows.chain, [*answer.asked, *node.open_questions]
            self._asking[id(node)] = node
            yield problem
            return
        node.chain = imported.chain
        yield self._turn_of(answer, imported) if imported.new else Skipped(KNOWN)

    def _file_answer(self, answer: _OpenAnswer) -> FileAnswer:
        next_question = answer.node.open_questions[:1]
        is_interrupted = not answer.message.stop_reason and any(_INTERRUPTED in each.raw for each in next_question)
        return FileAnswer(
            name=answer.key,
            model=answer.message.model or "",
            blocks=tuple(answer.blocks),
            asked=tuple(each.raw for each in answer.asked),
            session=self._session,
            agent=self._agent,
            thread=self._thread,
            whole=not is_interrupted,
        )

    def _turn_of(self, answer: _OpenAnswer, imported: ImportedAnswer) -> TurnRecord:
        recording = imported.recording
        exchange = self._exchange(
            recording.id,
            recording.thread,
            answer.began,
            answer.ended,
            asked_model=answer.line.requested_model or answer.message.model or "",
            backend=recording.origin.backend,
            model=recording.origin.model,
            outcome="whole" if recording.whole else "cut",
            usage=answer.usage,
            streamed=True,
            stop_reason=answer.message.stop_reason or "",
            request_id=answer.line.request_id or "",
        )
        asked = tuple(each.raw for each in answer.asked)
        return TurnRecord(exchange=exchange, recording=recording, asked=asked, title=_title(answer.asked))

    def _exchange(self, id: str, thread: str, began: float, ended: float, **more: Any) -> Exchange:
        own = Exchange(
            id=id,
            principal=self._context.principal,
            thread=thread,
            started=began,
            ended=ended,
            asked_model="",
            backend=IMPORTED,
            model="",
            session=self._session,
            agent=self._agent,
            client="Claude Code",
        )
        return structs.replace(own, **more)


def _title(asked: list[_Question]) -> str:
    return titled(asked_in([each.raw for each in asked]))


CLAUDE_CODE = Format(
    name="claude-code",
    suffix=".jsonl",
    does="A Claude Code transcript, one line for each block.",
    losses=(
        FOREIGN,
        "the backend and account of each answer, and the changes to its request",
        "the model that answered, if the client asked for another one",
        MARKS,
        "Claude Code's attachments (a model that binds its thinking to all text before it then drops that thinking)",
    ),
    write=write,
    read=read_transcript,
    fits=fits,
)
