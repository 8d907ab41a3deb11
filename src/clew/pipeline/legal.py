"""One quick look that tells a history in which there is nothing to mend: nearly every one.

The steps that mend look closely at each turn, and would do so for every request. These functions answer only "is all well?",
in a single pass, and a step that hears "yes" returns the request as it is. They may say "perhaps not" of what is legal; they
never say "yes" of what is not. `is_well` asks for all of them at once, since a history that was told before has its past
looked up for each question.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from msgspec import UNSET

from clew.model.blocks import THINKING_TYPES, Block
from clew.model.past import Fold, all_of, folded
from clew.model.request import Message
from clew.pipeline.blank import MAY_BE_BLANK
from clew.pipeline.others_calls import is_servers_id

__all__ = ["is_paired", "is_plain", "is_tidy", "is_well"]


class _Pairs(NamedTuple):
    """Whether all is well so far; which ids were used, which of them wait for a result, and who spoke last; which calls of
    the server's have none."""

    well: bool
    used: frozenset[str]
    waiting: frozenset[str]
    before: str
    served: frozenset[object]


def is_paired(messages: Sequence[Message]) -> bool:
    """Every call answered at the head of the user run behind it, once, and nothing else answered (R23, R25–R28); and no call
    of the server's without a result when the user goes on, or under another's id (R24, R29)."""
    pairs = folded(messages, _PAIRS)
    return pairs.well and not pairs.waiting


def _paired(pairs: _Pairs, messages: Sequence[Message], at: int) -> _Pairs:
    if not pairs.well:
        return pairs
    before, used, waiting, served = pairs.before, set(pairs.used), set(pairs.waiting), set(pairs.served)
    for message in messages:
        role, content = message.role, message.content
        if role == "assistant":
            if (before == "user" and waiting) or not _calls(content, used, waiting, served):
                return _AMISS
        elif role == "user":
            if not _answers(content, waiting, fresh=before == "assistant") or (served and not _is_all_results(content)):
                return _AMISS
        else:
            continue
        before = role
    return _Pairs(True, frozenset(used), frozenset(waiting), before, frozenset(served))


_NOBODY: frozenset[str] = frozenset()
_AMISS = _Pairs(False, _NOBODY, _NOBODY, "", _NOBODY)
_PAIRS = Fold(_Pairs(True, _NOBODY, _NOBODY, "", _NOBODY), _paired)


def _calls(content: tuple[Block, ...] | str | None, used: set[str], waiting: set[str], served: set[object]) -> bool:
    for block in content if isinstance(content, tuple) else ():
        if block.type == "tool_use":
            if not isinstance(block.id, str) or not block.id or block.id in used:
                return False
            used.add(block.id)
            waiting.add(block.id)
        elif block.type == "tool_result":
            return False
        elif block.type == "server_tool_use":
            if not is_servers_id(block.id):
                return False
            served.add(block.id)
        elif served:
            served.discard(block.tool_use_id)
    return True


def _is_all_results(content: tuple[Block, ...] | str | None) -> bool:
    return isinstance(content, tuple) and all(block.type == "tool_result" for block in content)


def _answers(content: tuple[Block, ...] | str | None, waiting: set[str], *, fresh: bool) -> bool:
    """Results first; once something else was said, or another message came in between, none may follow."""
    if not isinstance(content, tuple):
        return not waiting
    for block in content:
        if block.type == "tool_result":
            id = block.tool_use_id
            if not fresh or not isinstance(id, str) or id not in waiting:
                return False
            waiting.remove(id)
        elif waiting:
            return False
        else:
            fresh = False
    return fresh or not waiting


def is_tidy(messages: Sequence[Message]) -> bool:
    """No empty text, no message without a word, no mark on thinking, no thinking at the very end (R22, R33, R37)."""
    return folded(messages, _TIDY) and not _ends_in_thinking(messages)


def _ends_in_thinking(messages: Sequence[Message]) -> bool:
    last = messages[-1] if messages else None
    ends = last.content[-1:] if last and last.role == "assistant" and isinstance(last.content, tuple) else ()
    return bool(ends) and ends[0].type in THINKING_TYPES


def _are_tidy(messages: Sequence[Message]) -> bool:
    for message in messages:
        content = message.content
        if message.role == "system" or content is None:
            continue
        if isinstance(content, str):
            if not content.strip():
                return False
        elif not _says_something(content):
            return False
    return True


_TIDY = all_of(_are_tidy)
_QUOTE = ord('"')


def _says_something(blocks: tuple[Block, ...]) -> bool:
    solid = False
    for block in blocks:
        if block.type == "text":
            if block.text is UNSET or (text := memoryview(block.text))[-1] != _QUOTE or text[1] in MAY_BE_BLANK:
                return False
        elif block.type in THINKING_TYPES and block.cache_control is not UNSET:
            return False
        solid = True
    return solid


def is_plain(messages: Sequence[Message]) -> bool:
    """Nobody but the user and the assistant speaks, and no message sets anything (R32)."""
    return folded(messages, _PLAIN)


def _are_plain(messages: Sequence[Message]) -> bool:
    odd = [message for message in messages if message.role == "system" or message.output_config is not UNSET]
    return not odd


_PLAIN = all_of(_are_plain)


def is_well(messages: Sequence[Message]) -> bool:
    """Plain, tidy and paired."""
    pairs = folded(messages, _WELL)
    return pairs.well and not pairs.waiting and not _ends_in_thinking(messages)


def _well(pairs: _Pairs, messages: Sequence[Message], at: int) -> _Pairs:
    return _paired(pairs, messages, at) if _are_plain(messages) and _are_tidy(messages) else _AMISS


_WELL = Fold(_PAIRS.begin, _well)
