"""Requests of apps that send them themselves: kept messages as they are sent to a model, and parameters for thinking.

The maker's own blocks are sent as they came; a message without them is rebuilt from text and calls. With a target, the
messages are projected for it: thinking goes only to models that can read it, and calls and results are made to fit. Cache
marks are added last. Everything is done on copies: the kept messages never change.

`recovered` repairs a conversation that broke off between a call and its result. The API refuses a call without a result and
a result without a call, so both are removed, from `tool_calls` and from the maker's own blocks alike. Thinking that led only
to such calls is removed too, since an answer may not end with it, and so is a message that then is empty.

`asking_for` gives the parameters with which a model takes a request for thinking. Models differ in the form of that request
(`clew.pipeline.thinking_modes`), in the header for thinking between tool calls, and in the sampling parameters that they
take beside it. All of that is in their profiles.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from itertools import islice, takewhile
from logging import getLogger
from typing import Final

from msgspec import Struct, structs

from clew.chat.messages import Message, ToolCall
from clew.errors import RequestInvalid
from clew.model.blocks import FILLER
from clew.model.change import Change
from clew.model.facts import ModelFacts
from clew.model.facts.models import profile_for
from clew.model.facts.shapes import INTERLEAVED_BETA
from clew.model.json import JsonArray, JsonObject, JsonValue
from clew.model.origin import Origin, Target
from clew.pipeline.builder import mark_messages
from clew.pipeline.normalise import normalise
from clew.pipeline.project import project
from clew.pipeline.step import CacheRules, Facts
from clew.pipeline.system import system_messages
from clew.pipeline.thinking import keep_known
from clew.pipeline.thinking_modes import ThinkingSetting, fit_to_model, is_on, mode_of
from clew.pipeline.tool_structure import tool_structure
from clew.pipeline.trailing_thinking import copied, is_thinking_block

_STEP = "arguments"
_log = getLogger("clew.chat")


class Formatted(Struct, frozen=True):
    """Messages that are ready to send, and the changes that were made to them.

    The path of a change of step `arguments` leads into the given messages; any other leads into the API's messages before
    their projection for the target.

    >>> Formatted([{"role": "user", "content": "Hello"}]).changes
    ()
    """

    messages: list[JsonObject]
    changes: tuple[Change, ...] = ()


def format_messages(
    messages: Sequence[Message], *, target: Target | None = None, cache: bool | CacheRules = False, strict: bool = False
) -> list[JsonObject]:
    """Convert the conversation to the form of the Messages API, for `messages=` of a request.

    `raw_content` goes as it is; where there is none, text and calls do. `target` is who will get it: thinking of another
    realm is then left out or handed over, as the target says. `cache` marks the last two messages. Arguments of a call that
    are not a JSON object become `{}` with a warning in the log, or raise RequestInvalid with `strict`. System messages at
    beginning are for `system=`: `format_system` gives them. `formatted` returns each change as well.

    >>> asked = Message(role="user", content="And the grass?")
    >>> said = Message(role="assistant", content="Green.", raw_content=[
    ...     {"type": "thinking", "thinking": "Chlorophyll.", "signature": "c2ln"}, {"type": "text", "text": "Green."}])
    >>> [block["type"] for block in format_messages([asked, said])[1]["content"]]
    ['thinking', 'text']
    """
    done = formatted(messages, target=target, cache=cache, strict=strict)
    for change in done.changes:
        if change.step == _STEP:
            _log.warning("%s: %s; {} is sent instead", change.path, change.why)
    return done.messages


def formatted(
    messages: Sequence[Message], *, target: Target | None = None, cache: bool | CacheRules = False, strict: bool = False
) -> Formatted:
    """Like `format_messages`, but return every change with its reason, and log nothing.

    >>> from clew.chat.messages import ToolCall
    >>> broken = Message(role="assistant", tool_calls=(ToolCall(id="t1", name="look", arguments="{"),))
    >>> [(change.path, change.what) for change in formatted([broken]).changes]
    [('messages.0.tool_calls.0.arguments', 'replaced')]
    """
    replaced: list[Change] = []
    sent: list[JsonObject] = []
    makers: dict[int, Origin] = {}
    before = ""
    for index, message in list(enumerate(messages))[len(_leading_system(messages)) :]:
        rebuilt = _rebuilt(message, index, replaced)
        if message.role == before == "tool":  # results in a row are one message, as the API wants them
            results = (sent[-1]["content"], rebuilt["content"])
            sent[-1]["content"] = [block for each in results if isinstance(each, list) for block in each]
        else:
            sent.append(rebuilt)
        if message.origin is not None:
            makers[len(sent) - 1] = message.origin
        before = message.role
    if strict and replaced:
        raise RequestInvalid(f"{replaced[0].path}: {replaced[0].why}", path=replaced[0].path)
    changes = tuple(replaced)
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
    """Return the text of the system messages at the beginning, for `system=` of a request, or "" if there are none.

    >>> format_system([Message(role="system", content="Be brief."), Message(role="user", content="Hello")])
    'Be brief.'
    """
    return "\n\n".join(message.content for message in _leading_system(messages) if message.content)


def _leading_system(messages: Sequence[Message]) -> list[Message]:
    return list(takewhile(lambda message: message.role == "system", messages))


def _rebuilt(message: Message, index: int, changes: list[Change]) -> JsonObject:
    """The API's message. Arguments of a call that are no object become `{}`, which is noted in `changes`."""
    own = copied({"content": message.raw_content}) if isinstance(message.raw_content, list) else {}
    content, text = own.get("content"), message.content or ""
    if message.role == "tool":
        result: JsonObject = {"type": "tool_result", "tool_use_id": message.tool_call_id or "", "content": content or text}
        return {"role": "user", "content": [{**result, "is_error": True} if message.is_error else result]}
    if message.role != "assistant" or content:
        return {"role": message.role, "content": content or text}
    calls: JsonArray = []
    for number, call in enumerate(message.tool_calls):
        input = _input(call, f"messages.{index}.tool_calls.{number}.arguments", changes)
        calls.append({"type": "tool_use", "id": call.id, "name": call.name, "input": input})
    if calls:
        return {"role": "assistant", "content": [{"type": "text", "text": text}, *calls] if text.strip() else calls}
    return {"role": "assistant", "content": text or [{"type": "text", "text": FILLER, "citations": []}]}


