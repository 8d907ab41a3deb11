"""The first `clew.toml`: what is found in the environment, and every key with its default and its meaning, commented out.

Made from the same types as the reference, so that it cannot speak of keys that there are not.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any, cast

import msgspec
from msgspec import NODEFAULT, Struct

from clew.backends.presets import Preset, presets
from clew.settings.document import BackendTable, Document
from clew.settings.found import discovered
from clew.settings.schema import defaults_of, meanings_of
from clew.settings.shape import fields_of, table_in
from clew.settings.shown import toml_value
from clew.settings.values import Rule

__all__ = ["SCHEMA_FILE", "template"]

SCHEMA_FILE = "clew.schema.json"

_HEAD = """\
#:schema ./{schema}
#
# What clew is told. Every key is optional; what is commented out is the default.
# `clew config check` says what is wrong with this file, `clew config show --origin` what it comes to.
"""
_WIDTH = 100


def template(environ: Mapping[str, str]) -> str:
    """A file that says what would be found without it."""
    return "\n".join([_HEAD.format(schema=SCHEMA_FILE), *_top(), *_backends(environ), *_rules(), *_tables()])


def _top() -> Iterator[str]:
    yield 'active = "claude"'
    for name, kind in fields_of(Document).items():
        if name != "active" and table_in(kind) is None and name != "models":
            yield _commented(name, defaults_of(Document)[name], meanings_of(Document).get(name, ""))
    yield ""


def _backends(environ: Mapping[str, str]) -> Iterator[str]:
    found = discovered(environ).tables
    for name, table in found.items():
        yield from _backend(name, table)
    taken = {table.preset for table in found.values()}
    for preset in presets().values():
        if preset.name not in taken and (preset.variables or preset.keyless):
            yield from (f"# {line}" for line in _known(preset))
            yield ""


def _known(preset: Preset) -> Iterator[str]:
    """What has to be said of a known backend."""
    yield f"[backends.{preset.backend}]"
    yield f'preset = "{preset.name}"'
    if not preset.url:
        yield 'url = "https://…"'
    if not preset.keyless:
        yield f'key = "${{{preset.variables[0].name}}}"'
    if preset.dialect != "anthropic" and not preset.model:
        yield 'model = "…"'


def _backend(name: str, table: BackendTable) -> Iterator[str]:
    yield f"[backends.{name}]"
    for field in ("preset", "url", "auth", "key"):
        if value := getattr(table, field):
            yield f"{field} = {toml_value(value)}"
    yield ""


def _rules() -> Iterator[str]:
    yield from _wrapped(meanings_of(Document)["rules"])
    yield from ("# [[rules]]", '# family = "haiku"', '# backend = "claude"')
    for name, says in meanings_of(Rule).items():
        yield from _wrapped(f"{name}: {says}", indent="#   ")
    yield ""


def _tables() -> Iterator[str]:
    """The tables that are settings themselves."""
    for name, kind in fields_of(Document).items():
        inner = table_in(kind)
        if inner is not None and name not in ("backends", "rules"):
            yield from _wrapped((inner.__doc__ or "").split("\n")[0])
            yield f"[{name}]"
            yield from _keys(inner)
            yield ""


def _keys(kind: type) -> Iterator[str]:
    for name, default in defaults_of(kind).items():
        yield _commented(name, default, meanings_of(kind).get(name, ""))


def _commented(name: str, default: object, says: str) -> str:
    """A key with its default, where a file can say that, on one line."""
    value, meaning = _example(default), " ".join(says.split())
    return f"# {name}{f' = {value}' if value else ': off'}{f'  # {meaning}' if meaning else ''}"


def _example(default: object) -> str:
    if default is None or default is NODEFAULT or isinstance(default, Struct) or dataclasses.is_dataclass(default):
        return ""
    return toml_value(msgspec.to_builtins(cast("Any", default)))


def _wrapped(text: str, indent: str = "# ") -> Iterator[str]:
    line = indent
    for word in text.split():
        if len(line) + len(word) > _WIDTH:
            yield line.rstrip()
            line = indent
        line += f"{word} "
    yield line.rstrip()
