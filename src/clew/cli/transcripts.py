"""Claude Code transcripts: JSON lines, read leniently and repaired without touching anything else.

The format is internal to Claude Code and changes, so a line that is not understood is counted and kept, and a line that is
no JSON at all is reported and kept. Understood are `{"type": "user" | "assistant", "message": {…}}`. An answer is written as
one line for each finished block, all with the same `message.id`, so lines with one id are one message. Lines with
`isSidechain` belong to sub-agents, one thread for each.

A transcript is not a request. Claude Code builds requests from it and repairs on the way what it knows to be wrong: pairs of
calls and results, empty messages, roles. It passes the thinking blocks on as they are, so only these are judged here. For
that, `excerpts` puts them into requests that have nothing else in them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from clew.errors import BodyTooLarge, RequestInvalid
from clew.model.blocks import THINKING_TYPES, filler, well_made
from clew.wire.splice import apply, edit_array, locate, shift
from clew.wire.strict_json import JsonFault, find_fault

MAIN = "main"

_TRANSCRIPT_KEYS = ("uuid", "sessionId", "leafUuid", "messageId", "timestamp", "summary")
_LINES_LOOKED_AT = 50
_EXCERPT_BYTES = 4 * 1024 * 1024
_EXCERPT_ANSWERS = 1_000


class BlockPlace(NamedTuple):
    """Where a block stands: the line, counted from 1, and its index in that line's content."""

    line: int
    block: int

    def __str__(self) -> str:
        return f"line {self.line} content.{self.block}"


class TranscriptAnswer(Struct):
    """One assistant message, put together from its lines: its thinking, and whether it has anything else."""

    model: str
    thinking: list[tuple[BlockPlace, bytes]] = []
    visible: bool = False
    odd: bool = False
    """A thinking block of it cannot be read as one."""


class TranscriptThread(Struct):
    """One conversation of the file: the main one, or a sub-agent's."""

    name: str
    answers: dict[str, TranscriptAnswer] = {}
    messages: int = 0

    @property
    def model(self) -> str:
        """The model of the newest answer."""
        return next((each.model for each in reversed(self.answers.values()) if each.model.strip("<>") == each.model), "")


class Transcript(Struct):
    """The lines as they are, and what was found in them."""

    lines: list[bytes]
    threads: dict[str, TranscriptThread] = {}
    other: Counter[str] = msgspec.field(default_factory=Counter[str])
    broken: list[tuple[int, JsonFault]] = []


class _Message(Struct):
    role: str
    content: Raw
    id: str | None = None
    model: str | None = None


class _Line(Struct, rename="camel"):
    type: str = ""
    message: _Message | UnsetType | None = UNSET
    uuid: str | None = None
    is_sidechain: bool | None = False
    agent_id: str | None = None


class _Kind(Struct):
    type: str


_line = msgspec.json.Decoder(_Line)
_any = msgspec.json.Decoder(Raw)
_object = msgspec.json.Decoder(dict[str, Raw])
_blocks = msgspec.json.Decoder(list[Raw])
_kind = msgspec.json.Decoder(_Kind)


# Reading


def is_transcript(raw: bytes) -> bool:
    """Whether one of the first lines is an object that only a transcript has."""
    for line in raw.split(b"\n", _LINES_LOOKED_AT)[:_LINES_LOOKED_AT]:
        try:
            keys = _object.decode(line)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            continue
        if "messages" not in keys and "type" in keys and any(key in keys for key in _TRANSCRIPT_KEYS):
            return True
    return False


def read_transcript(raw: bytes, progress: Callable[[int], None] | None = None) -> Transcript:
    """Read every line, in order. `progress` gets the bytes of each."""
    transcript = Transcript(raw.split(b"\n"))
    for number, line in enumerate(transcript.lines, 1):
        if line.strip():
            _read_line(transcript, number, line)
        if progress:
            progress(len(line) + 1)
    return transcript


def _read_line(transcript: Transcript, number: int, line: bytes) -> None:
    try:
        try:
            entry = _line.decode(line)
        except msgspec.ValidationError:
            _any.decode(line)  # the complaint may be about the shape of a line that is no JSON further on
            transcript.other["of another shape"] += 1
            return
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        try:
            fault = find_fault(line, str(error))
        except BodyTooLarge as too_deep:
            fault = JsonFault(str(too_deep), 0, 1, 1)
        transcript.broken.append((number, fault))
        return
    if not isinstance(entry.message, _Message) or entry.type not in ("user", "assistant"):
        transcript.other[entry.type or "without a type"] += 1
        return
    name = f"sub-agent {entry.agent_id or ''}".strip() if entry.is_sidechain else MAIN
    thread = transcript.threads.setdefault(name, TranscriptThread(name))
    if entry.type == "user":
        thread.messages += 1
    else:
        _add_answer(thread, number, entry, entry.message)


