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
    "less": RepairKind({}, "the backend refused max_tokens: asked again with less", is_plain=True),
    "images": RepairKind(
        {"images": "omit"}, "the backend refused an image: asked again with a text in place of each image", is_plain=True
    ),
    "roles": RepairKind(
        {"apart": frozenset(get_args(Apart))},
        "the backend refused the order of roles: asked again with messages in between",
        is_plain=True,
    ),
    "fill": RepairKind(
        {"missing": "space", "missing_on": "all", "empty": {}},
        "the backend missed reasoning: asked again with a placeholder in every answer",
    ),
    "none": RepairKind(
        {"reasoning": "", "missing": "nothing"}, "the backend refused returned reasoning: asked again without it"
    ),
    "entries": RepairKind({"entries": False}, "the backend could not read its reasoning: asked again with the text only"),
    "signatures": RepairKind(
        {"unsigned_call": _UNCHECKED},
        "the backend refused a call without a signature: asked again with the vendor's placeholder",
    ),
    "budget": RepairKind({"budgets": False}, "the backend refused the thinking budget: asked again with a level"),
    "levels": RepairKind(
        {"levels": ("low", "medium", "high")},
        "the backend refused this effort: asked again with the nearest of low, medium and high",
    ),
    "effort": RepairKind({"knob": ""}, "the backend refused the effort: asked again without it"),
    "free tools": RepairKind({"forced": "auto"}, "the backend refused a forced tool: asked again with a free choice"),
    "off": RepairKind({"thinks": False}, "the backend refused thinking: asked again without it"),
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
