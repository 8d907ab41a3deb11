"""The request as the model would get it: what is left of its thinking, in which mode it answers, and how long it all is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import cast

from clew.model.facts.dated import BINDING_BETA, INTERLEAVED_BETA
from clew.model.json import JsonObject, JsonValue
from clew.simulator import tokens
from clew.simulator.interfaces import BlockFate, Display, Prompt, ThinkingMode
from clew.simulator.judge.bindings import Bound
from clew.simulator.judge.canonical import is_summary
from clew.simulator.judge.case import Case
from clew.simulator.judge.clearing import clear_thinking, clear_tool_uses
from clew.simulator.judge.history import Block, Message
from clew.simulator.judge.layout import opening_block
from clew.simulator.judge.thoughts import Thread
from clew.simulator.judge.values import array, inner, string, text_blocks

__all__ = ["prompt_of", "refused"]


def prompt_of(case: Case, thread: Thread, bound: Bound) -> Prompt:
    mode, sizes = _mode(case), _sizes(thread)
    thoughts = clear_thinking(case, bound.fates, sizes, off=mode == "off")
    kept = sum(sizes.get(fate.path, 0) for fate in thoughts.fates if fate.fate == "kept")
    length = _visible_tokens(case) + kept
    uses = clear_tool_uses(case, length)
    entries = tuple(cleared.entry for cleared in (thoughts, uses) if cleared.entry is not None)
    return Prompt(
        thinking=mode,
        display=_display(case),
        interleaved=_interleaved(case, mode),
        blocks=thoughts.fates,
        transformations=bound.transformations if BINDING_BETA in case.betas else None,
        applied_edits=entries if case.body.get("context_management") is not None else None,
        input_tokens=length - uses.tokens,
        cache_minimum=_cache_minimum(case),
    )


def refused(prompt: Prompt, path: str) -> Prompt:
    """The fates up to the block that a violation names, that one as refused."""
    blocks: list[BlockFate] = []
    for fate in prompt.blocks:
        if path == fate.path or path.startswith(f"{fate.path}."):
            return replace(prompt, blocks=(*blocks, replace(fate, fate="refused", reason="")))
        blocks.append(fate)
    return replace(prompt, blocks=())


def _mode(case: Case) -> ThinkingMode:
    """What was asked for, or the model's own way. A manual loop that does not begin with thinking goes on without (R50)."""
    asked = case.thinking_type
    if not asked:
        return "off" if case.model.thinking_default == "off" else "adaptive"
    if asked == "enabled":
        first = opening_block(case)
        without = "enabled" not in case.model.thinking or (first is not None and not first.is_thinking)
        return "off" if without else "enabled"
    return cast(ThinkingMode, asked) if asked in ("adaptive", "between_tools") else "off"


def _display(case: Case) -> Display:
    asked = case.thinking.get("display")
    if asked in ("summarized", "omitted", "updates"):
        return asked
    return "omitted" if case.model.display_default == "omitted" else "summarized"


def _interleaved(case: Case, mode: ThinkingMode) -> bool:
    if mode == "enabled" and case.model.interleaved != "auto":
        return case.model.interleaved == "beta" and INTERLEAVED_BETA in case.betas
    return mode != "off"


def _cache_minimum(case: Case) -> int:
    other = case.model.min_cache_tokens_skills if case.stance["C-10"] == "skills" else 0
    return other or case.model.min_cache_tokens


def _sizes(thread: Thread) -> Mapping[str, int]:
    """Tokens of each thinking block, at its full length whatever was shown; unknown ones by what they carry."""
    return {
        thought.block.path: thought.imprint.tokens if thought.imprint else tokens.of_json(thought.block.value)
        for thought in thread.thoughts
    }


def _visible_tokens(case: Case) -> int:
    """All but thinking: system, the tools that are loaded, and what was said from the newest summary on."""
    system = sum(_tokens(block) for block in text_blocks(case.body.get("system") or []))
    tools = sum(_tokens(tool) for tool in array(case.body.get("tools")) if inner(tool).get("defer_loading") is not True)
    return system + tools + sum(_tokens(block.value) for block in _read_blocks(case))


def _read_blocks(case: Case) -> list[Block]:
    blocks = [block for message in _shown_messages(case) for block in message.blocks]
    summaries = [place for place, block in enumerate(blocks) if is_summary(block.value)]
    return [block for block in blocks[summaries[-1] if summaries else 0 :] if not block.is_thinking]


def _shown_messages(case: Case) -> Iterator[Message]:
    """Without the system messages that a later user message has cleared."""
    last_user = max((message.index for message in case.messages if message.role == "user"), default=-1)
    for message in case.messages:
        if message.value.get("clear_at") != "next_user_message" or message.index > last_user:
            yield message


def _tokens(value: JsonValue) -> int:
    block: JsonObject = {key: member for key, member in inner(value).items() if key != "cache_control"}
    text = string(block.get("text"))
    return tokens.of_text(text) if block.keys() <= {"type", "text"} and text else tokens.of_json(block)
