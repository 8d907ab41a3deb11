"""How many tokens a chat request has, how many of them the vendor has seen before, and whether all fit the window.

Counted as in the other dialect: four bytes of compact JSON are a token, an image costs a constant. A prompt is its tools
and then its messages; what a request shares with an earlier one of the same account from the beginning on is cached, in
whole units of the vendor's.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Final

import msgspec

from clew.model.json import JsonObject, JsonValue
from clew.simulator import tokens
from clew.simulator.chat.case import ChatCase
from clew.simulator.chat.plain import answer_cap
from clew.simulator.chat.rules import Finding
from clew.simulator.values import as_dict, as_list

__all__ = ["PrefixCache", "check_length", "tokens_of"]

_TOKENS_PER_IMAGE: Final = 1500


def tokens_of(case: ChatCase) -> int:
    """How many tokens the whole prompt has."""
    return sum(_tokens(segment) for segment in _segments(case.body))


def check_length(case: ChatCase) -> Iterator[Finding]:
    count, answer, limit = tokens_of(case), answer_cap(case.body), case.traits.context
    if count + answer > limit:
        names = {"tokens": count, "answer": answer, "sum": count + answer, "limit": limit}
        yield Finding("chat.too-long", "messages", names)


class PrefixCache:
    """What the vendor remembers of earlier prompts."""

    def __init__(self) -> None:
        self._seen: set[bytes] = set()

    def use(self, case: ChatCase, owner: str) -> int:
        """Tokens of the prompt that were seen before; and see all of it."""
        running = hashlib.sha256(f"{owner}\n{case.model}".encode())
        cached = count = 0
        for segment in _segments(case.body):
            running.update(msgspec.json.encode(segment, order="sorted"))
            count += _tokens(segment)
            if running.digest() in self._seen:
                cached = count
            self._seen.add(running.digest())
        unit = case.vendor.numbers.unit
        return cached // unit * unit if unit else 0

    def reset(self) -> None:
        self._seen.clear()


def _segments(body: JsonObject) -> Iterator[JsonValue]:
    yield from as_list(body.get("tools"))
    yield from as_list(body.get("messages"))


def _tokens(segment: JsonValue) -> int:
    parts = as_list(as_dict(segment).get("content"))
    images = sum(as_dict(part).get("type") == "image_url" for part in parts)
    if not images:
        return tokens.of_json(segment)
    light: JsonObject = {**as_dict(segment), "content": [part for part in parts if as_dict(part).get("type") != "image_url"]}
    return tokens.of_json(light) + images * _TOKENS_PER_IMAGE
