"""Reads JSON that our decoder refuses although clients read it: half a character, and numbers that no machine can hold.

Some vendors cut between the two escapes of an emoji, so each delta holds half a character. A number such as 1e400 is JSON by
its grammar; it is read as infinity, and written as null. NaN is no JSON.
"""

from __future__ import annotations

import json
from math import inf
from typing import Final

import msgspec

from clew.model.json import JsonValue

__all__ = ["read_json"]

_json: Final = msgspec.json.Decoder()
_MOST_DIGITS: Final = 4000
"""Python refuses to read and to write integers of 4,300 digits and more."""


def read_json(raw: bytes) -> JsonValue:
    """Raises ValueError for what is no JSON, RecursionError for what is nested too deeply."""
    try:
        return _json.decode(raw)
    except msgspec.DecodeError as error:
        try:
            return json.loads(raw.decode(), parse_constant=_refuse, parse_int=_integer)
        except ValueError:
            raise error from None


def _refuse(word: str) -> JsonValue:
    raise ValueError(f"{word} is no JSON")


def _integer(digits: str) -> int | float:
    if len(digits) < _MOST_DIGITS:
        return int(digits)
    return -inf if digits.startswith("-") else inf
