"""Claude Code transcripts: JSON lines, read leniently and mended without touching anything else.

The format is internal to Claude Code and changes, so a line that is not understood is counted and kept, and a line that is
no JSON at all is named and kept. Understood are `{"type": "user" | "assistant", "message": {…}}`. An answer is written as
one line for each finished block, all with the same `message.id`, so lines with one id are one message. Lines with
`isSidechain` belong to sub-agents, one conversation for each.

A transcript is not a request. Claude Code builds requests from it and repairs on the way what it knows to be wrong: pairs of
calls and results, empty messages, roles. The thinking blocks it passes on as they are, and these alone are judged here. For
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

__all__ = ["MAIN", "Answer", "Excerpt", "Place", "Talk", "Transcript", "excerpts", "looks_like_transcript", "mended", "read"]

MAIN = "main"

_TELLING = ("uuid", "sessionId", "leafUuid", "messageId", "timestamp", "summary")
_LOOKED_AT = 50
_EXCERPT_BYTES = 4 * 1024 * 1024
_EXCERPT_ANSWERS = 1_000


class Place(NamedTuple):
    """Where a block stands: the line, counted from 1, and its index in that line's content."""

    line: int
    block: int

    def __str__(self) -> str:
        return f"line {self.line} content.{self.block}"


class Answer(Struct):
    """One assistant message, put together from its lines: its thinking, and whether it has anything else."""

    model: str
    thinking: list[tuple[Place, bytes]] = []
    visible: bool = False
    odd: bool = False
    """Has a block that cannot be read as one."""


class Talk(Struct):
    """One conversation of the file: the main one, or a sub-agent's."""

    name: str
    answers: dict[str, Answer] = {}
    messages: int = 0

    @property
    def model(self) -> str:
        """The model that answered last."""
        return next((each.model for each in reversed(self.answers.values()) if each.model.strip("<>") == each.model), "")


class Transcript(Struct):
    """The lines as they are, and what was found in them."""

    lines: list[bytes]
    talks: dict[str, Talk] = {}
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
_loose = msgspec.json.Decoder(dict[str, Raw])
_blocks = msgspec.json.Decoder(list[Raw])
_kind = msgspec.json.Decoder(_Kind)


def looks_like_transcript(raw: bytes) -> bool:
    """Whether one of the first lines is an object of its own that only a transcript has."""
    return any(map(_is_telling, raw.split(b"\n", _LOOKED_AT)[:_LOOKED_AT]))


def _is_telling(line: bytes) -> bool:
    try:
        keys = _loose.decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return False
    return "messages" not in keys and "type" in keys and any(key in keys for key in _TELLING)


def read(raw: bytes, progress: Callable[[int], None] | None = None) -> Transcript:
    """Every line, in order. `progress` is told the bytes of each."""
    transcript = Transcript(raw.split(b"\n"))
    for number, line in enumerate(transcript.lines, 1):
        if line.strip():
            _read_line(transcript, number, line)
        if progress:
            progress(len(line) + 1)
    return transcript


