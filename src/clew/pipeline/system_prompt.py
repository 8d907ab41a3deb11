"""The system prompt without what is refused in it (R16): empty texts, and a prompt of nothing but white space."""

from __future__ import annotations

import msgspec
from msgspec import UNSET, Raw, UnsetType

from clew.model.blocks import Block
from clew.model.change import Change
from clew.pipeline.blank import is_empty_text, is_nothing_but_blank
from clew.wire.splice import apply, edit_array

__all__ = ["tidied_prompt"]

EMPTY = "a system text must be non-empty (R16)"
BLANK = "the system prompt must hold more than white space (R16)"

_prompt = msgspec.json.Decoder(str | list[Block])


def tidied_prompt(raw: Raw | UnsetType, *, step: str) -> tuple[Raw | UnsetType, tuple[Change, ...]]:
    """The prompt, and what was done to it. An empty string and an empty list are legal and stay."""
    prompt = _read(raw)
    if raw is UNSET or not prompt:
        return raw, ()
    empty = [] if isinstance(prompt, str) else [index for index, block in enumerate(prompt) if is_empty_text(block)]
    if len(empty) == len(prompt) or is_nothing_but_blank(_without(prompt, empty)):
        return UNSET, (Change(step, "system", "removed", BLANK),)
    if not empty:
        return raw, ()
    cut = Raw(apply(bytes(raw), edit_array(bytes(raw), drop=empty)))
    return cut, tuple(Change(step, f"system.{index}", "removed", EMPTY) for index in empty)


def _without(prompt: str | list[Block], empty: list[int]) -> str | tuple[Block, ...]:
    if isinstance(prompt, str):
        return prompt
    return tuple(block for index, block in enumerate(prompt) if index not in empty)


def _read(raw: Raw | UnsetType) -> str | list[Block] | None:
    """None if it is absent, or something else, which is the vendor's to refuse."""
    try:
        return None if raw is UNSET else _prompt.decode(raw)
    except msgspec.DecodeError:
        return None
