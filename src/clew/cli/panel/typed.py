"""What is typed on a terminal: tokens, the key that opens the panel, and the keys that the panel knows.

A terminal sends a control key as one byte. A client can ask it for two newer encodings, and then the same key comes as an
escape sequence: `CSI code ; modifiers u` (kitty's protocol) or `CSI 27 ; modifiers ; code ~` (xterm's modifyOtherKeys).
Claude Code asks for both where a terminal has them. Between the marks of a paste nothing is a key.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple, cast

_PASTE_BEGINS: Final = b"\x1b[200~"
_PASTE_ENDS: Final = b"\x1b[201~"
_TOKEN: Final = re.compile(
    rb"\x1b\[[0-9:;<=>?]*[\x20-/]*[@-~] | \x1bO[\x20-~] | \x1b[^\x1b\[O]? | [\x00-\x1f\x7f] | [^\x00-\x1f\x7f]+", re.VERBOSE
)
"""A sequence of the terminal, a key with Alt, a control character, or text."""
_PARTIAL: Final = re.compile(rb"\x1b\[[0-9:;<=>?]*[ -/]*\Z")
_KITTY: Final = re.compile(rb"\x1b\[(\d+)(?::\d*)*;(\d+)(?::(\d))?(?:;[\d:]*)?u")
_XTERM: Final = re.compile(rb"\x1b\[27;(\d+);(\d+)~")
_CTRL: Final = 4
_LOCKS: Final = 64 | 128
"""Caps lock and num lock, which kitty reports as modifiers."""
_RELEASED: Final = b"3"


class SwitchKey(NamedTuple):
    """A control key: its character, as in `ctrl-]`."""

    character: str

    @property
    def shown(self) -> str:
        return f"Ctrl-{self.character.upper()}"

    @property
    def byte(self) -> bytes:
        return bytes([ord(self.character.upper()) & 0x1F])

    def is_in(self, token: bytes) -> bool:
        """Whether this token is the key, in one of the three encodings."""
        if token == self.byte:
            return True
        if found := _KITTY.fullmatch(token):
            code, modifiers = int(found[1]), int(found[2])
        elif found := _XTERM.fullmatch(token):
            code, modifiers = int(found[2]), int(found[1])
        else:
            return False
        return code == ord(self.character) and (modifiers - 1) & ~_LOCKS == _CTRL


def switch_key(name: str) -> SwitchKey | None:
    """The key of this name, which the settings have checked; None for `off`."""
    return None if name == "off" else SwitchKey(name.removeprefix("ctrl-"))


class TypedToken(NamedTuple):
    """Some bytes that were typed. `is_switch_key`: they are the key that opens the panel, pressed or let go."""

    data: bytes
    is_switch_key: bool = False
    is_release: bool = False


class TypedReader:
    """Splits what is typed, in whatever pieces it comes, into tokens."""

    def __init__(self, key: SwitchKey) -> None:
        self._key = key
        self._is_pasting = False
        self.held = b""
        """The beginning of a sequence. If nothing more comes, it was typed like that: see `flush`."""

    def feed(self, data: bytes) -> Iterator[TypedToken]:
        data, self.held = self.held + data, b""
        while data:
            if self._is_pasting:
                # The paste as far as it has come, and what follows it. A piece may end inside the mark.
                text, mark, rest = data.partition(_PASTE_ENDS)
                if mark:
                    self._is_pasting = False
                    pasted, data = text + mark, rest
                else:
                    kept = next((n for n in range(len(_PASTE_ENDS) - 1, 0, -1) if data.endswith(_PASTE_ENDS[:n])), 0)
                    self.held = data[len(data) - kept :]
                    pasted, data = data[: len(data) - kept], b""
                yield TypedToken(pasted)
            elif _PARTIAL.match(data):
                self.held, data = data, b""
            else:
                token = cast(re.Match[bytes], _TOKEN.match(data))[0]  # every byte begins one
                data = data[len(token) :]
                self._is_pasting = token == _PASTE_BEGINS
                yield self._token(token)

    def flush(self) -> bytes:
        held, self.held = self.held, b""
        return held

    def _token(self, data: bytes) -> TypedToken:
        if not self._key.is_in(data):
            return TypedToken(data)
        kitty = _KITTY.fullmatch(data)
        return TypedToken(data, True, kitty is not None and kitty[3] == _RELEASED)


_NAMES: Final = {
    b"\r": "enter",
    b"\n": "enter",
    b"\x1b": "escape",
    b"\x03": "escape",
    b"\x1b[A": "up",
    b"\x1bOA": "up",
    b"\x1b[B": "down",
    b"\x1bOB": "down",
    b"\x10": "up",
    b"\x0e": "down",
}
_KITTY_NAMES: Final = {13: "enter", 27: "escape"}


def first_key(data: bytes) -> tuple[str, bytes]:
    """The first key of a token by its name (`up`, `enter` or the character itself), and the bytes after it. The name is ""
    for a key that the panel does not know."""
    if data in _NAMES:
        return _NAMES[data], b""
    if found := re.fullmatch(rb"\x1b\[(\d{1,5})(?:;1)?u", data):
        code = int(found[1])
        return _KITTY_NAMES.get(code, chr(code)), b""
    if data.startswith(b"\x1b"):
        return "", b""
    text = data.decode("utf-8", "surrogateescape")
    return text[0], text[1:].encode("utf-8", "surrogateescape")