def _input(call: ToolCall, path: str, changes: list[Change]) -> JsonObject:
    """The arguments as an object. Models write them, so they may be anything; empty arguments are an empty object."""
    if not call.arguments.strip():
        return {}
    why = f"the arguments of {call.name} are not a JSON object"
    try:
        value: JsonValue = json.loads(call.arguments, parse_constant=_refuse_constant)
        if isinstance(value, dict):
            return value
    except (ValueError, RecursionError) as error:
        why = f"the arguments of {call.name} are not JSON: {error}"
    changes.append(Change(_STEP, path, "replaced", why))
    return {}


def _refuse_constant(word: str) -> JsonValue:
    """Raises for NaN and the infinities, which Python's reader accepts."""
    raise ValueError(f"{word} is not JSON")


# Recovery


def recovered(messages: Sequence[Message]) -> list[Message]:
    """Return the conversation without calls that have no result, and without results that have no call.

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
    raw = message.raw_content
    blocks = raw if isinstance(raw, list) else []
    left = [
        block
        for block in blocks
        if not (isinstance(block, dict) and block.get("type") == "tool_use" and block.get("id") in ids)
    ]
    if len(left) < len(blocks):
        while left and is_thinking_block(left[-1]):
            left.pop()
        return structs.replace(message, tool_calls=calls, raw_content=left)
    return message if len(calls) == len(message.tool_calls) else structs.replace(message, tool_calls=calls)


# Thinking parameters

_WHILE_THINKING: Final = "a model that thinks samples in its own way (R13)"
_DEPRECATED: Final = "deprecated for this model (R14)"
_NOT_BOTH: Final = "this model takes temperature or top_p, not both (R14)"


class ThinkingParameters(Struct, frozen=True):
    """The thinking parameters of a request: fields for its body, values for its `anthropic-beta` header, and the changes to
    what was requested.

    >>> ThinkingParameters({"max_tokens": 9000}).betas
    ()
    """

    fields: JsonObject
    betas: tuple[str, ...] = ()
    changes: tuple[Change, ...] = ()


def asking_for(
    model: str,
    *,
    max_tokens: int,
    thinking: JsonObject | None = None,
    effort: str | None = None,
    temperature: float | None = None,
    top_p: float | None = None,
    profile: ModelFacts | None = None,
) -> ThinkingParameters:
    """Return the thinking parameters in the form that this model accepts, whatever form `thinking` has.

    With thinking, `temperature` is 1 or absent, and `top_p` is absent.

    >>> asking_for("claude-sonnet-4-5", max_tokens=9000, thinking={"type": "enabled", "budget_tokens": 4000}).betas
    ('interleaved-thinking-2025-05-14',)
    >>> asking_for("claude-opus-5-5", max_tokens=9000, thinking={"type": "enabled", "budget_tokens": 4000}).fields
    {'max_tokens': 9000, 'thinking': {'type': 'adaptive'}, 'output_config': {'effort': 'low'}}
    """
    facts = profile or profile_for(model)
    setting = fit_to_model(ThinkingSetting(thinking=thinking, effort=effort, max_tokens=max_tokens), facts)
    sampling = {name: value for name, value in (("temperature", temperature), ("top_p", top_p)) if value is not None}
    thinks = is_on(setting.thinking, facts)
    if thinks or facts.sampling == "reject":
        why = _WHILE_THINKING if thinks else _DEPRECATED
        refused = {name: why for name, value in sampling.items() if name != "temperature" or value != 1}
    else:
        refused = {"top_p": _NOT_BOTH} if len(sampling) > 1 and not facts.temperature_and_top_p else {}
    fields: JsonObject = {
        "max_tokens": max_tokens,
        "thinking": setting.thinking,
        "output_config": {"effort": setting.effort} if setting.effort else None,
        **{name: value for name, value in sampling.items() if name not in refused},
    }
    changes = tuple(Change("sampling", name, "removed", why) for name, why in refused.items())
    present: JsonObject = {name: value for name, value in fields.items() if value is not None}
    betas: tuple[str, ...] = ()
    if mode_of(setting.thinking) == "enabled":  # adaptive thinking needs no header to go on between tool calls
        beta = INTERLEAVED_BETA if facts.interleaved == "beta" else facts.thinking_beta
        betas = (beta,) if beta else ()
    return ThinkingParameters(present, betas, setting.changes + changes)
