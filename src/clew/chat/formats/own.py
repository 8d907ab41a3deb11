"""clew's own format: one line of JSON for each thread and each turn, with everything that is kept of them.

Blocks and questions stand in their lines as the bytes that they are. Where these could not stand in a line and come out of
it unchanged (a line break between two values, a byte that is no UTF-8), they are a string in base64. Each turn has a hash
over its bytes, because a byte that changed in a signature would be found by nobody else. A file begins with a line that
names the version; files can be joined by `cat`.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from typing import Final, Literal

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from clew.chat.formats.shape import UNREADABLE, Broken, Format, Found, Numbered, Passed, Reading
from clew.engine.told_tries import with_told_tries
from clew.model.blocks import well_made
from clew.model.json import JsonObject
from clew.model.origin import Origin
from clew.model.recording import Recording, Said, Strand
from clew.store.values import Exchange, Thread, Turn

__all__ = ["OWN"]

VERSION: Final = 1
_KIND: Final = "conversations"
_HEAD: Final = b'{"clew":"%b","version":%d}\n' % (_KIND.encode(), VERSION)
_KEY: Final = 32
_BYTES: Final = "base64"


class _Said(Struct, frozen=True):
    ids: tuple[Raw, ...] = ()
    texts: tuple[Raw, ...] = ()


class _Recording(Struct, frozen=True, kw_only=True):
    id: str
    origin: Origin
    blocks: tuple[Raw, ...]
    keys: tuple[bytes, ...]
    said: _Said
    place: bytes
    strand: Strand
    digest: bytes = b""
    followed: str | None = None
    session: str = ""
    agent: str = ""
    whole: bool = True


class _Turn(Struct, frozen=True, kw_only=True):
    exchange: Exchange
    asked: tuple[Raw, ...] = ()
    recording: _Recording | None = None


class _Line(Struct, frozen=True, kw_only=True, omit_defaults=True):
    clew: str | None = None
    version: int | None = None
    thread: Thread | None = None
    turn: Raw | UnsetType = UNSET
    sum: str = ""


_line = msgspec.json.Decoder(_Line)
_turn_line = msgspec.json.Decoder(_Turn)
_any = msgspec.json.Decoder(object)
_said = msgspec.json.Decoder(str | dict[Literal["base64"], bytes])


# Writing


def write(thread: Thread, turns: Sequence[Turn]) -> Iterator[bytes]:
    yield msgspec.json.encode(_Line(thread=thread)) + b"\n"
    for turn in turns:
        raw = msgspec.json.encode(_written(turn))
        yield msgspec.json.encode(_Line(turn=Raw(raw), sum=_sum(raw))) + b"\n"


def _sum(raw: bytes) -> str:
    return sha256(raw).hexdigest()[:32]


def _written(turn: Turn) -> _Turn:
    recording = turn.recording
    return _Turn(
        exchange=with_told_tries(turn.exchange),
        asked=tuple(map(_verbatim, turn.asked)),
        recording=None if recording is None else _written_recording(recording),
    )


def _written_recording(recording: Recording) -> _Recording:
    return _Recording(
        id=recording.id,
        origin=recording.origin,
        blocks=tuple(map(_verbatim, recording.blocks)),
        keys=recording.keys,
        said=_Said(tuple(map(_text, recording.said.ids)), tuple(map(_text, recording.said.texts))),
        place=recording.place,
        strand=recording.strand,
        digest=recording.digest,
        followed=recording.followed,
        session=recording.session,
        agent=recording.agent,
        whole=recording.whole,
    )


def _verbatim(raw: bytes) -> Raw:
    """The bytes themselves where a line can hold them, else a string in base64."""
    return Raw(raw) if _fits_in_a_line(raw) else Raw(b'"%b"' % base64.b64encode(raw))


def _fits_in_a_line(raw: bytes) -> bool:
    if raw[:1] != b"{" or raw[-1:] != b"}" or b"\n" in raw or b"\r" in raw:
        return False
    try:
        raw.decode()
        _any.decode(raw)
    except UNREADABLE:
        return False
    return True


def _text(text: str) -> Raw:
    """A model can say half a character. No reader of JSON has to take that, so such a text is an object with its bytes."""
    try:
        return Raw(msgspec.json.encode(text))
    except UnicodeEncodeError:
        return Raw(msgspec.json.encode({_BYTES: text.encode("utf-8", "surrogatepass")}))


# Reading


def read(lines: Iterable[Numbered], reading: Reading) -> Iterator[Found]:
    """Turns as they were, for the principal who reads them."""
    thread: Thread | None = None
    for number, raw in lines:
        found = _read_line(number, raw, reading.principal, thread)
        if isinstance(found, Thread):
            thread = found
        if found is not None:
            yield found
        if isinstance(found, _TooNew):
            return


class _TooNew(Broken, frozen=True):
    """Nothing after this line can be understood."""


def _read_line(number: int, raw: bytes, principal: str, thread: Thread | None) -> Found | None:
    """What the line says; None for the one that a file begins with."""
    if not raw.strip():
        return None
    try:
        line = _line.decode(raw)
        if line.version is not None and line.version > VERSION:
            return _TooNew(number, f"version {line.version} of this format was written by a newer clew: update this one")
        if line.thread is not None:
            return msgspec.structs.replace(line.thread, principal=principal)
        if isinstance(line.turn, Raw):
            return _turn(_checked(line.turn, line.sum), principal, thread)
        return None if line.clew == _KIND else Passed("of another shape")
    except (*UNREADABLE, ValueError) as error:
        return Broken(number, str(error))


def _checked(raw: Raw, sum: str) -> _Turn:
    if _sum(bytes(raw)) != sum:
        raise ValueError("this is not what was written: a byte of it was changed")
    return _turn_line.decode(raw)


def _turn(turn: _Turn, principal: str, thread: Thread | None) -> Turn:
    """`thread` is the one that was named last: the turn's own, unless lines were lost."""
    exchange = msgspec.structs.replace(turn.exchange, principal=principal)
    asked = tuple(map(_bytes, turn.asked))
    for raw in asked:
        msgspec.json.decode(raw, type=dict[str, Raw])
    recording = None if turn.recording is None else _recording(turn.recording, principal, exchange.thread)
    own = thread if thread and thread.id == exchange.thread else None
    title, created = (own.title, own.created) if own else ("", None)
    return Turn(exchange=exchange, recording=recording, asked=asked, title=title, created=created)


