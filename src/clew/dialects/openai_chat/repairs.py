"""What to change after a backend refused a request for its reasoning, length, roles or images, before its answer began.

How long an answer may be depends on each request, so asking for less does not last. Which entries could not be read is in
the strand itself, thought by thought (`pipeline.thinking.open.reduce_thought`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, get_args

from msgspec import structs

from clew.dialects.openai.repairs import RepairKind, TableRepairs
from clew.dialects.openai_chat.options import Apart, ChatOptions

_UNCHECKED: Final = {"extra_content": {"google": {"thought_signature": "skip_thought_signature_validator"}}}
"""Google's own word, on a call, for a signature that is not there. Others than Google's endpoint serve its models, too."""

_KINDS: Final[Mapping[str, RepairKind]] = {
    "less": RepairKind({}, "refused for the length of the answer that was asked for: it is asked for less", is_plain=True),
    "images": RepairKind(
        {"images": "omit"}, "refused for an image: each is left out, with a text in its place", is_plain=True
    ),
    "roles": RepairKind(
        {"apart": frozenset(get_args(Apart))},
        "refused for the order of its roles: those that may not follow each other have a message between them",
        is_plain=True,
    ),
    "fill": RepairKind(
        {"missing": "space", "missing_on": "all", "empty": {}},
        "refused for missing reasoning: every answer gets the least that can stand for it",
    ),
    "none": RepairKind({"reasoning": "", "missing": "nothing"}, "refused for reasoning that came back: none goes"),
    "entries": RepairKind({"entries": False}, "refused for reasoning that it could not read: only its text goes"),
    "signatures": RepairKind(
        {"unsigned_call": _UNCHECKED}, "refused for a call without a signature: each such gets the vendor's word for that"
    ),
    "budget": RepairKind({"budgets": False}, "refused for the tokens to think with: a level is asked for instead"),
    "levels": RepairKind(
        {"levels": ("low", "medium", "high")}, "refused for this effort: the nearest of low, medium and high is asked for"
    ),
    "effort": RepairKind({"knob": ""}, "refused for the effort: the backend's default holds"),
    "free tools": RepairKind({"forced": "auto"}, "refused for a forced tool: the choice is free"),
    "off": RepairKind({"thinks": False}, "refused for its reasoning: no thinking this time"),
}
"""The options that each repair changes."""

_VALUES: Final = r"supported values|does not support '|invalid value|one of|input should be"
"""How it is said that a field has another value than it may have."""

_REFUSALS: Final[Sequence[tuple[str, tuple[str, ...]]]] = (
    (r"reasoning_content\b.*(?:must be passed back|is missing)|missing reasoning_content", ("fill", "off")),
    (r"thinking\b.*must be passed back", ("fill", "off")),
    (r"reasoning_(?:content|details)\W[^.]{0,60}(?:not (?:allowed|permitted|supported)|unsupported)", ("none",)),
    (r"(?:unknown|unrecognized|unsupported) \w+\W{0,3}messages?\b.{0,20}reasoning_(?:content|details)", ("none",)),
    (r"missing an?\W+thought_?signature|thought_?signature\W+is\W+(?:missing|required)", ("signatures", "off")),
    (r"(?:corrupted|invalid)\W+thought\W*signature|thought_?signature is invalid", ("entries", "off")),
    (r"signature in the reasoningcontent block.{0,80}is invalid", ("entries", "off")),
    (r"invalid\W+signature\W+in\W+\W*thinking|invalid\W+data\W+in\W+\W*redacted_thinking", ("entries", "off")),
    (r"thinking\W+blocks.*cannot be modified|bound to a different conversation", ("entries", "off")),
    (
        r"invalid_encrypted_content|encrypted content.*(?:could not be verified|decrypted|did not match|recognized prefix)",
        ("entries", "off"),
    ),
    (r"duplicate item|item with id 'rs_|without its required", ("entries", "off")),
    (r"thinking mode does not support this tool_choice|tool_choice.*(?:thinking|reasoning)", ("free tools", "off")),
    (r"thinking_token_budget|thinking_budget|reasoning_budget", ("budget", "effort")),
    (rf"(?:{_VALUES})[\s\S]*effort|effort[\s\S]*(?:{_VALUES})", ("levels", "effort")),
    (r"reasoning_effort|reasoning\.effort|unsupported (?:value|effort).*effort", ("effort",)),
    (r"unexpected role '\w+' after role 'tool'|roles must alternate|successive user or assistant messages", ("roles",)),
    (r"does not support thinking|think value\b.*is not supported", ("effort",)),
)
"""Vendors' words, and what to try after them, in order; the first that fits counts."""


def _weaken(options: object, changed: Mapping[str, object]) -> object:
    assert isinstance(options, ChatOptions), "the options of this dialect"
    return structs.replace(options, request=structs.replace(options.request, **changed))


REPAIRS: Final = TableRepairs(
    _KINDS, _REFUSALS, _weaken, loop_long=("off",), passing=("less", "entries"), reducing="entries"
)
