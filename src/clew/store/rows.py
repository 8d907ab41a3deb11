"""Recordings and changes as columns of a row, and back.

Lists of bytes are packed (MessagePack); keys, all of one length, are joined. Texts are packed as UTF-8 in which lone
surrogates pass: what a model said is kept even where it is no valid text. `sum` is a checksum over every column but the
times, so that `verify` finds a changed byte in which the database sees nothing wrong. It need not withstand an attacker, so
it is a short one: a hash took a sixth of the time of all statements of a turn.

The changes of an exchange are JSON, compressed where there are many. A client that drops its thinking has all of it restored
with each request, so each exchange of a conversation has a change for every earlier block. They differ by a number in their
path, and were most of what a long conversation kept: two megabytes for two hundred turns. Compressed, each takes three or
four bytes. A usual exchange has few changes, which take less time to write than to compress.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Sequence
from hashlib import sha256
from typing import Final, TypeAlias, cast

import msgspec

from clew.errors import RecordCorrupt
from clew.model.blocks import is_thinking, made
from clew.model.change import Change
from clew.model.json import JsonObject
from clew.model.origin import Origin
from clew.model.recording import AnswerContent, Recording, Strand

Value: TypeAlias = str | int | float | bytes | None
Row: TypeAlias = tuple[Value, ...]

ZLIB_START: Final = b"\x78"
"""The first byte of every compressed value. No JSON text begins so, and no MessagePack array of three."""
_FASTEST: Final = 1
LEAST_COMPRESSED: Final = 1024
"""Bytes of JSON that are worth compressing: some nine changes."""
_KEY: Final = 32
"""Bytes of a block key, and of a SHA-256 hash."""
_KEPT_FIELDS: Final = frozenset({"type", "id", "tool_use_id", "name", "text"})


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


COLUMNS: Final = ", ".join(_Columns.__struct_fields__)
"""The columns of a recording, in the order of `columns_of` and of `recording_of_row`."""

_bytes = msgspec.msgpack.Decoder(tuple[bytes, ...])
_said = msgspec.msgpack.Decoder(tuple[tuple[bytes, ...], tuple[bytes, ...]])
_changes = msgspec.json.Decoder(tuple[Change, ...])


def _quickest_compressor() -> Callable[[bytes, int], bytes]:
    try:
        from isal import isal_zlib
    except ImportError:  # it is made for x86-64 and ARM64 alone
        return zlib.compress
    return cast("Callable[[bytes, int], bytes]", vars(isal_zlib)["compress"])  # its types are not complete


_compress = _quickest_compressor()


def compress(raw: bytes) -> bytes:
    """In the format of `zlib`. Large values are compressed without the interpreter's lock."""
    return _compress(raw, _FASTEST)


def columns_of(recording: Recording) -> Row:
    origin, strand = recording.origin, recording.strand
    return (
        *(recording.principal, recording.id, recording.thread, strand.after, recording.followed),
        *(origin.realm, origin.backend, origin.model, origin.account),
        *(recording.session, recording.agent, int(recording.whole), recording.place, recording.digest),
        b"".join(recording.keys),
        None if strand.listed is None else b"".join(strand.listed),
        msgspec.msgpack.encode((_encoded(recording.said.ids), _encoded(recording.said.texts))),
        pack(recording.blocks),
    )


def recording_of_row(row: Row) -> Recording:
    """Raises RecordCorrupt for a row that is not a recording's."""
    try:
        at = msgspec.convert(row, _Columns, strict=False)
        ids, texts = _said.decode(at.said)
        return Recording(
            id=at.id,
            principal=at.principal,
            origin=Origin(at.realm, at.backend, at.model, at.account),
            blocks=unpack(at.blocks),
            keys=_split_keys(at.keys),
            said=AnswerContent(_decoded(ids), _decoded(texts)),
            place=at.place,
            strand=Strand(at.after, None if at.listed is None else _split_keys(at.listed)),
            digest=at.digest,
            followed=at.followed,
            session=at.session,
            agent=at.agent,
            thread=at.thread,
            whole=at.whole,
        )
    except ValueError as error:
        raise RecordCorrupt(f"recording {row[1]!r} cannot be read: {error}") from error


