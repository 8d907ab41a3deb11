"""Parameters whose type does not depend on their value.

psycopg sends a small number as another type than a large one, and a NULL as none. A statement that is prepared with other
types is another statement: a turn has two dozen numbers and a dozen values that may be missing, so nearly every turn was
parsed and planned anew, which took longer than all the rest of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, Literal, TypeAlias, cast

from psycopg import Connection
from psycopg.adapt import Buffer, Dumper
from psycopg.postgres import types
from psycopg.types.numeric import Int8

from clew.store.rows import Row

ParameterType: TypeAlias = Literal["text", "bytea", "int8", "float8", "bool"]


class _Null:
    """A NULL of some type. In place of a text it is None, since texts are sent without a type."""


class _NullBytes(_Null): ...


class _NullInteger(_Null): ...


class _NullFloat(_Null): ...


class _NullDumper(Dumper):
    def dump(self, obj: _Null) -> Buffer | None:
        return None


class _NullBytesDumper(_NullDumper):
    oid = types["bytea"].oid


class _NullIntegerDumper(_NullDumper):
    oid = types["int8"].oid


class _NullFloatDumper(_NullDumper):
    oid = types["float8"].oid


_NULLS: Final[Mapping[ParameterType, _Null]] = {
    "bytea": _NullBytes(),
    "int8": _NullInteger(),
    "float8": _NullFloat(),
}
_DUMPERS: Final = {
    _NullBytes: _NullBytesDumper,
    _NullInteger: _NullIntegerDumper,
    _NullFloat: _NullFloatDumper,
}


def register_parameters(connection: Connection[Row]) -> None:
    """Let a connection send what `typed` gives."""
    for kind, dumper in _DUMPERS.items():
        connection.adapters.register_dumper(kind, dumper)


def typed(values: Sequence[object], kinds: Sequence[ParameterType]) -> tuple[object, ...]:
    """The values, as parameters of these types."""
    return tuple(
        _NULLS.get(kind) if value is None else Int8(cast("int", value)) if kind == "int8" else value
        for value, kind in zip(values, kinds, strict=True)
    )


def array_text(items: Sequence[str]) -> str:
    """An array as the server reads it, of items that need no quotes."""
    return "{" + ",".join(items) + "}"


def bytes_array_text(items: Sequence[bytes]) -> str:
    return "{" + ",".join(f'"\\\\x{item.hex()}"' for item in items) + "}"
