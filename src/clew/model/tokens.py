"""About how many tokens a text or an image costs.

Tokenisers differ, but they cut text at the same places: words (with the space before them), runs of punctuation, a few
digits at a time, line ends; and they spell out what they saw little of. So a text is measured by counting those places, not
its characters: prose, code, JSON and Chinese then cost what they cost. The numbers are for the vocabularies of a hundred
thousand tokens and more that models have today; what is left of the error is a factor per model, and that is learnt
(`pipeline.token_estimate`).

Nothing goes over the characters one by one. The text becomes one large number with a byte of flags for each of its bytes;
shifted by a byte it shows the byte before, so a few operations on numbers find all beginnings at once. Of a long text,
samples from beginning to end stand for the whole. So a megabyte takes a millisecond.

An image is measured by its size in pixels, which stands in its first bytes. Vendors scale an image down to what the model
sees and then count areas; the rule here is Anthropic's, and the others are close to it. An image that cannot be measured (a
link, an unknown format) costs what a screenshot costs.
"""

from __future__ import annotations

import binascii
import struct
from collections.abc import Iterable
from functools import cache
from typing import Final

_MOST: Final = 1 << 17
"""Bytes that are looked at."""
_PIECE: Final = 1 << 11
"""Bytes of a sample, where a text is longer."""
_KEPT: Final = 1 << 13
"""Characters of a growing text that are measured together. Most answers are shorter, and most backends say what they
counted: then nothing is measured at all."""
_FEW: Final = 64

_LETTER, _PUNCTUATION, _DIGIT, _LINE, _BLANK, _UPPER, _LOWER = (1 << bit for bit in range(7))


def _flags(byte: int) -> int:
    character = chr(byte) if byte < 128 else ""
    flags = _UPPER * character.isupper() | _LOWER * character.islower() | _LETTER * character.isalpha()
    flags |= _DIGIT * character.isdigit() | _LINE * (character == "\n") | _BLANK * (character in (" ", "\t"))
    return flags or _PUNCTUATION * (32 < byte < 127)


@cache
def _everywhere(flag: int) -> int:
    """In every byte. Made when it is first needed: it is as long as the longest text."""
    return int.from_bytes(bytes([flag]) * (_MOST + _PIECE), "big")


def _all_but(kept: Iterable[int]) -> bytes:
    """Every byte but these, to be left out by `translate`."""
    return bytes(set(range(256)).difference(kept))


_FLAGS: Final = bytes(map(_flags, range(256)))

_SCRIPTS: Final[tuple[tuple[range, float], ...]] = (
    (range(0xC6, 0xCE), 0.4),  # Latin beyond the accents, marks
    (range(0xCE, 0xD0), 0.45),  # Greek
    (range(0xD0, 0xD4), 0.38),  # Cyrillic
    (range(0xD4, 0xE0), 0.45),  # Armenian, Hebrew, Arabic
    (range(0xE0, 0xE1), 0.6),  # the scripts of India, Thai
    (range(0xE1, 0xE2), 0.4),  # Vietnamese, Georgian, Khmer
    (range(0xE2, 0xE3), 0.8),  # dashes, quotes, arrows, frames
    (range(0xE3, 0xE4), 0.7),  # kana
    (range(0xE4, 0xEA), 0.75),  # Chinese characters
    (range(0xEA, 0xEE), 0.63),  # Hangul
    (range(0xEE, 0xF0), 0.8),  # wide forms, private use
    (range(0xF0, 0xF5), 2.0),  # emoji
)
"""Tokens for a character, by the first byte of its UTF-8. An accent costs the word that it cuts in two."""

_NO_LEAD: Final = _all_but(range(0xC2, 0xF5))
_NO_SCRIPT: Final = tuple((_all_but(leads), weight) for leads, weight in _SCRIPTS)


OUTPUT_ESTIMATED: Final = "output_tokens_estimated"
"""The member of a usage object that says that nobody counted the output: `output_tokens` is an estimate of what came."""


