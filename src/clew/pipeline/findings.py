"""What the steps look for in every message of a history, found in one go: nearly always nothing.

Each finding depends on its message alone. So those of a known history are kept, and only new messages are looked at.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from msgspec import UNSET

from clew.model.blocks import Block, is_thinking
from clew.model.past import Fold, folded
from clew.model.request import RequestMessage, blocks_of
from clew.pipeline.values import is_empty_text, is_nothing_but_blank


class Findings(NamedTuple):
    """The indices of messages that a step has to look at."""

    system: tuple[int, ...] = ()
    """System-role messages."""
    refused: tuple[int, ...] = ()
    """Messages of other roles with content that is refused wherever it stands."""
    configured: tuple[int, ...] = ()
    """Messages with a configuration of their own, as an effort would be."""
    server_calls: tuple[int, ...] = ()
    """Messages with calls of a server's own tools."""


def _find_on(before: Findings, messages: Sequence[RequestMessage], at: int) -> Findings:
    system, refused, configured, server_calls = list[int](), list[int](), list[int](), list[int]()
    for index, message in enumerate(messages, at):
        if message.role == "system":
            system.append(index)
        elif _is_refused(message):
            refused.append(index)
        if message.output_config is not UNSET:
            configured.append(index)
        if "server_tool_use" in [block.type for block in blocks_of(message)]:
            server_calls.append(index)
    if not (system or refused or configured or server_calls):
        return before
    return Findings(
        (*before.system, *system),
        (*before.refused, *refused),
        (*before.configured, *configured),
        (*before.server_calls, *server_calls),
    )


_FINDINGS = Fold(Findings(), _find_on)


def findings_in(messages: Sequence[RequestMessage]) -> Findings:
    """What there is for the steps to look at."""
    return folded(messages, _FINDINGS)


def _is_refused(message: RequestMessage) -> bool:
    """Whether a message of a user or of the model holds something that is refused."""
    if message.role not in ("user", "assistant"):
        return False
    for block in blocks_of(message):
        if is_empty_text(block) or is_marked_thought(block):
            return True
    return is_without_content(message)


def is_without_content(message: RequestMessage) -> bool:
    """Whether the message as a whole is refused for that: a user's has to have some, and white space is none."""
    return (message.role == "user" and message.content in ("", ())) or is_nothing_but_blank(message.content)


def is_marked_thought(block: Block) -> bool:
    """Thinking that carries a cache mark."""
    return block.cache_control is not UNSET and is_thinking(block)
