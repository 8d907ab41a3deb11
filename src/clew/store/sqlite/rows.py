"""A recording as a row, and back.

Lists of bytes are packed (MessagePack); keys, all of one length, are joined. Texts are packed as UTF-8 in which lone
surrogates pass: what a model said is kept even where it is no proper text. `sum` is a checksum over every column but the
times, so that a changed byte is found by `verify` though SQLite sees nothing wrong in it. Nobody has to be kept from making
another row with the same sum, so it is a short one: a hash took a sixth of what all statements of a turn take.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from hashlib import sha256

import msgspec

from clew.errors import RecordCorrupt
from clew.model.blocks import is_thinking, made
from clew.model.json import JsonObject
from clew.model.origin import Origin
from clew.model.recording import AnswerContent, Recording, Strand
from clew.store.sqlite.database import Row, Value

__all__ = [
    "COLUMNS",
    "columns_of",
    "is_sum_of",
    "marks_of",
    "pack",
    "recording_as_written",
    "recording_of_row",
    "sum_of",
    "texts_in",
    "tool_hash",
    "unpack",
    "without_inputs",
]

_NAMES = (
    *("principal", "id", "thread", "after", "followed", "realm", "backend", "model", "account", "session", "agent", "whole"),
    *("place", "digest", "keys", "listed", "said", "blocks"),
)
COLUMNS = ", ".join(_NAMES)
"""The columns of a recording, in the order of `columns_of` and of `recording_of_row`."""

_KEY = 32
_bytes = msgspec.msgpack.Decoder(tuple[bytes, ...])
_said = msgspec.msgpack.Decoder(tuple[tuple[bytes, ...], tuple[bytes, ...]])


class _Columns(msgspec.Struct, frozen=True, array_like=True):
    principal: str
    id: str
    thread: str
    after: str | None
    followed: str | None
    realm: str
    backend: str
    model: str
    account: str
    session: str
    agent: str
    whole: bool
    place: bytes
    digest: bytes
    keys: bytes
    listed: bytes | None
    said: bytes
    blocks: bytes


def columns_of(recording: Recording) -> Row:
    origin, strand = recording.origin, recording.strand
    return (
        *(recording.principal, recording.id, recording.thread, strand.after, recording.followed),
        *(origin.realm, origin.backend, origin.model, origin.account),
        *(recording.session, recording.agent, int(recording.whole), recording.place, recording.digest),
        b"".join(recording.keys),
        None if strand.listed is None else b"".join(strand.listed),
        msgspec.msgpack.encode((_raw(recording.said.ids), _raw(recording.said.texts))),
        pack(recording.blocks),
    )


def recording_of_row(row: Row) -> Recording:
    """Raises RecordCorrupt for a row that no recording makes."""
    try:
        at = msgspec.convert(row, _Columns, strict=False)
        ids, texts = _said.decode(at.said)
        return Recording(
            id=at.id,
            principal=at.principal,
            origin=Origin(at.realm, at.backend, at.model, at.account),
            blocks=unpack(at.blocks),
            keys=_split(at.keys),
            said=AnswerContent(_texts(ids), _texts(texts)),
            place=at.place,
            strand=Strand(at.after, None if at.listed is None else _split(at.listed)),
            digest=at.digest,
            followed=at.followed,
            session=at.session,
            agent=at.agent,
            thread=at.thread,
            whole=at.whole,
        )
    except ValueError as error:
        raise RecordCorrupt(f"recording {row[1]!r} cannot be read: {error}") from error


def recording_as_written(row: Row) -> Recording:
    """The recording of a row that ends with its sum. What goes to a backend is what it made, or nothing: this raises
    RecordCorrupt also for bytes that are not those that were written."""
    columns = row[:-1]
    if not is_sum_of(columns, row[-1]):
        raise RecordCorrupt(f"recording {row[1]!r} is not as it was written")
    return recording_of_row(columns)


def texts_in(said: bytes) -> tuple[str, ...]:
    """The texts of what an answer said, as the column has it. Raises ValueError for bytes that no recording makes."""
    return _texts(_said.decode(said)[1])


def sum_of(columns: Row) -> bytes:
    return zlib.crc32(msgspec.msgpack.encode(columns)).to_bytes(4)


def is_sum_of(columns: Row, sum: Value) -> bool:
    """Whether the row is as it was written. Before schema 8 it was written with a hash."""
    was_hashed = isinstance(sum, bytes) and len(sum) == _KEY
    return sum == (sha256(msgspec.msgpack.encode(columns)).digest() if was_hashed else sum_of(columns))


def marks_of(recording: Recording) -> Iterator[tuple[str, bytes]]:
    """Kind and hash of all by which a recording is found."""
    seen = dict.fromkeys(
        [
            *(("key", key) for key in recording.keys),
            *(("tool", tool_hash(id)) for id in recording.said.ids),
            ("place", recording.place),
        ]
    )
    yield from seen


def tool_hash(id: str) -> bytes:
    return sha256(id.encode("utf-8", "surrogatepass")).digest()


def pack(values: Sequence[bytes]) -> bytes:
    return msgspec.msgpack.encode(values)


def unpack(raw: bytes) -> tuple[bytes, ...]:
    return _bytes.decode(raw)


def without_inputs(blocks: Sequence[bytes]) -> tuple[bytes, ...]:
    """The blocks without what tools were given: for `content = false`.

    Thinking must go back as it is. Of a visible block, recognition compares its type, its id and its text, and nothing else
    is ever sent; so nothing else is kept.
    """
    return tuple(raw if is_thinking(made(raw)) else _bare(raw) for raw in blocks)


def _bare(raw: bytes) -> bytes:
    block = msgspec.json.decode(raw, type=dict[str, msgspec.Raw])
    kept: dict[str, msgspec.Raw | JsonObject] = {
        name: value for name, value in block.items() if name in {"type", "id", "tool_use_id", "name", "text"}
    }
    return msgspec.json.encode(kept | ({"input": {}} if "input" in block else {}))


def _raw(texts: Sequence[str]) -> list[bytes]:
    return [text.encode("utf-8", "surrogatepass") for text in texts]


def _texts(raw: Sequence[bytes]) -> tuple[str, ...]:
    return tuple(each.decode("utf-8", "surrogatepass") for each in raw)


def _split(joined: bytes) -> tuple[bytes, ...]:
    if len(joined) % _KEY:
        raise ValueError(f"{len(joined)} bytes are not a row of keys")
    return tuple(joined[at : at + _KEY] for at in range(0, len(joined), _KEY))