def _read_line(transcript: Transcript, number: int, line: bytes) -> None:
    try:
        entry = _decoded(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        transcript.broken.append((number, _fault(line, error)))
        return
    if entry is None:
        transcript.other["of another shape"] += 1
    elif not isinstance(entry.message, _Message) or entry.type not in ("user", "assistant"):
        transcript.other[entry.type or "without a type"] += 1
    else:
        _enter(_talk(transcript, entry), number, entry, entry.message)


def _decoded(line: bytes) -> _Line | None:
    """The line; None for JSON of another shape. Raises what the decoder raises for what is no JSON."""
    try:
        return _line.decode(line)
    except msgspec.ValidationError:
        _any.decode(line)  # the first complaint may have been about the shape of something that is broken further on
        return None


def _fault(line: bytes, error: Exception) -> JsonFault:
    try:
        return find_fault(line, str(error))
    except BodyTooLarge as too_deep:
        return JsonFault(str(too_deep), 0, 1, 1)


def _talk(transcript: Transcript, entry: _Line) -> Talk:
    name = f"sub-agent {entry.agent_id or ''}".strip() if entry.is_sidechain else MAIN
    return transcript.talks.setdefault(name, Talk(name))


def _enter(talk: Talk, number: int, entry: _Line, message: _Message) -> None:
    if entry.type == "user":
        talk.messages += 1
        return
    key = message.id or entry.uuid or f"line {number}"
    talk.messages += key not in talk.answers
    answer = talk.answers.setdefault(key, Answer(message.model or ""))
    for index, block in enumerate(_content(message.content)):
        if _type_of(block) in THINKING_TYPES:
            answer.thinking.append((Place(number, index), block))
            answer.odd = answer.odd or not _is_readable(block)
        else:
            answer.visible = True


def _content(raw: Raw) -> list[bytes]:
    """The blocks; one stand-in for content that is a string, which is visible and holds no thinking."""
    try:
        return [bytes(block) for block in _blocks.decode(raw)]
    except msgspec.ValidationError:
        return [b""]


def _type_of(block: bytes) -> str:
    try:
        return _kind.decode(block).type
    except msgspec.DecodeError:
        return ""


def _is_readable(block: bytes) -> bool:
    try:
        well_made(block)
    except msgspec.DecodeError:
        return False
    return True


class Excerpt(NamedTuple):
    """A request with nothing in it but thinking, and where each of its blocks came from."""

    raw: bytes
    places: Mapping[tuple[int, int], Place]


def excerpts(talk: Talk, model: str) -> Iterator[Excerpt]:
    """The talk's thinking as requests, none of them too large for the vendor. User messages stand between answers, so that
    no rule about anything else has a say."""
    group: list[Answer] = []
    size = 0
    thinking = [each for each in talk.answers.values() if each.thinking]
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


def _excerpt(answers: list[Answer], model: str) -> Excerpt:
    asked = b'{"role":"user","content":"."}'
    said = b'{"role":"assistant","content":[%b,{"type":"text","text":"."}]}'
    pairs = (b"%b,%b" % (asked, said % b",".join(block for _, block in each.thinking)) for each in answers)
    raw = b'{"model":%b,"max_tokens":1,"messages":[%b,%b]}' % (msgspec.json.encode(model), b",".join(pairs), asked)
    places = {(2 * i + 1, j): place for i, each in enumerate(answers) for j, (place, _) in enumerate(each.thinking)}
    return Excerpt(raw, places)


def mended(transcript: Transcript, drop: Iterable[Place]) -> Iterator[bytes]:
    """The lines without these blocks; every other line is the very same bytes.

    A line that has nothing left keeps its place, since later lines name it as their parent: with an empty list where another
    line of its answer still says something, with the filler where none does. Raises RequestInvalid for a line that cannot be
    edited safely.
    """
    wanted: dict[int, set[int]] = {}
    for place in drop:
        wanted.setdefault(place.line, set()).add(place.block)
    silent = _silent_lines(transcript, wanted)
    for number, line in enumerate(transcript.lines, 1):
        yield _without(number, line, wanted[number], filled=number in silent) if number in wanted else line


def _silent_lines(transcript: Transcript, wanted: Mapping[int, set[int]]) -> set[int]:
    """The last line of every answer of which nothing at all is left."""
    silent: set[int] = set()
    for talk in transcript.talks.values():
        for answer in talk.answers.values():
            gone = bool(answer.thinking) and all(place.block in wanted.get(place.line, ()) for place, _ in answer.thinking)
            if gone and not answer.visible:
                silent.add(answer.thinking[-1][0].line)
    return silent


def _without(number: int, line: bytes, indices: set[int], *, filled: bool) -> bytes:
    try:
        start, end = locate(line, ("message", "content"))
    except RequestInvalid as error:
        raise RequestInvalid(f"line {number}: {error}", path=error.path, line=number) from None
    new = {0: [filler().raw]} if filled else None
    return apply(line, shift(edit_array(line[start:end], drop=indices, insert=new), start))
