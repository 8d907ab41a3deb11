"""What is kept, as it goes to a model.

The maker's own blocks go as they came; a message without them is rebuilt. With a target, what is kept is projected for it:
thinking goes to those who can read it, and calls and results are made to fit. Cache marks are put on last, on a copy.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import takewhile
from logging import getLogger

from msgspec import Struct

from clew.chat.messages import Message
from clew.chat.rebuilding import STEP, Rebuilding
from clew.model.change import Change
from clew.model.json import JsonObject
from clew.model.origin import Origin
from clew.model.target import Target
from clew.pipeline.cache_marks import mark_messages
from clew.pipeline.normalise import normalise
from clew.pipeline.project import project
from clew.pipeline.step import CacheRules, Facts
from clew.pipeline.system import system_messages
from clew.pipeline.thinking import keep_known
from clew.pipeline.tool_structure import tool_structure

__all__ = ["Formatted", "format_messages", "format_system", "formatted"]

_log = getLogger("clew.chat")


class Formatted(Struct, frozen=True):
    """Messages to send, and how they differ from those that are kept.

    A change of step `arguments` has its path in the messages that were given, any other in the API's before the target's
    needs were looked at.
    """

    messages: list[JsonObject]
    changes: tuple[Change, ...] = ()


def format_messages(
    messages: Sequence[Message], *, target: Target | None = None, cache: bool | CacheRules = False, strict: bool = False
) -> list[JsonObject]:
    """The conversation as the Messages API takes it, for `messages=` of a request.

    `raw_content` goes as it is; where there is none, text and calls do. `target` is who will get it: thinking of another
    realm is then left out or handed over, as the target says. `cache` marks the last two messages. Arguments of a call that
    are no JSON object become `{}` with a warning in the log, or with `strict` raise RequestInvalid. System messages at the
    beginning are for `system=`: `clew.chat.format_system` gives them. `clew.chat.formatted` tells each change as well.

    >>> asked = Message(role="user", content="And the grass?")
    >>> said = Message(role="assistant", content="Green.", raw_content=[
    ...     {"type": "thinking", "thinking": "Chlorophyll.", "signature": "c2ln"}, {"type": "text", "text": "Green."}])
    >>> [block["type"] for block in format_messages([asked, said])[1]["content"]]
    ['thinking', 'text']
    """
    done = formatted(messages, target=target, cache=cache, strict=strict)
    for change in done.changes:
        if change.step == STEP:
            _log.warning("%s: %s; {} goes instead", change.path, change.why)
    return done.messages


def formatted(
    messages: Sequence[Message], *, target: Target | None = None, cache: bool | CacheRules = False, strict: bool = False
) -> Formatted:
    """As `format_messages`, with every change and its reason, and nothing logged."""
    rebuilding = Rebuilding(strict=strict)
    sent, makers = _rebuilt(messages, rebuilding)
    done = Formatted(sent, tuple(rebuilding.changes))
    if target is not None:
        done = _projected(done, makers, target)
    if not cache:
        return done
    rules = CacheRules() if cache is True else cache
    return Formatted(mark_messages(done.messages, rules, line=target.profile.line if target else ""), done.changes)


def format_system(messages: Sequence[Message]) -> str:
    """What the system messages at the beginning say, for `system=` of a request; "" if there are none.

    >>> format_system([Message(role="system", content="Be brief."), Message(role="user", content="Hello")])
    'Be brief.'
    """
    return "\n\n".join(message.content for message in _head(messages) if message.content)


def _head(messages: Sequence[Message]) -> list[Message]:
    return list(takewhile(lambda message: message.role == "system", messages))


def _rebuilt(messages: Sequence[Message], rebuilding: Rebuilding) -> tuple[list[JsonObject], dict[int, Origin]]:
    """The API's messages, and who made which. Results that come in a row are one message, as the API wants them."""
    sent: list[JsonObject] = []
    makers: dict[int, Origin] = {}
    before = ""
    for index, message in list(enumerate(messages))[len(_head(messages)) :]:
        going = rebuilding.message(message, index)
        if message.role == before == "tool":
            sent[-1] = _joined(sent[-1], going)
        else:
            sent.append(going)
        if message.origin is not None:
            makers[len(sent) - 1] = message.origin
        before = message.role
    return sent, makers


def _joined(first: JsonObject, second: JsonObject) -> JsonObject:
    results = (first["content"], second["content"])
    return {**first, "content": [block for each in results if isinstance(each, list) for block in each]}


def _projected(done: Formatted, makers: dict[int, Origin], target: Target) -> Formatted:
    """As the target takes it. Only messages are at stake: what else a request says is for whoever builds it."""
    body: JsonObject = {"model": target.model, "max_tokens": 1, "messages": [*done.messages]}
    steps = (keep_known(makers), normalise, system_messages, tool_structure)
    projection = project(body, target, Facts(), steps=steps)
    return Formatted(json.loads(projection.body)["messages"], done.changes + projection.changes)
