"""What Claude Code makes of one answer before it sends it back: table 1.1 of the identity study, one function a row.

Each takes the blocks of an answer as they were given and returns the blocks that come back; none touches its input. What a
row does not name comes back unchanged, thinking above all. Two versions are in use and differ in a few rows.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from decimal import Decimal
from typing import Any, Literal

from tests.build import Json, text

Version = Literal["2.1.325", "2.1.197"]
LATEST: Version = "2.1.325"
NODE_20: Version = "2.1.197"
"""What npm installs on Node 20."""

CWD = "/home/me/project"
THINKING = ("thinking", "redacted_thinking")
STAND_IN = "No response requested."
EMPTY_TEXT = {"type": "text", "text": "[Empty text removed]", "citations": []}

_NUMBERS = ("timeout", "offset", "limit")
_FLAGS = ("replace_all", "run_in_background")


def edit_gains_replace_all(blocks: list[Json]) -> list[Json]:
    """Always, if it is absent: the most frequent change of all."""
    return _inputs(blocks, "Edit", lambda input: {"replace_all": False, **input})


def edit_loses_line_end_blanks(blocks: list[Json]) -> list[Json]:
    return _inputs(blocks, "Edit", lambda input: _each(input, ["old_string", "new_string"], _trimmed))


def write_loses_line_end_blanks(blocks: list[Json]) -> list[Json]:
    return _inputs(blocks, "Write", lambda input: _each(input, ["content"], _trimmed))


def values_are_normalised(blocks: list[Json]) -> list[Json]:
    """As a JavaScript client with a schema reads them: 120000.0, big integers, 1e400, "5000", "false", half a pair."""
    return _inputs(blocks, None, lambda input: {name: _coerced(name, _normal(value)) for name, value in input.items()})


def bash_loses_its_cd(blocks: list[Json]) -> list[Json]:
    """A leading `cd` into the directory where it is anyway."""
    return _inputs(
        blocks, "Bash", lambda input: _each(input, ["command"], lambda words: words.removeprefix(f"cd {CWD} && "))
    )


def broken_input_is_wrapped(blocks: list[Json]) -> list[Json]:
    """Input that is no JSON; such a block's input is here the string that the deltas made."""
    return [
        {**block, "input": {"__unparsedToolInput": block["input"]}} if isinstance(block.get("input"), str) else block
        for block in blocks
    ]


def caller_leaves(blocks: list[Json]) -> list[Json]:
    return [_without(block, "caller") if block["type"] == "tool_use" else block for block in blocks]


def empty_texts_leave(blocks: list[Json], version: Version = LATEST) -> list[Json]:
    """White ones too. Between two thinking blocks the new version leaves a spacer, the old one the text as it is."""
    kept: list[Json] = []
    for i, block in enumerate(blocks):
        if not _is_blank(block):
            kept.append(block)
        elif _is_thinking(blocks[i - 1 : i]) and _is_thinking(blocks[i + 1 : i + 2]):
            kept.append(dict(EMPTY_TEXT) if version == LATEST else block)
    return kept


def bare_thinking_becomes_a_stand_in(blocks: list[Json]) -> list[Json]:
    """An answer that is nothing but thinking: its thinking goes, and nothing is left that could find its recording."""
    return [text(STAND_IN)] if blocks and all(block["type"] in THINKING for block in blocks) else blocks


def missing_signatures_are_empty(blocks: list[Json]) -> list[Json]:
    """Unsigned thinking is sent back all the same."""
    return [
        {**block, "signature": block.get("signature") or ""} if block["type"] == "thinking" else block for block in blocks
    ]


def thinking_leaves(blocks: list[Json], *, unsigned: bool = True) -> list[Json]:
    """All of it; or only what is signed or redacted, as on a switch of the model. A bare one is replaced."""
    return without_thinking(blocks, unsigned=unsigned) or [text(STAND_IN)]


def without_thinking(blocks: list[Json], *, unsigned: bool = True) -> list[Json]:
    return [block for block in blocks if block["type"] not in THINKING or not (unsigned or _proof(block))]


def altered(blocks: list[Json], version: Version = LATEST) -> list[Json]:
    """Everything that never costs an answer its thinking."""
    for change in ANSWER_CHANGES.values():
        blocks = change(blocks)
    return empty_texts_leave(blocks, version)


def returned(blocks: list[Json], version: Version = LATEST) -> list[Json]:
    """Everything at once: the answer as the next request to its own model holds it."""
    return bare_thinking_becomes_a_stand_in(altered(blocks, version))


ANSWER_CHANGES: dict[str, Callable[[list[Json]], list[Json]]] = {
    change.__name__: change
    for change in (
        edit_gains_replace_all,
        edit_loses_line_end_blanks,
        write_loses_line_end_blanks,
        values_are_normalised,
        bash_loses_its_cd,
        broken_input_is_wrapped,
        caller_leaves,
        missing_signatures_are_empty,
    )
}
"""Those that always happen and never cost a block."""


def _inputs(blocks: list[Json], tool: str | None, change: Callable[[Json], Json]) -> list[Json]:
    """The same blocks, the inputs of this tool (None: of every tool) changed."""
    return [
        {**block, "input": change(block["input"])}
        if block["type"] == "tool_use" and tool in (None, block["name"]) and isinstance(block["input"], dict)
        else block
        for block in blocks
    ]


def _each(input: Json, names: Iterable[str], change: Callable[[str], str]) -> Json:
    return {**input, **{name: change(str(input[name])) for name in names if name in input}}


def _trimmed(words: str) -> str:
    return re.sub(r"[ \t]+$", "", words, flags=re.M)


def _coerced(name: str, value: Any) -> Any:
    if name in _NUMBERS and isinstance(value, str) and value.isdecimal():
        return int(value)
    return value == "true" if name in _FLAGS and value in ("true", "false") else value


def _normal(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _normal(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_normal(each) for each in value]
    if isinstance(value, str):
        return re.sub("[\ud800-\udfff]", "\ufffd", value)
    return value if value is None or isinstance(value, bool) else _normal_number(value)


def _normal_number(value: float) -> float | None:
    """What JavaScript writes for the double that it read; above 1e21 it writes an exponent, which stays a float here."""
    double = float(value)
    if not math.isfinite(double):
        return None
    return int(Decimal(repr(double))) if double.is_integer() and abs(double) < 1e21 else double


def _is_blank(block: Json) -> bool:
    return block["type"] == "text" and not block["text"].strip()


def _is_thinking(blocks: Iterable[Json]) -> bool:
    return any(block["type"] in THINKING for block in blocks)


def _proof(block: Json) -> Any:
    return block.get("signature") or block.get("data")


def _without(block: Json, name: str) -> Json:
    return {key: value for key, value in block.items() if key != name}
