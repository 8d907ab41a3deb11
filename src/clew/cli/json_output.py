"""JSON on standard output. What a terminal would obey inside of a text is written as an escape; the value stays the same."""

from __future__ import annotations

import re
import sys
from typing import Final

import click
import msgspec

__all__ = ["say_json", "visible_json", "visible_on_terminal"]

_OBEYED: Final = re.compile("[\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]")
"""Commands in one character (C1), what turns the order of characters around, and what cannot be seen. As in the log."""


def say_json(value: object, *, indent: bool = False) -> None:
    """One value: on one line, or with `indent` on several, for eyes."""
    raw = msgspec.json.encode(value, enc_hook=list)
    click.echo(visible_json(msgspec.json.format(raw, indent=2) if indent else raw))


def visible_json(raw: bytes) -> bytes:
    """The same JSON. Such characters stand in strings only, so an escape means what they mean."""
    return raw if raw.isascii() and b"\x7f" not in raw else _OBEYED.sub(_escape, raw.decode()).encode()


def visible_on_terminal(raw: bytes, *, is_json: bool = True) -> bytes:
    """Bytes for standard output: as they are, unless that is a terminal."""
    if not sys.stdout.isatty():
        return raw
    if is_json:
        return visible_json(raw)
    from clew.chat.terminal import harmless  # late: most commands need nothing else of the library

    return harmless(raw.decode()).encode()


def _escape(match: re.Match[str]) -> str:
    return f"\\u{ord(match[0]):04x}"
