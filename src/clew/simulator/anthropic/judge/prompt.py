"""The request as the model gets it: which thinking is left, in which mode it answers, and how long the prompt is.

The server itself leaves out old thinking, and on request old tool results (R39, R50, R52, R53). A *turn* is what the model
said after one user message without a tool_result, its whole tool loop included. Models that see only the last turn's
thinking lose the rest with the next such message, unless a `clear_thinking` edit says how many turns to keep. With thinking
off, no thinking is read at all.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from clew.model.facts.shapes import BINDING_BETA, CLEAR_THINKING, CLEAR_TOOL_USES, INTERLEAVED_BETA
from clew.model.json import JsonObject
from clew.simulator.anthropic.judge.case import Case, RequestBlock
from clew.simulator.anthropic.judge.prefix import is_summary
from clew.simulator.anthropic.judge.thinking import BindingResult, ThinkingHistory
from clew.simulator.interfaces import BlockFate, Prompt
from clew.simulator.values import as_dict, as_list, as_number, as_str, text_blocks, tokens_of_block, tokens_of_json

_TRIGGER, _KEPT_USES = 100_000, 3


def prompt_of(case: Case, history: ThinkingHistory, bindings: BindingResult) -> Prompt:
    mode = case.thinking_mode
    interleaved = mode != "off"
    if mode == "enabled" and case.model.interleaved != "auto":
        interleaved = case.model.interleaved == "beta" and INTERLEAVED_BETA in case.betas
    # The full length of each thinking block, whatever was shown of it; of an unknown block, the length of its JSON.
    sizes = {
        returned.block.path: returned.imprint.tokens if returned.imprint else tokens_of_json(returned.block.value)
        for returned in history.blocks
    }
    thinking = _clear_thinking(case, bindings.fates, sizes, off=mode == "off")
    kept = sum(sizes.get(fate.path, 0) for fate in thinking.fates if fate.fate == "kept")
    length = _visible_tokens(case) + kept
    uses = _clear_tool_uses(case, length)
    entries = tuple(cleared.entry for cleared in (thinking, uses) if cleared.entry is not None)
    other_minimum = case.model.min_cache_tokens_skills if case.stance["C-10"] == "skills" else 0
    return Prompt(
        thinking=mode,
        display=case.display,
        interleaved=interleaved,
        blocks=thinking.fates,
        transformations=tuple(bindings.transformations) if BINDING_BETA in case.betas else None,
        applied_edits=entries if case.body.get("context_management") is not None else None,
        input_tokens=length - uses.tokens,
        cache_minimum=other_minimum or case.model.min_cache_tokens,
    )


def refused_prompt(prompt: Prompt, path: str) -> Prompt:
    """The fates up to the block that a violation names, and that block as refused."""
    for index, fate in enumerate(prompt.blocks):
        if path == fate.path or path.startswith(f"{fate.path}."):
            refused = replace(fate, fate="refused", reason="")
            return replace(prompt, blocks=(*prompt.blocks[:index], refused))
    return replace(prompt, blocks=())


# How long it is.


def _visible_tokens(case: Case) -> int:
    """All but thinking: system, the loaded tools, and the messages from the newest summary on, all without cache marks."""
    last_user = max((message.index for message in case.messages if message.role == "user"), default=-1)
    blocks = [
        block
        for message in case.messages
        if message.value.get("clear_at") != "next_user_message" or message.index > last_user
        for block in message.blocks
    ]
    summaries = [place for place, block in enumerate(blocks) if is_summary(block.value)]
    read = (block.value for block in blocks[summaries[-1] if summaries else 0 :] if not block.is_thinking)
    tools = (tool for tool in as_list(case.body.get("tools")) if as_dict(tool).get("defer_loading") is not True)
    values = (as_dict(value) for value in (*text_blocks(case.body.get("system") or []), *tools, *read))
    bare = ({key: member for key, member in value.items() if key != "cache_control"} for value in values)
    return sum(tokens_of_block(block) for block in bare)


# What the server leaves out.


@dataclass(frozen=True, slots=True)
class ClearedContent:
    """What an edit removed. `entry` is its report in the answer; None if nothing was removed."""

    fates: tuple[BlockFate, ...] = ()
    entry: JsonObject | None = None
    tokens: int = 0


def _edit_of(case: Case, type_: str) -> JsonObject | None:
    """The last context edit of this type."""
    edits = [as_dict(edit) for edit in as_list(case.option("context_management", "edits"))]
    return next((edit for edit in reversed(edits) if edit.get("type") == type_), None)


def _clear_thinking(case: Case, fates: Sequence[BlockFate], sizes: Mapping[str, int], *, off: bool) -> ClearedContent:
    """The fates after the server's own clearing. `sizes` are the blocks' tokens by path."""
    if off:
        return ClearedContent(tuple(_stripped(fate, "thinking is off") for fate in fates))
    edit, turns = _edit_of(case, CLEAR_THINKING), case.turns
    keep, reason = (edit.get("keep"), "context edit") if edit else (None, "an earlier turn")
    count = as_number(as_dict(keep).get("value"))
    if count is not None:
        kept_from = turns[-int(count)] if 0 < count <= len(turns) else 0
    else:
        keeps_all = keep == "all" or as_dict(keep).get("type") == "all" or case.model.prior_thinking == "all"
        kept_from = 0 if keeps_all else max(case.questions, default=0)
    after = tuple(_stripped(fate, reason) if _message_of(fate) < kept_from else fate for fate in fates)
    gone = [new for old, new in zip(fates, after, strict=True) if old.fate != new.fate]
    if not edit or not gone:
        return ClearedContent(after)
    freed = sum(sizes.get(fate.path, 0) for fate in gone)
    cleared = {turns[bisect_right(turns, _message_of(fate)) - 1] for fate in gone}
    entry: JsonObject = {"type": CLEAR_THINKING, "cleared_thinking_turns": len(cleared), "cleared_input_tokens": freed}
    return ClearedContent(after, entry, freed)


def _stripped(fate: BlockFate, reason: str) -> BlockFate:
    return replace(fate, fate="stripped", reason=reason) if fate.fate == "kept" else fate


def _message_of(fate: BlockFate) -> int:
    return int(fate.path.split(".")[1])


def _clear_tool_uses(case: Case, input_tokens: int) -> ClearedContent:
    """Old tool results, if there is enough to clear."""
    edit = _edit_of(case, CLEAR_TOOL_USES)
    if edit is None:
        return ClearedContent()
    blocks = [block for message in case.messages for block in message.blocks]
    results = [block for block in blocks if block.type == "tool_result"]
    trigger = as_dict(edit.get("trigger"))
    limit = as_number(trigger.get("value"))
    if trigger.get("type") == "tool_uses" and limit is not None:
        triggered = len(results) > limit
    else:
        triggered = input_tokens > (_TRIGGER if limit is None else limit)
    gone = _old_results(edit, blocks, results) if triggered else []
    freed = sum(tokens_of_json(result.value.get("content")) for result in gone)
    least = as_number(as_dict(edit.get("clear_at_least")).get("value")) or 0
    if not gone or freed < least:
        return ClearedContent()
    entry: JsonObject = {"type": CLEAR_TOOL_USES, "cleared_tool_uses": len(gone), "cleared_input_tokens": freed}
    return ClearedContent(entry=entry, tokens=freed)


def _old_results(edit: JsonObject, blocks: list[RequestBlock], results: list[RequestBlock]) -> list[RequestBlock]:
    """All results but the newest, and but those of excluded tools."""
    kept = as_number(as_dict(edit.get("keep")).get("value"))
    keep = _KEPT_USES if kept is None else int(kept)
    excluded = {as_str(name) for name in as_list(edit.get("exclude_tools"))}
    calls = (block.value for block in blocks if block.type == "tool_use")
    names = {as_str(call.get("id")): as_str(call.get("name")) for call in calls}
    old = results[: max(len(results) - keep, 0)]
    return [result for result in old if names.get(as_str(result.value.get("tool_use_id"))) not in excluded]
