"""JSON string literals that can be passed on unread.

A literal is what stands between two quotes, quotes included. Each pattern below fits one that is sound in itself (no control
characters, no half of a character) and holds nothing that whoever would have read it acts upon. A run is literals with
`BETWEEN` between them, a byte that cannot stand inside of one nor in what `wire.frames` hands out. What does not fit is not
wrong; it has to be read.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

import msgspec

__all__ = ["ANY", "BETWEEN", "IN_TAGS", "PLAIN", "THOUGHT", "is_text", "run_of", "text_of_run"]

BETWEEN: Final = b"\r"

_HALF = rb"[dD][89a-fA-F]"
_PLAIN = rb'[^"\\\x00-\x1f]'
_WHOLE_ESCAPE = rb'\\(?:["\\/bfnrt]|u(?!' + _HALF + rb")[0-9a-fA-F]{4})"
_NO_BRACKET = rb'\\(?:["\\/bfnrt]|u(?!005[dD]|' + _HALF + rb")[0-9a-fA-F]{4})"
_SHORT_ESCAPE = rb'\\["\\/bfnrt]'
_SPACES = (
    rb"[ ]",
    rb"\\[bfnrt]",
    rb"\xc2[\x85\xa0]",
    rb"\xe1\x9a\x80",
    rb"\xe2\x80[\x80-\x8a\xa8\xa9\xaf]",
    rb"\xe2\x81\x9f",
    rb"\xe3\x80\x80",
)
"""What may not stand at an end where space waits for the next word: every character that Python strips, as UTF-8."""
_NO_SPACE = b"".join(rb"(?<!" + space + b")" for space in _SPACES)


def _run(plain: bytes, escape: bytes, before_end: bytes = b"") -> re.Pattern[bytes]:
    """Literals with one byte between them, as many as fit; empty ones are not among them, since nothing is told of them."""
    literal = b'"(?!")' + plain + b"*+(?:" + escape + plain + b"*+)*+" + before_end + b'"(?=' + BETWEEN + rb"|\Z)"
    return re.compile(literal + b"(?:" + BETWEEN + literal + b")*+")


ANY: Final = _run(_PLAIN, _WHOLE_ESCAPE)
"""Whatever is said aloud, where no markup counts."""
THOUGHT: Final = _run(_PLAIN, _NO_BRACKET, rb"(?<!\])")
"""What may not be the stand-in for a hidden thought (`[REDACTED]`)."""
PLAIN: Final = _run(rb'[^"\\<\[`\xe2\x00-\x1f]', _SHORT_ESCAPE)
"""Text in which no tag and no code fence can begin. (The byte E2 begins `◁`, and all dashes and fancy quotes.)"""
IN_TAGS: Final = _run(rb'[^"\\<\[\xe2\x00-\x1f]', _SHORT_ESCAPE, _NO_SPACE)
"""What goes on inside a thought between tags: no tag can begin in it, and it does not end with space."""

_texts = msgspec.json.Decoder(list[str])


def run_of(pattern: re.Pattern[bytes], joined: bytes) -> bytes:
    """The run at the beginning of these bytes; b"" if there is none, or if it is no text."""
    match = pattern.match(joined)
    if match is None or not is_text(match[0]):
        return b""
    return match[0]


def is_text(run: bytes) -> bool:
    """Whether it is UTF-8: a broken character is no JSON."""
    if run.isascii():
        return True
    try:
        run.decode()
    except UnicodeDecodeError:
        return False
    return True


def text_of_run(runs: Sequence[bytes]) -> str:
    """What the literals of some runs say together."""
    return "".join(_texts.decode(b"[%b]" % BETWEEN.join(runs).replace(BETWEEN, b",")))
