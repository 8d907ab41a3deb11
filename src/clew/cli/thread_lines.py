"""A conversation as lines for a terminal: who said what, thinking, tools and asides folded, and what would become of it.

What models and tools wrote is anybody's text. Each line of it is made printable, so that no escape in it reaches the
terminal.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

import msgspec

from clew.cli.pages import Line, printable
from clew.model.asides import aside_in
from clew.model.change import Change
from clew.model.json import JsonObject, JsonValue

__all__ = ["Shows", "changed_lines", "message_lines"]

SHORT: Final = 160
"""Characters of a tool's input or result that are shown."""

_MARKS: Final[Mapping[str, str]] = {"left out": "-", "removed": "-", "restored": "+", "added": "+"}


class Shows(NamedTuple):
    """What is shown in full; without these it is one line, or nothing."""

    thinking: bool = False
    asides: bool = False


def message_lines(content: JsonValue, shows: Shows, role: str = "") -> Iterator[Line]:
    """What one message says."""
    for block in _blocks(content):
        yield from _block_lines(block, shows, role)


def changed_lines(messages: Sequence[JsonObject], changes: Iterable[Change], shows: Shows) -> Iterator[Line]:
    """The client's messages, each change at its place with its reason."""
    by_message = _by_place(changes)
    for index, message in enumerate(messages):
        path, role = f"messages.{index}", str(message.get("role"))
        at = by_message.pop(path, {})
        yield Line(f"{printable(role)} ({path})", "head")
        yield from _reasons(at.pop(path, ()))
        for number, block in enumerate(_blocks(message.get("content"))):
            here = at.pop(f"{path}.content.{number}", ())
            gone = any(change.what in ("left out", "removed") for change in here)
            yield from _reasons(here)
            yield from (Line(line.text, "quiet" if gone else line.tone) for line in _block_lines(block, shows, role))
        yield from _reasons(change for behind in at.values() for change in behind)
    yield from _reasons(change for rest in by_message.values() for here in rest.values() for change in here)


def _by_place(changes: Iterable[Change]) -> dict[str, dict[str, list[Change]]]:
    """By the message, and there by the place. Changes inside a block belong to the block."""
    at: dict[str, dict[str, list[Change]]] = {}
    for change in changes:
        parts = change.path.split(".")
        at.setdefault(".".join(parts[:2]), {}).setdefault(".".join(parts[:4]), []).append(change)
    return at


def _reasons(changes: Iterable[Change]) -> Iterator[Line]:
    for change in changes:
        mark = _MARKS.get(change.what, "~")
        yield Line(printable(f"  {mark} {change.what} at {change.path}: {change.why}"), "bad" if mark == "-" else "good")


def _blocks(content: JsonValue) -> list[JsonObject]:
    if isinstance(content, list):
        return [block if isinstance(block, dict) else {"type": "text", "text": str(block)} for block in content]
    return [{"type": "text", "text": str(content or "")}]


def _block_lines(block: JsonObject, shows: Shows, role: str) -> Iterator[Line]:
    kind = str(block.get("type"))
    if kind == "text":
        yield from _said_in(str(block.get("text", "")), shows, role)
    elif kind == "thinking":
        yield from _thought(str(block.get("thinking", "")), shows.thinking)
    elif kind.endswith("tool_use"):
        yield Line(f"  → {printable(str(block.get('name')))} {_short(_json(block.get('input')))}")
    elif kind.endswith("tool_result"):
        yield Line(f"  ← {_short(_said(block.get('content')))}", "bad" if block.get("is_error") else "")
    else:
        yield Line(f"  ({printable(kind.replace('_', ' '))})", "quiet")


def _thought(text: str, shown: bool) -> Iterator[Line]:
    yield Line(f"  (thinking, {len(text):,} characters)" if text else "  (thinking, its text is not shown)", "quiet")
    if shown and text:
        yield from (Line(f"  {line.text}", "quiet") for line in _text(text))


def _said_in(text: str, shows: Shows, role: str) -> Iterator[Line]:
    aside = "" if shows.asides else aside_in(text, role)
    yield from [Line(f"  ({aside}, {len(text):,} characters)", "quiet")] if aside else _text(text)


def _text(text: str) -> Iterator[Line]:
    for line in text.splitlines():
        yield Line(f"  {printable(line)}")


def _said(content: JsonValue) -> str:
    """What a tool answered, as text."""
    return " ".join(str(block.get("text", f"({block.get('type')})")) for block in _blocks(content))


def _short(text: str) -> str:
    shown = printable(text[:SHORT])
    return f"{shown}… ({len(text):,} characters)" if len(text) > SHORT else shown


def _json(value: JsonValue) -> str:
    return msgspec.json.encode(value).decode()
