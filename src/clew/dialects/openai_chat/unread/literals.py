"""JSON strings that can be passed on unread.

A word is what stands between two quotes, as JSON writes it. Each kind below takes words that are sound in themselves (no
control characters, no half of a character, however it is written) and hold nothing that whoever would have read them acts
upon. What does not fit is not wrong; it has to be read.

What a kind takes is said by an expression. It costs more than all else that happens to a word, so it is asked only where
something looks suspicious: words that JSON's own decoder reads, and that hold none of a kind's `suspects`, fit for certain.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

import msgspec

from clew.wire.strings import MARK, marked, read_marked

__all__ = ["ANY", "IN_TAGS", "NO_RUN", "PLAIN", "THOUGHT", "Literals", "Run", "text_of"]

_BETWEEN: Final = b"\r"
"""Cannot stand inside of a word, nor in what `wire.frames` hands out."""

_HALF = rb"[dD][89a-fA-F]"
_PLAIN = rb'[^"\\\x00-\x1f\x80-\xff]'
_MORE = rb"[\x80-\xbf]"
_OF_THREE = rb"\xe0[\xa0-\xbf]|[\xe1-\xec\xee\xef][\x80-\xbf]|\xed[\x80-\x9f]"
_OF_FOUR = rb"(?:\xf0[\x90-\xbf]|[\xf1-\xf3][\x80-\xbf]|\xf4[\x80-\x8f])" + _MORE
_CHARACTER = rb"[\xc2-\xdf]" + _MORE + b"|(?:" + _OF_THREE + b"|" + _OF_FOUR + b")" + _MORE
"""Of several bytes, in UTF-8: a broken one is no JSON."""
_NO_MARK = rb"(?!\xe2)(?:" + _CHARACTER + b")"
_PAIR = rb"u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
_WHOLE_ESCAPE = rb'\\(?:["\\/bfnrt]|u(?!' + _HALF + rb")[0-9a-fA-F]{4}|" + _PAIR + b")"
_NO_BRACKET = rb'\\(?:["\\/bfnrt]|u(?!005[dD]|' + _HALF + rb")[0-9a-fA-F]{4}|" + _PAIR + b")"
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


_BY_USE: Final = sorted(range(128), key=lambda byte: not chr(byte).islower())
"""Those that words are made of, first."""


class Run(NamedTuple):
    """Words that fit, one behind the other, and what they say together."""

    words: list[bytes]
    text: str


NO_RUN: Final = Run([], "")


class Literals:
    """A kind of words. Empty ones are of none, since nothing is told of them."""

    __slots__ = ("_run", "_suspects", "fits", "sure")

    def __init__(self, plain: bytes, other: bytes, before_end: bytes = b"", suspects: Sequence[bytes] | None = None) -> None:
        """`plain` are single bytes, `other` escapes and characters of several.

        `suspects`: None if nothing is certain. They may hold `MARK` for the end of a word.
        """
        word = plain + b"*+(?:(?:" + other + b")" + plain + b"*+)*+" + before_end
        self.fits = re.compile(rb"(?!\Z)" + word).fullmatch
        """Whether a single word is of this kind."""
        self.sure = bytes(byte for byte in _BY_USE if self.fits(bytes((byte,))))
        """Any of these in any order is a word of this kind, if it is one at all."""
        whole = b"(?!" + _BETWEEN + rb"|\Z)" + word + b"(?=" + _BETWEEN + rb"|\Z)"
        self._run = re.compile(whole + b"(?:" + _BETWEEN + whole + b")*+")
        self._suspects = suspects

    def run_of(self, words: list[bytes]) -> Run:
        """The first of these words, as many as fit."""
        joined = marked(words)
        if self._suspects is not None and not self._is_suspicious(joined + MARK, self._suspects) and all(words):
            text = read_marked(joined, len(words))
            if text is not None:
                return Run(words, text)
        match = self._run.match(_BETWEEN.join(words))
        if match is None:
            return NO_RUN
        fitting = match[0].split(_BETWEEN)
        return Run(fitting, text_of(fitting))

    def _is_suspicious(self, joined: bytes, suspects: Sequence[bytes]) -> bool:
        """By the first byte too, as a number: that is found much sooner than two bytes."""
        return any(each[0] in joined and each in joined for each in suspects)


_THOUGHT_SUSPECTS = (rb"\u005", b"]" + MARK)
_PLAIN_SUSPECTS = (rb"\u", b"<", b"[", b"`", b"\xe2")

ANY: Final = Literals(_PLAIN, _WHOLE_ESCAPE + b"|" + _CHARACTER, suspects=())
"""Whatever is said aloud, where no markup counts."""
THOUGHT: Final = Literals(_PLAIN, _NO_BRACKET + b"|" + _CHARACTER, rb"(?<!\])", suspects=_THOUGHT_SUSPECTS)
"""What may not be the stand-in for a hidden thought (`[REDACTED]`)."""
PLAIN: Final = Literals(rb'[^"\\<\[`\x00-\x1f\x80-\xff]', _SHORT_ESCAPE + b"|" + _NO_MARK, suspects=_PLAIN_SUSPECTS)
"""Text in which no tag and no code fence can begin. (The byte E2 begins `◁`, and all dashes and fancy quotes.)"""
IN_TAGS: Final = Literals(rb'[^"\\<\[\x00-\x1f\x80-\xff]', _SHORT_ESCAPE + b"|" + _NO_MARK, _NO_SPACE)
"""What goes on inside a thought between tags: no tag can begin in it, and it does not end with space."""

_texts = msgspec.json.Decoder(list[str])


def text_of(words: Sequence[bytes]) -> str:
    """What words that fit say together."""
    text = read_marked(marked(words), len(words))
    return "".join(_texts.decode(b'["%b"]' % b'","'.join(words))) if text is None else text
