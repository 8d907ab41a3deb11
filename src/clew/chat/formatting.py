"""Kept messages as they are sent to a model, and the repair of a conversation that broke off.

The maker's own blocks are sent as they came; a message without them is rebuilt from text and calls. With a target, the
messages are projected for it: thinking goes only to models that can read it, and calls and results are made to fit. Cache
marks are added last. Everything is done on copies: the kept messages never change.

`recovered` repairs a conversation that broke off between a call and its result. The API refuses a call without a result and
a result without a call, so both are removed, from `tool_calls` and from the maker's own blocks alike. Thinking that led only
to such calls is removed too, since an answer may not end with it, and so is a message that then is empty.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from itertools import islice, takewhile
from logging import getLogger

from msgspec import Struct, structs

from clew.chat.messages import Message, ToolCall
from clew.errors import RequestInvalid
from clew.model.blocks import FILLER
from clew.model.change import Change
from clew.model.json import JsonArray, JsonObject, JsonValue
from clew.model.origin import Origin, Target
from clew.pipeline.builder import copied, is_thinking_block
from clew.pipeline.cache_marks import mark_messages
from clew.pipeline.normalise import normalise
from clew.pipeline.project import project
from clew.pipeline.step import CacheRules, Facts
from clew.pipeline.system import system_messages
from clew.pipeline.thinking import keep_known
from clew.pipeline.tool_structure import tool_structure

_STEP = "arguments"
_log = getLogger("clew.chat")


class Formatted(Struct, frozen=True):
    """Messages to send, and their changes.

    The path of a change of step `arguments` leads into the given messages; any other leads into the API's messages before
    their projection for the target.
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
    beginning are for `system=`: `clew.chat.format_system` gives them. `clew.chat.formatted` returns each change as well.

    >>> asked = Message(role="user", content="And the grass?")
    >>> said = Message(role="assistant", content="Green.", raw_content=[
    ...     {"type": "thinking", "thinking": "Chlorophyll.", "signature": "c2ln"}, {"type": "text", "text": "Green."}])
    >>> [block["type"] for block in format_messages([asked, said])[1]["content"]]
    ['thinking', 'text']
    """
    done = formatted(messages, target=target, cache=cache, strict=strict)
    for change in done.changes:
        if change.step == _STEP:
            _log.warning("%s: %s; {} goes instead", change.path, change.why)
    return done.messages


def formatted(
    messages: Sequence[Message], *, target: Target | None = None, cache: bool | CacheRules = False, strict: bool = False
) -> Formatted:
    """As `format_messages`, with every change and its reason, and nothing logged."""
    rebuilder = _Rebuilder(strict=strict)
    sent: list[JsonObject] = []
    makers: dict[int, Origin] = {}
    before = ""
    for index, message in list(enumerate(messages))[len(_leading_system(messages)) :]:
        rebuilt = rebuilder.rebuild(message, index)
        if message.role == before == "tool":  # results in a row are one message, as the API wants them
            results = (sent[-1]["content"], rebuilt["content"])
            sent[-1]["content"] = [block for each in results if isinstance(each, list) for block in each]
        else:
            sent.append(rebuilt)
        if message.origin is not None:
            makers[len(sent) - 1] = message.origin
        before = message.role
    changes = tuple(rebuilder.changes)
    if target is not None:
        body: JsonObject = {"model": target.model, "max_tokens": 1, "messages": [*sent]}
        steps = (keep_known(makers), normalise, system_messages, tool_structure)
        projection = project(body, target, Facts(), steps=steps)
        sent, changes = json.loads(projection.body)["messages"], changes + projection.changes
    if cache:
        rules = CacheRules() if cache is True else cache
        sent = mark_messages(sent, rules, line=target.profile.line if target else "")
    return Formatted(sent, changes)


def format_system(messages: Sequence[Message]) -> str:
    """What the system messages at the beginning say, for `system=` of a request; "" if there are none.

    >>> format_system([Message(role="system", content="Be brief."), Message(role="user", content="Hello")])
    'Be brief.'
    """
    return "\n\n".join(message.content for message in _leading_system(messages) if message.content)


def _leading_system(messages: Sequence[Message]) -> list[Message]:
    return list(takewhile(lambda message: message.role == "system", messages))


class _Rebuilder:
    """Makes the API's messages, one by one, and collects the changes. `strict`: it raises instead of changing."""

    def __init__(self, *, strict: bool = False) -> None:
        self.changes: list[Change] = []
        self._strict = strict

    def rebuild(self, message: Message, index: int) -> JsonObject:
        """The API's message. Raises RequestInvalid for arguments that are no object, if it is strict."""
        own = copied({"content": message.raw_content}) if isinstance(message.raw_content, list) else {}
        match message.role:
            case "assistant":
                return {"role": "assistant", "content": own.get("content") or self._answer(message, index)}
            case "tool":
                result: JsonObject = {
                    "type": "tool_result",
                    "tool_use_id": message.tool_call_id or "",
                    "content": own.get("content") or message.content or "",
                }
                return {"role": "user", "content": [{**result, "is_error": True} if message.is_error else result]}
            case role:
                return {"role": role, "content": own.get("content") or message.content or ""}

    def _answer(self, message: Message, index: int) -> JsonValue:
        text = message.content or ""
        if not message.tool_calls:
            return text or [{"type": "text", "text": FILLER, "citations": []}]
        calls: JsonArray = []
        for number, call in enumerate(message.tool_calls):
            input = self._input(call, f"messages.{index}.tool_calls.{number}.arguments")
            calls.append({"type": "tool_use", "id": call.id, "name": call.name, "input": input})
        return [{"type": "text", "text": text}, *calls] if text.strip() else calls

    def _input(self, call: ToolCall, path: str) -> JsonObject:
        """The arguments as an object. Models write them, so they may be anything; empty arguments are an empty object."""
        if not call.arguments.strip():
            return {}
        try:
            value: JsonValue = json.loads(call.arguments, parse_constant=_refuse_constant)
        except (ValueError, RecursionError) as error:
            return self._replace(f"the arguments of {call.name} are not JSON: {error}", path)
        if isinstance(value, dict):
            return value
        return self._replace(f"the arguments of {call.name} are no JSON object", path)

    def _replace(self, why: str, path: str) -> JsonObject:
        if self._strict:
            raise RequestInvalid(f"{path}: {why}", path=path)
        self.changes.append(Change(_STEP, path, "replaced", why))
        return {}


