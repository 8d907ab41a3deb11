"""What the simulated vendor remembers of its answers, so that it knows its own reasoning when it comes back.

A plain text proves nothing, so an answer is known by its tool calls' ids, or by what it said and called. Vendors that
name calls over again in every conversation have several answers under one id; then the one that fits best is meant.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import msgspec

from clew.model.json import JsonObject, JsonValue
from clew.simulator.values import as_dict, as_list, as_str

__all__ = ["ChatBooks", "Remembered", "fingerprint"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Remembered:
    """An answer that was given."""

    model: str
    reasoning: str
    """All that was thought, as far as it was shown."""
    message: JsonObject
    """The whole message, as the client is to send it back."""
    field: str
    """Where its reasoning is: `reasoning_content`, `reasoning_details`, `content`, …; "" if it has none."""

    @property
    def details(self) -> list[JsonValue]:
        return as_list(self.message.get("reasoning_details"))


def _no_answers() -> dict[str, list[Remembered]]:
    return {}


@dataclass(frozen=True, slots=True)
class ChatBooks:
    """Growing; a simulator's `reset` empties it."""

    secret: bytes
    _by_key: dict[str, list[Remembered]] = field(default_factory=_no_answers)

    def note(self, answer: Remembered, said: str) -> None:
        """Remember an answer; `said` is its visible text."""
        for key in (*_ids(answer.message), fingerprint(answer.message, said)):
            self._by_key.setdefault(key, []).insert(0, answer)

    def find(self, message: JsonObject, said: str, reasoning: str) -> Remembered | None:
        """The answer that this message was, if it is one of ours; of several, the one with this reasoning.

        Calls under ids that we never gave are somebody else's, unless the reasoning says that they are ours.
        """
        ids, print_ = list(_ids(message)), fingerprint(message, said)
        by_id = [answer for key in ids for answer in self._by_key.get(key, [])]
        by_print = self._by_key.get(print_, [])
        both = [answer for answer in by_id if answer in by_print]
        for likely in (both, by_id, by_print):
            if found := next((answer for answer in likely if answer.reasoning == reasoning), None):
                return found
        known = [*both, *by_id, *([] if ids else by_print)]
        return known[0] if known else None

    def thoughts(self) -> set[str]:
        """Every text that was thought."""
        return {answer.reasoning for answers in self._by_key.values() for answer in answers if answer.reasoning}

    def reset(self) -> None:
        self._by_key.clear()


def fingerprint(message: JsonObject, said: str) -> str:
    """What a message says and calls, whatever its ids and white space are."""
    calls: list[JsonValue] = []
    for call in as_list(message.get("tool_calls")):
        function = as_dict(as_dict(call).get("function"))
        calls.append([function.get("name"), _canonical(function.get("arguments"))])
    return msgspec.json.encode([said.strip(), calls], order="sorted").decode()


def _canonical(arguments: JsonValue) -> JsonValue:
    if not isinstance(arguments, str):
        return arguments
    try:
        return msgspec.json.decode(arguments)
    except msgspec.DecodeError:
        return arguments


def _ids(message: JsonObject) -> Iterator[str]:
    for call in as_list(message.get("tool_calls")):
        identity = as_str(as_dict(call).get("id"))
        if identity:
            yield f"id {identity}"
