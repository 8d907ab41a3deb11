"""Claude Code transcripts, read: JSON lines, linked by `parentUuid`, one line for each finished block of an answer.

Lines with one `message.id` are one answer. What a person or a tool said belongs to the answer that its parents lead to, so
forks and rewinds find their place; where a parent is unknown, the newest answer stands in. A question that was given up is
kept as a turn without an answer. Sub-agents (`isSidechain`) are conversations of their own. In memory are the answer that is
being read, the questions that nobody answered yet, and a few words for each of the last lines.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

import msgspec
from msgspec import Raw, Struct

from clew.chat.formats.claude_code_lines import Entry, Message, decoded, is_notice, time_of, usage_of, why_broken
from clew.chat.formats.shape import KNOWN, UNREADABLE, Broken, Found, Numbered, Passed, Reading
from clew.chat.formats.weaving import IMPORTED, Chain, Given, Woven, asked_in, id_of, title_of, weave
from clew.store.values import Exchange, Turn, Usage

__all__ = ["read_transcript"]

MOST_LINES: Final = 50_000
"""Lines whose place is remembered. A rewind leads back some hundreds."""

COMPACTED: Final = "compact_boundary"
INTERRUPTED: Final = b"[Request interrupted by user]"
RESULT: Final = b'"tool_result"'

_blocks = msgspec.json.Decoder(list[Raw])


def read_transcript(lines: Iterable[Numbered], reading: Reading) -> Iterator[Found]:
    """Every turn, as soon as it is whole."""
    talks: dict[tuple[str, str], _Talk] = {}
    for number, raw in lines:
        if not raw.strip():
            continue
        try:
            line = decoded(raw)
        except UNREADABLE as error:
            yield Broken(number, why_broken(raw, error))
            continue
        if line is None:
            yield Passed("of another shape")
        else:
            yield from _talk(talks, line[0], reading).take(number, *line)
    for talk in talks.values():
        yield from talk.end()


class _Question(Struct, frozen=True):
    """What was said to the model, and not by it."""

    raw: bytes
    at: float
    name: str


class _Node(Struct, eq=False):
    """An answer, or the beginning; `chain` is where the conversation stands after it, once it was woven."""

    chain: Chain | None = None
    waiting: list[_Question] = []
    """Said after it, and not answered yet."""


class _Spot(NamedTuple):
    """Where a line stands: behind which answer, and whether a question stands between."""

    node: _Node
    asked: bool


class _Open(Struct, kw_only=True, eq=False):
    """An answer of which more lines may come."""

    key: str
    line: int
    follows: _Node
    node: _Node
    asked: list[_Question]
    entry: Entry
    message: Message
    began: float
    ended: float
    blocks: list[bytes] = []
    usage: Usage | None = None


def _talk(talks: dict[tuple[str, str], _Talk], entry: Entry, reading: Reading) -> _Talk:
    name = (entry.session_id or "", (entry.agent_id or "side") if entry.is_sidechain else "")
    if name not in talks:
        talks[name] = _Talk(*name, reading)
    return talks[name]


class _Talk:
    """One conversation of a file."""

    def __init__(self, session: str, agent: str, reading: Reading) -> None:
        self._session, self._agent, self._reading = session, agent, reading
        self._thread = reading.thread_of(session, agent) or id_of("thread", session, agent)
        self._newest = _Node()
        self._spots: dict[str, _Spot] = {}
        self._asking: dict[int, _Node] = {}
        self._again: tuple[_Node, list[_Question]] = (self._newest, [])
        self._open: _Open | None = None
        self._at = reading.at

    def take(self, number: int, entry: Entry, message: Message | None) -> Iterator[Found]:
        """One more line."""
        self._at = time_of(entry) or self._at
        spot = self._spot(entry)
        if message is None or (entry.type == "assistant" and is_notice(message)):
            yield Passed("notice" if message else entry.type or "without a type")
        elif entry.type == "user":
            yield from self._ask(number, spot, entry)
            spot = _Spot(spot.node, True)
        else:
            yield from self._answer(number, spot.node, entry, message)
            spot = _Spot(self._newest, False)
        self._remember(entry, spot)

    def end(self) -> Iterator[Found]:
        """What the file ends with."""
        yield from self._close()
        for node in list(self._asking.values()):
            yield from self._give_up(node)

    def _spot(self, entry: Entry) -> _Spot:
        """Behind its parent. A line without one begins anew, in a file where others have one."""
        found = self._spots.get(entry.parent_uuid or "")
        if found is None and entry.parent_uuid is None and self._begins(entry):
            return _Spot(_Node(), False)
        return found or _Spot(self._newest, True)

    def _begins(self, entry: Entry) -> bool:
        return entry.subtype == COMPACTED or (entry.type == "user" and bool(entry.uuid) and self._newest.chain is not None)

    def _remember(self, entry: Entry, spot: _Spot) -> None:
        if entry.uuid:
            self._spots[entry.uuid] = spot
            if len(self._spots) > MOST_LINES:
                del self._spots[next(iter(self._spots))]

    # What was asked

    def _ask(self, number: int, spot: _Spot, entry: Entry) -> Iterator[Found]:
        raw = bytes(entry.message) if isinstance(entry.message, Raw) else b""
        try:
            asked_in([raw])
        except UNREADABLE as error:
            yield Broken(number, str(error))
            return
        node = spot.node
        if node.waiting and not spot.asked and RESULT not in raw:  # another question in the place of one that was given up
            yield from self._close()
            yield from self._give_up(node)
        name = entry.uuid or id_of(raw.decode("utf-8", "replace"))
        node.waiting.append(_Question(raw, self._at, name))
        self._asking[id(node)] = node

    def _give_up(self, node: _Node) -> Iterator[Found]:
        """Questions that nobody answered are a turn of their own."""
        asked = self._taken(node)
        if asked:
            thread = node.chain.thread if node.chain else self._thread
            exchange = self._exchange(id_of("unanswered", *(each.name for each in asked)), thread, asked[0].at, asked[-1].at)
            exchange = msgspec.structs.replace(exchange, outcome="failed", status=0)
            yield Turn(exchange=exchange, asked=tuple(each.raw for each in asked), title=_title(asked))

    def _taken(self, node: _Node) -> list[_Question]:
        asked, node.waiting = node.waiting, []
        self._asking.pop(id(node), None)
        return asked

    # What was answered

    def _answer(self, number: int, follows: _Node, entry: Entry, message: Message) -> Iterator[Found]:
        key = message.id or entry.uuid or f"{self._session} line {number}"
        if self._open is None or self._open.key != key:
            yield from self._close()
            self._begin(key, number, follows, entry, message)
        assert self._open is not None
        self._open.blocks += _content(message.content)
        self._open.ended, self._open.entry, self._open.message = self._at, entry, message
        self._open.usage = usage_of(message) or self._open.usage

    def _begin(self, key: str, number: int, follows: _Node, entry: Entry, message: Message) -> None:
        asked = self._taken(follows)
        if not asked and self._again[0] is follows:  # a second answer to the same question
            asked = self._again[1]
        self._again, self._newest = (follows, asked), _Node()
        self._open = _Open(
            key=key,
            line=number,
            follows=follows,
            node=self._newest,
            asked=asked,
            entry=entry,
            message=message,
            began=asked[-1].at if asked else self._at,
            ended=self._at,
        )

    def _close(self) -> Iterator[Found]:
        """The answer that was being read is whole: nothing more of it comes."""
        answer, self._open = self._open, None
        if answer is None:
            return
        try:
            woven = weave(self._given(answer), answer.follows.chain, self._reading) if answer.blocks else None
        except UNREADABLE as error:
            self._unsay(answer)
            yield Broken(answer.line, str(error))
            return
        if woven is None:
            self._unsay(answer)
            yield Passed("empty answer")
            return
        answer.node.chain = woven.chain
        yield self._turn(answer, woven) if woven.new else Passed(KNOWN)

    def _unsay(self, answer: _Open) -> None:
        """An answer that is none: what it was asked still waits for one."""
        node = answer.node
        node.chain, node.waiting = answer.follows.chain, [*answer.asked, *node.waiting]
        self._asking[id(node)] = node

    def _given(self, answer: _Open) -> Given:
        return Given(
            name=answer.key,
            model=answer.message.model or "",
            blocks=tuple(answer.blocks),
            asked=tuple(each.raw for each in answer.asked),
            session=self._session,
            agent=self._agent,
            thread=self._thread,
            whole=not _is_interrupted(answer),
        )

    def _turn(self, answer: _Open, woven: Woven) -> Turn:
        recording = woven.recording
        exchange = msgspec.structs.replace(
            self._exchange(recording.id, recording.thread, answer.began, answer.ended),
            asked_model=answer.entry.requested_model or answer.message.model or "",
            backend=recording.origin.backend,
            model=recording.origin.model,
            outcome="whole" if recording.whole else "cut",
            usage=answer.usage,
            streamed=True,
            stop_reason=answer.message.stop_reason or "",
            request_id=answer.entry.request_id or "",
        )
        asked = tuple(each.raw for each in answer.asked)
        return Turn(exchange=exchange, recording=recording, asked=asked, title=_title(answer.asked))

    def _exchange(self, id: str, thread: str, began: float, ended: float) -> Exchange:
        return Exchange(
            id=id,
            principal=self._reading.principal,
            thread=thread,
            started=began,
            ended=ended,
            asked_model="",
            backend=IMPORTED,
            model="",
            session=self._session,
            agent=self._agent,
        )


def _content(raw: Raw) -> list[bytes]:
    """The blocks; a string is one text. Anything else is a block that nobody can read, and is told as such later."""
    try:
        return [bytes(block) for block in _blocks.decode(raw)]
    except msgspec.ValidationError:
        return [bytes(raw) if bytes(raw)[:1] != b'"' else b'{"type":"text","text":%b}' % bytes(raw)]


def _is_interrupted(answer: _Open) -> bool:
    return not answer.message.stop_reason and any(INTERRUPTED in each.raw for each in answer.node.waiting[:1])


def _title(asked: list[_Question]) -> str:
    return title_of(asked_in([each.raw for each in asked]))
