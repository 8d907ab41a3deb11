"""What to change after a backend refused a request, before its answer began.

A summary that an organisation may not have, sampling that a model does not take, ids and kinds of items that a server does
not know: what is refused once would be refused again, so these repairs last for the conversation. Which thoughts could not
be read is in the strand itself, thought by thought.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from msgspec import structs

from clew.dialects.openai.repairs import RepairKind, TableRepairs
from clew.dialects.openai_responses.options import ResponsesOptions

_KINDS: Final[Mapping[str, RepairKind]] = {
    "less": RepairKind({}, "the backend refused max_tokens: asked again with less", is_plain=True),
    "images": RepairKind(
        {"images": "omit"}, "the backend refused an image: asked again with a text in place of each image", is_plain=True
    ),
    "summary": RepairKind(
        {"summary": ""}, "the backend refused a summary of its thinking to this organisation: asked again without it"
    ),
    "sampling": RepairKind(
        {"sampling": False}, "the backend refused the sampling parameters: asked again without them", is_plain=True
    ),
    "user": RepairKind({"user": ""}, "the backend refused the user id: asked again without it", is_plain=True),
    "parallel": RepairKind(
        {"parallel": False}, "the backend refused parallel_tool_calls: asked again without it", is_plain=True
    ),
    "ids": RepairKind({"ids": False}, "the backend refused the id of an item: asked again without ids", is_plain=True),
    "phases": RepairKind(
        {"phases": False}, "the backend refused the phase of a message: asked again without it", is_plain=True
    ),
    "marks": RepairKind(
        {"cache_marks": 0}, "the backend refused a cache mark: asked again without cache marks", is_plain=True
    ),
    "plain": RepairKind(
        {"own_items": False, "namespaces": False, "custom_tools": False},
        "the backend does not know an item or a tool: asked again with functions only",
        is_plain=True,
    ),
    "encrypted": RepairKind({"encrypted": False}, "the backend refused encrypted reasoning: asked again with the text only"),
    "entries": RepairKind({"items": False}, "the backend could not read its reasoning: asked again with the text only"),
    "fill": RepairKind(
        {"missing": "space", "missing_on": "all", "thought_text": "content"},
        "the backend missed reasoning: asked again with a placeholder in every answer",
    ),
    "levels": RepairKind(
        {"levels": ("low", "medium", "high")},
        "the backend refused this effort: asked again with the nearest of low, medium and high",
    ),
    "effort": RepairKind(
        {"knob": "", "summary": "", "thinks": True}, "the backend refused the effort: asked again without it"
    ),
    "free tools": RepairKind({"forced": "auto"}, "the backend refused a forced tool: asked again with a free choice"),
    "off": RepairKind({"thinks": False}, "the backend refused thinking: asked again without it"),
}

_VALUES: Final = r"supported values|does not support '|invalid value|one of|input should be"
"""How it is said that a field has another value than it may have."""

_REFUSALS: Final[Sequence[tuple[str, tuple[str, ...]]]] = (
    (r"must be verified to generate reasoning summaries|reasoning\.summary", ("summary",)),
    (r"encrypted content is not supported", ("encrypted",)),
    (
        r"invalid_encrypted_content|encrypted content.*(?:could not be verified|decrypted|did not match|recognized prefix)",
        ("entries", "off"),
    ),
    (r"of type 'reasoning' was provided without its required following item", ("entries",)),
    (r"was provided without its required 'reasoning' item", ("ids", "entries")),
    (r"item with id '?rs_|duplicate item", ("entries",)),
    (r"invalid 'input\[\d+\]\.id'|expected an id that", ("ids",)),
    (r"reasoning_text\W.*must be passed back|reasoning_content\b.*(?:must be passed back|is missing)", ("fill", "off")),
    (r"unknown (?:input item type|tool type)|tools?\W.{0,40}(?:custom|namespace)\b", ("plain",)),
    (r"(?:unsupported|unknown) parameter\W+(?:temperature|top_p)\b", ("sampling",)),
    (r"(?:unsupported|unknown) parameter\W+(?:safety_identifier|user)\b", ("user",)),
    (r"(?:unsupported|unknown) parameter\W+parallel_tool_calls", ("parallel",)),
    (r"(?:unsupported|unknown) parameter\W+\S*phase\b", ("phases",)),
    (r"prompt_cache_breakpoint", ("marks",)),
    (r"thinking mode does not support this tool_choice|tool_choice.*(?:thinking|reasoning)", ("free tools", "off")),
    (rf"(?:{_VALUES})[\s\S]*effort|effort[\s\S]*(?:{_VALUES})", ("levels", "effort")),
    (r"reasoning_effort|reasoning\.effort|parameter\W+reasoning\W|does not support (?:thinking|reasoning)", ("effort",)),
)
"""Vendors' words, and what to try after them, in order; the first that fits counts."""


def _weaken(options: object, changed: Mapping[str, object]) -> object:
    assert isinstance(options, ResponsesOptions), "the options of this dialect"
    return structs.replace(options, **changed)


REPAIRS: Final = TableRepairs(
    _KINDS,
    _REFUSALS,
    _weaken,
    loop_long=("off",),
    passing=("less", "entries"),
    reducing="entries",
    account_long=("summary",),
)
