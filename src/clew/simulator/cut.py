"""Where an answer is cut short: by `max_tokens` (R66) and by a stop sequence (R15)."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from clew.model.json import JsonObject, JsonValue
from clew.simulator import tokens

__all__ = ["at_sequence", "head_of", "input_up_to", "input_up_to_sequence"]


def head_of(text: str, budget: int) -> str:
    """The part of a text that so many tokens pay for, whole characters only."""
    return text.encode("utf-8", "surrogatepass")[: budget * 4].decode("utf-8", "ignore")


def at_sequence(text: str, sequences: Sequence[str]) -> tuple[str, str | None]:
    """The text before the first stop sequence in it, and that sequence."""
    found = [(place, sequence) for sequence in sequences if (place := text.find(sequence)) >= 0]
    if not found:
        return text, None
    place, sequence = min(found)
    return text[:place], sequence


def input_up_to(value: JsonObject, budget: int) -> JsonObject:
    """The members of a tool's input that are complete when so many tokens are spent."""
    kept: JsonObject = {}
    for key, member in value.items():
        longer: JsonObject = {**kept, key: member}
        if tokens.of_text(msgspec.json.encode(longer).decode()) > budget:
            break
        kept = longer
    return kept


def input_up_to_sequence(value: JsonObject, sequences: Sequence[str]) -> tuple[JsonObject, str | None]:
    """A tool's input, cut inside the first string that holds a stop sequence; what comes after it is not said."""
    kept: JsonObject = {}
    for key, member in value.items():
        kept[key], sequence = _member_up_to(member, sequences)
        if sequence is not None:
            return kept, sequence
    return kept, None


def _member_up_to(member: JsonValue, sequences: Sequence[str]) -> tuple[JsonValue, str | None]:
    if isinstance(member, str):
        return at_sequence(member, sequences)
    if isinstance(member, dict):
        return input_up_to_sequence(member, sequences)
    if isinstance(member, list):
        kept: list[JsonValue] = []
        for value in member:
            shorter, sequence = _member_up_to(value, sequences)
            kept.append(shorter)
            if sequence is not None:
                return kept, sequence
    return member, None