def _recording(line: _Recording, principal: str, thread: str) -> Recording:
    blocks = tuple(map(_bytes, line.blocks))
    for raw in blocks:
        well_made(raw)
    if any(len(key) != _KEY for key in (*line.keys, *(line.strand.listed or ()))):
        raise ValueError(f"a block key has {_KEY} bytes")
    return Recording(
        id=line.id,
        principal=principal,
        origin=line.origin,
        blocks=blocks,
        keys=line.keys,
        said=Said(_texts(line.said.ids), _texts(line.said.texts)),
        place=line.place,
        strand=line.strand,
        digest=line.digest,
        followed=line.followed,
        session=line.session,
        agent=line.agent,
        thread=thread,
        whole=line.whole,
    )


def _bytes(raw: Raw) -> bytes:
    """Raises ValueError for what is neither text nor base64 of text."""
    value = bytes(raw)
    value = base64.b64decode(value[1:-1], validate=True) if value[:1] == b'"' else value
    value.decode()
    return value


def _texts(raw: Sequence[Raw]) -> tuple[str, ...]:
    """Raises ValueError for what is neither a text nor the bytes of one."""
    return tuple(
        text if isinstance(text, str) else text[_BYTES].decode("utf-8", "surrogatepass")
        for text in (_said.decode(each) for each in raw)
    )


def _fits(head: bytes) -> bool:
    try:
        first: JsonObject = msgspec.json.decode(head.split(b"\n", 1)[0], type=JsonObject)
    except UNREADABLE:
        return False
    return first.get("clew") == _KIND


OWN = Format(
    name="clew",
    suffix=".clew.jsonl",
    does="JSON lines with all that is kept of a conversation; importing it gives the same conversation again.",
    losses=("the whole requests and answers of the exchange page", "when a block was last seen in a request"),
    write=write,
    read=read,
    fits=_fits,
    head=_HEAD,
)