def tokens_of(text: bytes) -> float:
    """The tokens of a text in UTF-8."""
    step = -(-len(text) // _MOST) * _PIECE
    if step <= _PIECE:
        return _measure(text)
    sample = b"".join(text[at : at + _PIECE] for at in range(0, len(text), step))
    return _measure(sample) * len(text) / len(sample)


class TokenTally:
    """About how many tokens a text has that comes piece by piece. It keeps no more than the end of the text, and how
    the pieces were cut makes no difference."""

    __slots__ = ("_measured", "_pieces", "_size")

    def __init__(self) -> None:
        self._measured = 0.0
        self._pieces: list[str] = []
        self._size = 0

    def add(self, text: str) -> None:
        self._pieces.append(text)
        self._size += len(text)
        if self._size >= _KEPT:
            whole = "".join(self._pieces)
            end = len(whole) // _KEPT * _KEPT
            self._measured += sum(_tokens_of_text(whole[at : at + _KEPT]) for at in range(0, end, _KEPT))
            self._pieces, self._size = [whole[end:]], len(whole) - end
        elif len(self._pieces) >= _FEW:  # a small piece takes ten times as much memory as its letters
            self._pieces = ["".join(self._pieces)]

    def total(self) -> int:
        """0 if nothing was added."""
        rest = "".join(self._pieces)
        found = self._measured + _tokens_of_text(rest)
        return max(1, round(found)) if found or rest else 0


def _tokens_of_text(text: str) -> float:
    return tokens_of(text.encode("utf-8", "replace"))


def _measure(text: bytes) -> float:
    ascii_part = _measure_ascii(text)
    if text.isascii():
        return ascii_part
    leads = text.translate(None, _NO_LEAD)
    return ascii_part + sum(weight * len(leads.translate(None, others)) for others, weight in _NO_SCRIPT)


def _measure_ascii(text: bytes) -> float:
    """The tokens of the ASCII characters in a text."""
    here = int.from_bytes(text.translate(_FLAGS), "big")
    before = here >> 8
    begins = here & ~before
    letters, lines = _everywhere(_LETTER), _everywhere(_LINE)
    return (
        0.75 * (begins & letters).bit_count()  # words: one of five letters is a little more than one token,
        + 0.085 * (here & letters).bit_count()  # one of eleven is one and a half
        + 0.5 * ((before & _everywhere(_LOWER)) >> 1 & here).bit_count()  # a capital inside: `getUserName` is three
        + 1.0 * (begins & _everywhere(_PUNCTUATION)).bit_count()  # `":{"` is one token
        + 0.45 * (here & _everywhere(_DIGIT)).bit_count()  # one to three in a token
        + 0.7 * (here & lines).bit_count()  # many end together with the mark before them
        + 0.4 * ((before & lines) << 1 & here).bit_count()  # and an indent may be a token of its own
    )


USUAL_IMAGE_TOKENS: Final = 1200
"""Tokens of an image of unknown size."""

_AREA: Final = 750
"""Pixels to a token."""
_LONGEST: Final = 1568
_MOST_OF_IMAGE: Final = 1600
_HEAD: Final = 1 << 17
"""Characters of base64 that are looked at: a JPEG may have a preview before it says how large it is."""


def image_tokens(base64: str) -> int:
    """The tokens of an image that is here as data."""
    try:
        head = binascii.a2b_base64(base64[: min(_HEAD, len(base64) // 4 * 4)])
    except (binascii.Error, ValueError):
        return USUAL_IMAGE_TOKENS
    size = image_size(head)
    if size is None:
        return USUAL_IMAGE_TOKENS
    width, height = size
    scale = min(1.0, _LONGEST / max(width, height, 1))
    return max(1, min(_MOST_OF_IMAGE, round(width * scale * height * scale / _AREA)))


def image_size(head: bytes) -> tuple[int, int] | None:
    """Width and height of a PNG, GIF, WebP or JPEG; None for anything else, or if they are not among these bytes."""
    if head.startswith(b"\x89PNG") and len(head) >= 24:
        return _two(">II", head, 16)
    if head.startswith(b"GIF8") and len(head) >= 10:
        return _two("<HH", head, 6)
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP" and len(head) >= 30:
        kind = head[12:16]
        if kind == b"VP8 ":
            width, height = _two("<HH", head, 26)
            return width & 0x3FFF, height & 0x3FFF
        if kind == b"VP8L":
            bits = int.from_bytes(head[21:25], "little")
            return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
        if kind == b"VP8X":
            return int.from_bytes(head[24:27], "little") + 1, int.from_bytes(head[27:30], "little") + 1
        return None
    return _jpeg(head) if head.startswith(b"\xff\xd8") else None


def _two(layout: str, head: bytes, at: int) -> tuple[int, int]:
    first, second = struct.unpack_from(layout, head, at)
    return int(first), int(second)


def _jpeg(head: bytes) -> tuple[int, int] | None:
    """From segment to segment, up to the one that begins the picture."""
    at = 2
    while at + 9 <= len(head) and head[at] == 0xFF:
        marker = head[at + 1]
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            height, width = _two(">HH", head, at + 5)
            return width, height
        at += 2 + int.from_bytes(head[at + 2 : at + 4], "big")
    return None