def _add_answer(thread: TranscriptThread, number: int, entry: _Line, message: _Message) -> None:
    """Add the blocks of this line to the answer that it belongs to."""
    key = message.id or entry.uuid or f"line {number}"
    thread.messages += key not in thread.answers
    answer = thread.answers.setdefault(key, TranscriptAnswer(message.model or ""))
    try:
        blocks = [bytes(block) for block in _blocks.decode(message.content)]
    except msgspec.ValidationError:
        answer.visible = True  # content that is a string: it holds no thinking
        return
    for index, block in enumerate(blocks):
        try:
            is_thinking = _kind.decode(block).type in THINKING_TYPES
        except msgspec.DecodeError:
            is_thinking = False
        if not is_thinking:
            answer.visible = True
            continue
        answer.thinking.append((BlockPlace(number, index), block))
        try:
            well_made(block)
        except msgspec.DecodeError:
            answer.odd = True


# Excerpts


class Excerpt(NamedTuple):
    """A request with nothing in it but thinking, and where each of its blocks came from."""

    raw: bytes
    places: Mapping[tuple[int, int], BlockPlace]


def excerpts(thread: TranscriptThread, model: str) -> Iterator[Excerpt]:
    """The thread's thinking as requests, none of them too large for the vendor. User messages stand between answers, so that
    no rule about anything else applies."""
    group: list[TranscriptAnswer] = []
    size = 0
    thinking = [each for each in thread.answers.values() if each.thinking]
    yield from (_excerpt([each], model) for each in thinking if each.odd)  # alone: nothing around it can be read either
    for answer in (each for each in thinking if not each.odd):
        own = sum(len(block) for _, block in answer.thinking)
        if group and (size + own > _EXCERPT_BYTES or len(group) == _EXCERPT_ANSWERS):
            yield _excerpt(group, model)
            group, size = [], 0
        group.append(answer)
        size += own
    if group:
        yield _excerpt(group, model)


def _excerpt(answers: list[TranscriptAnswer], model: str) -> Excerpt:
    user = b'{"role":"user","content":"."}'
    assistant = b'{"role":"assistant","content":[%b,{"type":"text","text":"."}]}'
    pairs = (b"%b,%b" % (user, assistant % b",".join(block for _, block in each.thinking)) for each in answers)
    raw = b'{"model":%b,"max_tokens":1,"messages":[%b,%b]}' % (msgspec.json.encode(model), b",".join(pairs), user)
    places = {(2 * i + 1, j): place for i, each in enumerate(answers) for j, (place, _) in enumerate(each.thinking)}
    return Excerpt(raw, places)


# Repairing


def without_blocks(transcript: Transcript, drop: Iterable[BlockPlace]) -> Iterator[bytes]:
    """The lines without these blocks; every other line is the same bytes.

    A line that has nothing left keeps its place, since later lines name it as their parent: with an empty list where another
    line of its answer still says something, with the filler where none does. Raises RequestInvalid for a line that cannot be
    edited safely.
    """
    dropped: dict[int, set[int]] = {}
    for place in drop:
        dropped.setdefault(place.line, set()).add(place.block)
    filled: set[int] = set()
    """The last line of every answer of which nothing at all is left."""
    for answer in (answer for thread in transcript.threads.values() for answer in thread.answers.values()):
        all_dropped = all(place.block in dropped.get(place.line, ()) for place, _ in answer.thinking)
        if answer.thinking and all_dropped and not answer.visible:
            filled.add(answer.thinking[-1][0].line)
    for number, line in enumerate(transcript.lines, 1):
        if number not in dropped:
            yield line
            continue
        try:
            start, end = locate(line, ("message", "content"))
        except RequestInvalid as error:
            raise RequestInvalid(f"line {number}: {error}", path=error.path, line=number) from None
        new = {0: [filler().raw]} if number in filled else None
        yield apply(line, shift(edit_array(line[start:end], drop=dropped[number], insert=new), start))
