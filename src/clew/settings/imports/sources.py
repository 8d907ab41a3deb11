"""Which tool a file is of, where each tool keeps its file, and how the file is read."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import msgspec

from clew.errors import SettingsInvalid, StoreError
from clew.settings.imports.cc_switch import Provider, providers_in_json, providers_in_rows, read_cc_switch
from clew.settings.imports.claude_code_router import read_claude_code_router
from clew.settings.imports.codex import read_codex
from clew.settings.imports.found import FoundSettings, Tree, tree
from clew.settings.imports.litellm import read_litellm
from clew.store.foreign import is_database, table_rows

TITLES: Final[Mapping[str, str]] = {
    "litellm": "LiteLLM",
    "claude-code-router": "claude-code-router",
    "cc-switch": "cc-switch",
    "codex": "Codex",
}
PLACES: Final[Mapping[str, tuple[str, ...]]] = {
    "litellm": ("litellm_config.yaml", "config.yaml"),
    "claude-code-router": ("~/.claude-code-router/config.json",),
    "cc-switch": ("~/.cc-switch/cc-switch.db", "~/.cc-switch/config.json"),
    "codex": ("~/.codex/config.toml",),
}
"""Where each tool's settings are usually kept. LiteLLM has no place of its own: it is given a file."""
_MOST_BYTES: Final = 4_000_000
_PROVIDERS: Final = "providers"
_NOT_JSON: Final = re.compile(r'("(?:[^"\\]|\\.)*")|//[^\n]*|/\*.*?\*/|,(?=\s*(?://[^\n]*\s*)*[}\]])', re.DOTALL)
"""Strings, which stay; comments and commas before an end, which claude-code-router allows."""


def kind_of(file: Path) -> str:
    """The tool that wrote the file. Raises SettingsInvalid if it cannot be recognised."""
    if is_database(_read(file)):
        return "cc-switch"
    by_end = {".yaml": "litellm", ".yml": "litellm", ".toml": "codex"}.get(file.suffix)
    if by_end:
        return by_end
    source = _json(file)
    if "Providers" in source or "Router" in source:
        return "claude-code-router"
    if {"claude", "codex", "providers"} & set(source):
        return "cc-switch"
    raise SettingsInvalid(f"{file}: no tool is known that writes such a file; name it with --from", file=str(file))


def read_source(file: Path, kind: str) -> FoundSettings:
    """What the file says. Raises SettingsInvalid if it cannot be read as a file of this tool."""
    if kind == "cc-switch":
        return read_cc_switch(_providers(file))
    if kind == "codex":
        return read_codex(_toml(file))
    if kind == "litellm":
        return read_litellm(_yaml(file))
    return read_claude_code_router(_json(file))


def _providers(file: Path) -> list[Provider]:
    if not is_database(_read(file)):
        return list(providers_in_json(_json(file)))
    try:
        return providers_in_rows(table_rows(file, _PROVIDERS))
    except StoreError as error:
        raise SettingsInvalid(f"{file} is not a database of cc-switch: {error}", file=str(file)) from None


def _read(file: Path) -> bytes:
    try:
        with file.open("rb") as opened:
            raw = opened.read(_MOST_BYTES + 1)
    except OSError as error:
        raise SettingsInvalid(f"cannot read {file}: {error.strerror or error}", file=str(file)) from None
    if len(raw) > _MOST_BYTES and not is_database(raw):
        raise SettingsInvalid(
            f"{file} has more than {_MOST_BYTES // 1_000_000} MB: that is not a settings file", file=str(file)
        )
    return raw


def _text(file: Path) -> str:
    try:
        return _read(file).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise SettingsInvalid(f"{file} is not UTF-8 text", file=str(file)) from None


def _json(file: Path) -> Tree:
    plain = _NOT_JSON.sub(lambda found: found[1] or "", _text(file))
    try:
        return tree(msgspec.json.decode(plain))
    except (msgspec.DecodeError, RecursionError) as error:
        raise SettingsInvalid(f"{file} is not JSON: {error}", file=str(file)) from None


def _toml(file: Path) -> Tree:
    try:
        return tomllib.loads(_text(file))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise SettingsInvalid(f"{file} is not TOML: {error}", file=str(file)) from None


def _yaml(file: Path) -> Tree:
    try:
        yaml: Any = import_module("yaml")
    except ModuleNotFoundError:
        why = "a YAML file needs the package PyYAML, which is not installed: `uv tool install --with pyyaml .`"
        raise SettingsInvalid(why, file=str(file)) from None
    try:
        return tree(yaml.safe_load(_text(file)))
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise SettingsInvalid(f"{file} is not YAML: {' '.join(str(error).split())}", file=str(file)) from None
