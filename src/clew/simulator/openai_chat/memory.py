"""What a simulated chat vendor remembers between requests: its answers, and the prompts that it has seen.

Plain text proves nothing, so an answer is known by the ids of its tool calls, or by what it says and calls. Some vendors use
the same call ids in every conversation; of several answers under one id, the best match is taken.

Tokens are counted as in the other dialect: four bytes of compact JSON are a token, an image costs a constant. A prompt is
its tools and then its messages. The part that a request shares with an earlier one of the same account, from the beginning
on, is cached, in whole units of the vendor's.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

import msgspec

from clew.model.json import JsonObject, JsonValue
from clew.simulator import tokens
from clew.simulator.values import as_dict, as_list, as_str

__all__ = ["AnswerMemory", "GivenAnswer", "PrefixCache", "prompt_tokens"]

_TOKENS_PER_IMAGE: Final = 1500


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenAnswer:
    """An answer that the simulator gave."""

    model: str
    reasoning: str
    """All shown thoughts."""
    message: JsonObject
    """The whole message, as the client is to send it back."""
    field: str
    """Where its reasoning is: `reasoning_content`, `reasoning_details`, `content`, …; "" if it has none."""

    @property
    def details(self) -> list[JsonValue]:
        return as_list(self.message.get("reasoning_details"))


@dataclass(frozen=True, slots=True)
class AnswerMemory:
    """The answers of one simulator, and the secret that its proofs are made with."""

    secret: bytes
    _by_key: dict[str, list[GivenAnswer]] = field(default_factory=dict[str, list[GivenAnswer]])
    """By call id and by fingerprint, the oldest first."""

    def record(self, answer: GivenAnswer, text: str) -> None:
        """Remember an answer; `text` is its visible text."""
        for key in (*_call_ids(answer.message), _fingerprint(answer.message, text)):
            self._by_key.setdefault(key, []).append(answer)

    def find(self, message: JsonObject, text: str, reasoning: str) -> GivenAnswer | None:
        """The answer that this message was, if it is one of this simulator's; of several, the one with this reasoning.

        Calls with unknown ids are from another vendor, unless the reasoning proves otherwise.
        """
        ids = [*_call_ids(message)]
        by_id = [answer for key in ids for answer in reversed(self._by_key.get(key, []))]
        by_print = self._by_key.get(_fingerprint(message, text), [])[::-1]
        printed = {id(answer) for answer in by_print}
        both = [answer for answer in by_id if id(answer) in printed]
        for likely in (both, by_id, by_print):
            if found := next((answer for answer in likely if answer.reasoning == reasoning), None):
                return found
        known = [*both, *by_id, *([] if ids else by_print)]
        return known[0] if known else None

    def thoughts(self) -> set[str]:
        """The text of every thought."""
        return {answer.reasoning for answers in self._by_key.values() for answer in answers if answer.reasoning}

    def reset(self) -> None:
        self._by_key.clear()


def _fingerprint(message: JsonObject, text: str) -> str:
    """What a message says and calls, without its ids and white space."""
    calls: list[JsonValue] = []
    for call in as_list(message.get("tool_calls")):
        function = as_dict(as_dict(call).get("function"))
        calls.append([function.get("name"), _canonical(function.get("arguments"))])
    return msgspec.json.encode([text.strip(), calls], order="sorted").decode()


def _canonical(arguments: JsonValue) -> JsonValue:
    if not isinstance(arguments, str):
        return arguments
    try:
        return msgspec.json.decode(arguments)
    except msgspec.DecodeError:
        return arguments


def _call_ids(message: JsonObject) -> Iterator[str]:
    for call in as_list(message.get("tool_calls")):
        if id_ := as_str(as_dict(call).get("id")):
            yield f"id {id_}"


class PrefixCache:
    """The beginnings of the prompts that one simulator has seen."""

    def __init__(self) -> None:
        self._seen: set[bytes] = set()

    def use(self, body: JsonObject, *, owner: str, unit: int) -> int:
        """The number of prompt tokens that were seen before. The whole prompt counts as seen from now on."""
        running = hashlib.sha256(f"{owner}\n{as_str(body.get('model'))}".encode())
        cached = count = 0
        for segment in _segments(body):
            running.update(msgspec.json.encode(segment, order="sorted"))
            count += _tokens(segment)
            if running.digest() in self._seen:
                cached = count
            self._seen.add(running.digest())
        return cached // unit * unit if unit else 0

    def reset(self) -> None:
        self._seen.clear()


def prompt_tokens(body: JsonObject) -> int:
    """The number of tokens in the whole prompt."""
    return sum(_tokens(segment) for segment in _segments(body))


def _segments(body: JsonObject) -> Iterator[JsonValue]:
    yield from as_list(body.get("tools"))
    yield from as_list(body.get("messages"))


def _tokens(segment: JsonValue) -> int:
    parts = as_list(as_dict(segment).get("content"))
    others = [part for part in parts if as_dict(part).get("type") != "image_url"]
    if len(others) == len(parts):
        return tokens.of_json(segment)
    light: JsonObject = {**as_dict(segment), "content": others}
    return tokens.of_json(light) + (len(parts) - len(others)) * _TOKENS_PER_IMAGE
