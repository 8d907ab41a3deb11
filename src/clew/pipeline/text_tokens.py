"""About how many tokens a text has, by what it is made of.

Tokenisers differ, but they cut text at the same places: words (with the space before them), runs of punctuation, a few
digits at a time, line ends; and they spell out what they saw little of. So a text is measured by counting those places, not
its characters: prose, code, JSON and Chinese then cost what they cost. The numbers are for the vocabularies of a hundred
thousand tokens and more that models have today; what is left of the error is a factor per model, and that is learnt
(`token_estimate`).

Nothing goes over the characters one by one. The text becomes one large number with a byte of flags for each of its bytes;
shifted by a byte it shows what came before, so a few operations on numbers find all beginnings at once. Of a long text,
samples from beginning to end stand for the whole. So a megabyte takes a millisecond.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Final

__all__ = ["tokens_of"]

_MOST: Final = 1 << 17
"""Bytes that are looked at."""
_PIECE: Final = 1 << 11
"""Bytes of a sample, where a text is longer."""

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


def tokens_of(text: bytes) -> float:
    """The tokens of a text in UTF-8."""
    step = -(-len(text) // _MOST) * _PIECE
    if step <= _PIECE:
        return _measured(text)
    sample = b"".join(text[at : at + _PIECE] for at in range(0, len(text), step))
    return _measured(sample) * len(text) / len(sample)


def _measured(text: bytes) -> float:
    return _plain(text) + (0.0 if text.isascii() else _spelled(text))


def _plain(text: bytes) -> float:
    """What is ASCII in it."""
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


def _spelled(text: bytes) -> float:
    """Everything that is not ASCII, by script."""
    leads = text.translate(None, _NO_LEAD)
    return sum(weight * len(leads.translate(None, others)) for others, weight in _NO_SCRIPT)
