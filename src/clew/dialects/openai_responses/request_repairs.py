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
    "less": RepairKind({}, "refused for the length of the answer that was asked for: it is asked for less", is_plain=True),
    "images": RepairKind(
        {"images": "omit"}, "refused for an image: each is left out, with a text in its place", is_plain=True
    ),
    "summary": RepairKind(
        {"summary": ""}, "refused for a summary of its thoughts, which this organisation may not have: none is asked for"
    ),
    "sampling": RepairKind({"sampling": False}, "refused for its sampling: the backend's own holds", is_plain=True),
    "user": RepairKind({"user": ""}, "refused for the name of who asks: it is not told", is_plain=True),
    "parallel": RepairKind({"parallel": False}, "refused for its wish about parallel calls: it is not said", is_plain=True),
    "ids": RepairKind({"ids": False}, "refused for the id of an item: items go without", is_plain=True),
    "phases": RepairKind({"phases": False}, "refused for the phase of a message: messages go without", is_plain=True),
    "marks": RepairKind({"cache_marks": 0}, "refused for a cache mark: none goes", is_plain=True),
    "plain": RepairKind(
        {"own_items": False, "namespaces": False, "custom_tools": False},
        "refused for an item or a tool that it does not know: all tools are functions",
        is_plain=True,
    ),
    "encrypted": RepairKind({"encrypted": False}, "refused for encrypted thoughts: only their text goes"),
    "entries": RepairKind({"items": False}, "refused for a thought that it could not read: only its text goes"),
    "fill": RepairKind(
        {"missing": "space", "missing_on": "all", "thought_text": "content"},
        "refused for missing reasoning: every answer gets the least that can stand for it",
    ),
    "levels": RepairKind(
        {"levels": ("low", "medium", "high")}, "refused for this effort: the nearest of low, medium and high is asked for"
    ),
    "effort": RepairKind({"knob": "", "summary": "", "thinks": True}, "refused for the effort: the backend's default holds"),
    "free tools": RepairKind({"forced": "auto"}, "refused for a forced tool: the choice is free"),
    "off": RepairKind({"thinks": False}, "refused for its reasoning: no thinking this time"),
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