def _refuse_constant(word: str) -> JsonValue:
    """Raises for NaN and the infinities, which Python's reader accepts."""
    raise ValueError(f"{word} is no JSON")


# Recovery


def recovered(messages: Sequence[Message]) -> list[Message]:
    """The conversation without calls that have no result, and without results that have no call.

    >>> from clew.chat.messages import ToolCall
    >>> broken = [
    ...     Message(role="user", content="What is new?"),
    ...     Message(role="assistant", content="Let me look.", tool_calls=(ToolCall(id="t1", name="look"),)),
    ... ]
    >>> [(message.role, message.tool_calls) for message in recovered(broken)]
    [('user', ()), ('assistant', ())]
    """
    kept: list[Message] = []
    called: set[str] = set()
    for index, message in enumerate(messages):
        if message.role == "assistant":
            results = takewhile(lambda each: each.role == "tool", islice(messages, index + 1, None))
            answered = {each.tool_call_id for each in results}
            message = without_calls(message, {call.id for call in message.tool_calls} - answered)
            called = {call.id for call in message.tool_calls}
        is_orphan = message.role == "tool" and message.tool_call_id not in called
        is_empty = message.role == "assistant" and not (message.content or message.tool_calls or message.raw_content)
        if not is_orphan and not is_empty:
            kept.append(message)
    return kept


def without_calls(message: Message, ids: Collection[str]) -> Message:
    """The message without these calls, in `tool_calls` and in `raw_content`; the very same one if it has none of them.

    >>> from clew.chat.messages import ToolCall
    >>> call = {"type": "tool_use", "id": "t1", "name": "look", "input": {}}
    >>> said = Message(role="assistant", tool_calls=(ToolCall(id="t1", name="look"),), raw_content=[call])
    >>> without_calls(said, ["t1"]).raw_content
    []
    """
    calls = tuple(call for call in message.tool_calls if call.id not in ids)
    raw = _blocks_without(message.raw_content, ids)
    if len(calls) == len(message.tool_calls) and raw is message.raw_content:
        return message
    return structs.replace(message, tool_calls=calls, raw_content=raw)


def _blocks_without(raw: JsonValue, ids: Collection[str]) -> JsonValue:
    def is_call(block: JsonValue) -> bool:
        return isinstance(block, dict) and block.get("type") == "tool_use" and block.get("id") in ids

    blocks = raw if isinstance(raw, list) else []
    left = [block for block in blocks if not is_call(block)]
    if len(left) == len(blocks):
        return raw
    while left and is_thinking_block(left[-1]):
        left.pop()
    return left
