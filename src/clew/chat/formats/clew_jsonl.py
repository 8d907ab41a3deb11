"""clew's own format: one line of JSON for each thread and each turn, with everything that is stored of them.

Blocks and questions stand in their lines as their own bytes. Bytes that could not be read back unchanged from a line (a line
break between two values, a byte that is not UTF-8) are a string in base64. Each turn has a hash over its bytes, because
nothing else would detect a changed byte in a signature. A file begins with a line that names the version; files can be
joined by `cat`.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from typing import Any, Final, Literal

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType, structs

from clew.chat.formats.format import UNREADABLE, BrokenLine, Format, ImportContext, NumberedLine, ReadItem, Skipped
from clew.exchange.redact import with_redacted_tries
from clew.model.blocks import well_made
from clew.model.json import JsonObject
from clew.model.origin import Origin
from clew.model.recording import AnswerContent, Recording, Strand
from clew.model.turn import Exchange, TurnRecord
from clew.store.values import Thread

_VERSION: Final = 1
_KIND: Final = "conversations"
_HEAD: Final = b'{"clew":"%b","version":%d}\n' % (_KIND.encode(), _VERSION)
_KEY_BYTES: Final = 32
_BASE64: Final = "base64"


class _SaidLine(Struct, frozen=True):
    ids: tuple[Raw, ...] = ()
    texts: tuple[Raw, ...] = ()


class _RecordingLine(Struct, frozen=True, kw_only=True):
    id: str
    origin: Origin
    blocks: tuple[Raw, ...]
    keys: tuple[bytes, ...]
    said: _SaidLine
    place: bytes
    strand: Strand
    digest: bytes = b""
    followed: str | None = None
    session: str = ""
    agent: str = ""
    whole: bool = True


class _TurnLine(Struct, frozen=True, kw_only=True):
    exchange: Exchange
    asked: tuple[Raw, ...] = ()
    recording: _RecordingLine | None = None


class _Line(Struct, frozen=True, kw_only=True, omit_defaults=True):
    clew: str | None = None
    version: int | None = None
    thread: Thread | None = None
    turn: Raw | UnsetType = UNSET
    sum: str = ""


_line = msgspec.json.Decoder(_Line)
_turn_line = msgspec.json.Decoder(_TurnLine)
_any = msgspec.json.Decoder(object)
_text_or_bytes = msgspec.json.Decoder(str | dict[Literal["base64"], bytes])


def _sum_of(raw: bytes) -> str:
    return sha256(raw).hexdigest()[:32]


# Writing


def write(thread: Thread, turns: Sequence[TurnRecord]) -> Iterator[bytes]:
    yield msgspec.json.encode(_Line(thread=thread)) + b"\n"
    for turn in turns:
        line = None
        if turn.recording is not None:
            fields, said = structs.asdict(turn.recording), turn.recording.said
            fields["blocks"] = tuple(map(_write_bytes, turn.recording.blocks))
            fields["said"] = _SaidLine(tuple(map(_write_text, said.ids)), tuple(map(_write_text, said.texts)))
            line = _RecordingLine(**{name: fields[name] for name in _RecordingLine.__struct_fields__})
        asked = tuple(map(_write_bytes, turn.asked))
        raw = msgspec.json.encode(_TurnLine(exchange=with_redacted_tries(turn.exchange), asked=asked, recording=line))
        yield msgspec.json.encode(_Line(turn=Raw(raw), sum=_sum_of(raw))) + b"\n"


def _write_bytes(raw: bytes) -> Raw:
    """The bytes themselves if they are a JSON object on one line, else a string in base64."""
    in_base64 = Raw(b'"%b"' % base64.b64encode(raw))
    if raw[:1] != b"{" or raw[-1:] != b"}" or b"\n" in raw or b"\r" in raw:
        return in_base64
    try:
        raw.decode()
        _any.decode(raw)
    except UNREADABLE:
        return in_base64
    return Raw(raw)


def _write_text(text: str) -> Raw:
    """The text as a string. Half a character, which JSON readers may refuse, is an object with its bytes."""
    try:
        return Raw(msgspec.json.encode(text))
    except UnicodeEncodeError:
        return Raw(msgspec.json.encode({_BASE64: text.encode("utf-8", "surrogatepass")}))


# Reading


class _TooNew(BrokenLine, frozen=True):
    """Nothing after this line can be understood."""


def read(lines: Iterable[NumberedLine], context: ImportContext) -> Iterator[ReadItem]:
    """The threads and turns of a file, as they were, for the principal of the import."""
    thread: Thread | None = None
    for number, raw in lines:
        found = _read_line(number, raw, context.principal, thread) if raw.strip() else None
        if isinstance(found, Thread):
            thread = found
        if found is not None:
            yield found
        if isinstance(found, _TooNew):
            return


def _read_line(number: int, raw: bytes, principal: str, thread: Thread | None) -> ReadItem | None:
    """The content of a line; None for the first line of a file."""
    try:
        line = _line.decode(raw)
        if line.version is not None and line.version > _VERSION:
            return _TooNew(number, f"version {line.version} of this format was written by a newer clew: update this one")
        if line.thread is not None:
            return structs.replace(line.thread, principal=principal)
        if isinstance(line.turn, Raw):
            if _sum_of(bytes(line.turn)) != line.sum:
                raise ValueError("this line was changed after the export")
            return _read_turn(_turn_line.decode(line.turn), principal, thread)
        return None if line.clew == _KIND else Skipped("of another shape")
    except (*UNREADABLE, ValueError) as error:
        return BrokenLine(number, str(error))


def _read_turn(line: _TurnLine, principal: str, thread: Thread | None) -> TurnRecord:
    """The turn. `thread` is the last thread of the file: the turn's own, unless lines were lost."""
    exchange = structs.replace(line.exchange, principal=principal)
    asked = tuple(map(_read_bytes, line.asked))
    for raw in asked:
        msgspec.json.decode(raw, type=dict[str, Raw])
    recording = None
    if line.recording is not None:
        blocks = tuple(map(_read_bytes, line.recording.blocks))
        for raw in blocks:
            well_made(raw)
        if any(len(key) != _KEY_BYTES for key in (*line.recording.keys, *(line.recording.strand.listed or ()))):
            raise ValueError(f"a block key has {_KEY_BYTES} bytes")
        ids, texts = line.recording.said.ids, line.recording.said.texts
        said = AnswerContent(tuple(map(_read_text, ids)), tuple(map(_read_text, texts)))
        fields: dict[str, Any] = {**structs.asdict(line.recording), "blocks": blocks, "said": said}
        recording = Recording(**fields, principal=principal, thread=exchange.thread)
    own = thread if thread and thread.id == exchange.thread else None
    title, created = (own.title, own.created) if own else ("", None)
    return TurnRecord(exchange=exchange, recording=recording, asked=asked, title=title, created=created)


def _read_bytes(raw: Raw) -> bytes:
    """Raises ValueError for anything but text, or text in base64."""
    value = bytes(raw)
    value = base64.b64decode(value[1:-1], validate=True) if value[:1] == b'"' else value
    value.decode()
    return value


def _read_text(raw: Raw) -> str:
    """Raises ValueError for anything but a text, or an object with its bytes."""
    text = _text_or_bytes.decode(raw)
    return text if isinstance(text, str) else text[_BASE64].decode("utf-8", "surrogatepass")


def fits(head: bytes) -> bool:
    try:
        first: JsonObject = msgspec.json.decode(head.split(b"\n", 1)[0], type=JsonObject)
    except UNREADABLE:
        return False
    return first.get("clew") == _KIND


CLEW_JSONL = Format(
    name="clew",
    suffix=".clew.jsonl",
    does="JSON lines with everything that is kept of a conversation; an import gives the same conversation again.",
    losses=("the complete requests and answers of the exchange page", "when a block was last seen in a request"),
    write=write,
    read=read,
    fits=fits,
    head=_HEAD,
)