def verified_recording(row: Row) -> Recording:
    """The recording of a row that ends with its sum. A backend gets back exactly what it made, or nothing: raises
    RecordCorrupt also for bytes that are not those that were written."""
    columns = row[:-1]
    if not is_sum_of(columns, row[-1]):
        raise RecordCorrupt(f"recording {row[1]!r} is not as it was written")
    return recording_of_row(columns)


def texts_in(said: bytes) -> tuple[str, ...]:
    """The texts of an answer, from its column `said`. Raises ValueError for bytes that are not such a column."""
    return _decoded(_said.decode(said)[1])


def sum_of(columns: Row) -> bytes:
    return zlib.crc32(msgspec.msgpack.encode(columns)).to_bytes(4)


def is_sum_of(columns: Row, sum: Value) -> bool:
    """Whether the row is as it was written. Before schema 8 the sum was a hash."""
    was_hashed = isinstance(sum, bytes) and len(sum) == _KEY
    return sum == (sha256(msgspec.msgpack.encode(columns)).digest() if was_hashed else sum_of(columns))


def marks_of(recording: Recording) -> Iterator[tuple[str, bytes]]:
    """Kind and hash of everything by which a recording is found."""
    yield from dict.fromkeys(
        [
            *(("key", key) for key in recording.keys),
            *(("tool", tool_hash(id)) for id in recording.said.ids),
            ("place", recording.place),
        ]
    )


def tool_hash(id: str) -> bytes:
    return sha256(id.encode("utf-8", "surrogatepass")).digest()


def pack(values: Sequence[bytes]) -> bytes:
    return msgspec.msgpack.encode(values)


def unpack(raw: bytes) -> tuple[bytes, ...]:
    return _bytes.decode(raw)


def pack_changes(changes: Sequence[Change]) -> bytes:
    raw = msgspec.json.encode(changes)
    return raw if len(raw) < LEAST_COMPRESSED else compress(raw)


def unpack_changes(kept: bytes) -> tuple[Change, ...]:
    """Before schema 9 no changes were compressed. Raises RecordCorrupt for bytes that are not changes."""
    try:
        return _changes.decode(zlib.decompress(kept) if kept.startswith(ZLIB_START) else kept)
    except (zlib.error, msgspec.MsgspecError) as error:
        raise RecordCorrupt(f"the changes of an exchange cannot be read: {error}") from error


def without_inputs(blocks: Sequence[bytes]) -> tuple[bytes, ...]:
    """The blocks without tool inputs: for `content = false`.

    Thinking must go back as it is. Of a visible block, recognition compares its type, its id and its text, and nothing else
    is ever sent; so nothing else is kept.
    """
    bare: list[bytes] = []
    for raw in blocks:
        if is_thinking(made(raw)):
            bare.append(raw)
            continue
        block = msgspec.json.decode(raw, type=dict[str, msgspec.Raw])
        kept: dict[str, msgspec.Raw | JsonObject] = {name: each for name, each in block.items() if name in _KEPT_FIELDS}
        bare.append(msgspec.json.encode(kept | ({"input": {}} if "input" in block else {})))
    return tuple(bare)


def _encoded(texts: Sequence[str]) -> list[bytes]:
    return [text.encode("utf-8", "surrogatepass") for text in texts]


def _decoded(raw: Sequence[bytes]) -> tuple[str, ...]:
    return tuple(each.decode("utf-8", "surrogatepass") for each in raw)


def _split_keys(joined: bytes) -> tuple[bytes, ...]:
    if len(joined) % _KEY:
        raise ValueError(f"{len(joined)} bytes are not a row of keys")
    return tuple(joined[at : at + _KEY] for at in range(0, len(joined), _KEY))
