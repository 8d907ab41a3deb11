"""The phases in their order, the verdict on one chat request, and the checks of all around its messages.

The first phase with a broken rule in force ends the judgement, and the first of its broken rules is the refusal. The
returned reasoning is read in any case, so that the journal shows it even for a request that was refused because of it.
Around the messages are the fields and their kinds, the model, parameters, tools, and the length.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Final, TypeAlias

import msgspec

from clew.errors import BodyTooLarge, RequestInvalid
from clew.simulator.interfaces import Stance, VendorRefusal
from clew.simulator.openai_chat.judge import messages, reasoning
from clew.simulator.openai_chat.judge.case import (
    CHAT_RULES,
    NAME,
    ChatCase,
    answer_limit,
    first_in_force,
)
from clew.simulator.openai_chat.judge.reasoning import ReturnedReasoning, returned_reasoning
from clew.simulator.openai_chat.memory import AnswerMemory, prompt_tokens
from clew.simulator.openai_chat.vendors import ChatVendor
from clew.simulator.rule_book import RuleBreach
from clew.simulator.values import as_dict, as_list, as_number, as_str, kind_of
from clew.wire.strict_json import decode_json

Check: TypeAlias = Callable[[ChatCase], Iterable[RuleBreach]]

KINDS: Final[dict[str, tuple[str, ...]]] = {
    "model": ("a string",),
    "messages": ("an array of objects",),
    "stream": ("a boolean", "null"),
    "stream_options": ("an object", "null"),
    "max_tokens": ("an integer", "null"),
    "max_completion_tokens": ("an integer", "null"),
    "temperature": ("a decimal", "an integer", "null"),
    "top_p": ("a decimal", "an integer", "null"),
    "stop": ("a string", "an array", "null"),
    "tools": ("an array", "null"),
    "tool_choice": ("a string", "an object", "null"),
    "parallel_tool_calls": ("a boolean", "null"),
    "response_format": ("an object", "null"),
    "n": ("an integer", "null"),
    "seed": ("an integer", "null"),
    "presence_penalty": ("a decimal", "an integer", "null"),
    "frequency_penalty": ("a decimal", "an integer", "null"),
    "logprobs": ("a boolean", "null"),
    "top_logprobs": ("an integer", "null"),
    "logit_bias": ("an object", "null"),
    "user": ("a string", "null"),
    "reasoning_effort": ("a string", "null"),
}
"""The fields that all vendors share, and the kinds of their values."""

_RANGES: Final = {"temperature": (0, 2), "top_p": (0, 1), "presence_penalty": (-2, 2), "frequency_penalty": (-2, 2)}
_MOST_TOKENS: Final = 1_000_000
_NOT_WHILE_THINKING: Final = {"always": (), "not_named": ("specified",), "not_thinking": ("specified", "required")}
"""Which forced choices a model does not take while it thinks, by its trait `forced_tools`."""


def check_body(case: ChatCase) -> Iterator[RuleBreach]:
    body, vendor = case.body, case.vendor
    if not isinstance(body.get("model"), str) or not body["model"]:
        yield RuleBreach("chat.model-missing", "model")
    if not isinstance(body.get("messages"), list):
        yield RuleBreach("chat.messages-missing", "messages")
    elif not body["messages"]:
        yield RuleBreach("chat.messages-empty", "messages")
    for path in vendor.lacks:  # `stream_options.include_usage`: a field inside a field
        name, dot, key = path.partition(".")
        if dot and key in as_dict(body.get(name)):
            yield RuleBreach("chat.field-unknown", path)
    known = (set(KINDS) | set(vendor.fields)) - set(vendor.lacks)
    for name, value in body.items():
        if name not in known:
            yield RuleBreach("chat.field-unknown", name, {"input": value})
        elif name in KINDS and name not in ("model", "messages") and kind_of(value) not in KINDS[name]:
            yield RuleBreach("chat.field-type", name, {"expected": KINDS[name][0], "given": kind_of(value)})


def check_model(case: ChatCase) -> Iterator[RuleBreach]:
    if case.vendor.traits_of(case.model) is None:
        yield RuleBreach("chat.model-unknown", "model", {"model": case.model})


def check_length(case: ChatCase) -> Iterator[RuleBreach]:
    count, answer, limit = prompt_tokens(case.body), answer_limit(case.body), case.traits.context
    if count + answer > limit:
        names = {"tokens": count, "answer": answer, "sum": count + answer, "limit": limit}
        yield RuleBreach("chat.too-long", "messages", names)


# Numbers and switches.


def check_parameters(case: ChatCase) -> Iterator[RuleBreach]:
    for name, (low, high) in _RANGES.items():
        given = as_number(case.body.get(name))
        if given is not None and not low <= given <= high:
            yield RuleBreach("chat.number-range", name, {"given": given, "low": low, "high": high})
    stops = as_list(case.body.get("stop"))
    if len(stops) > case.vendor.stops or "" in stops:
        yield RuleBreach("chat.stop-count", "stop", {"given": len(stops)})
    if case.body.get("stream_options") is not None and case.body.get("stream") is not True:
        yield RuleBreach("chat.stream-options", "stream_options")


def check_unsupported(case: ChatCase) -> Iterator[RuleBreach]:
    for name, argument in case.traits.refuses.items():
        if case.body.get(name) is not None:
            instead = case.traits.instead.get(name)
            advice = f" Use '{instead}' instead." if instead else ""
            names = {"field": name, "argument": argument, "model": case.model, "instead": advice}
            yield RuleBreach("chat.parameter-unsupported", name, names)
    for name, allowed in case.traits.pinned.items():
        given = case.body.get(name)
        if given is not None and given != allowed:
            names = {"field": name, "given": given, "allowed": f"{allowed:g}"}
            yield RuleBreach("chat.parameter-pinned", name, names)


def check_effort(case: ChatCase) -> Iterator[RuleBreach]:
    for path, given in (
        ("reasoning_effort", case.body.get("reasoning_effort")),
        ("reasoning.effort", as_dict(case.body.get("reasoning")).get("effort")),
    ):
        if isinstance(given, str) and case.traits.efforts and given not in case.traits.efforts:
            efforts = ", ".join(f"'{effort}'" for effort in case.traits.efforts)
            yield RuleBreach("chat.effort-value", path, {"given": given, "efforts": efforts, "model": case.model})


def check_thinking_field(case: ChatCase) -> Iterator[RuleBreach]:
    """Only `{type: enabled | disabled}`, and the fields that the vendor's row adds."""
    traits, value = case.traits, case.body.get("thinking")
    if "thinking" not in traits.switches or value is None:
        return
    given = as_dict(value)
    if as_str(given.get("type")) not in traits.thinking or given.keys() - {"type", *traits.thinking_fields}:
        yield RuleBreach("chat.thinking-shape", "thinking", {"given": msgspec.json.encode(value).decode()})


def check_limits(case: ChatCase) -> Iterator[RuleBreach]:
    names = [name for name in ("max_tokens", "max_completion_tokens") if case.body.get(name) is not None]
    if len(names) == 2:
        yield RuleBreach("chat.max-tokens-both", "max_tokens")
    limit = case.traits.max_output or _MOST_TOKENS
    for name in names:
        given = as_number(case.body[name])
        if given is not None and not 1 <= given <= limit:
            yield RuleBreach("chat.max-tokens", name, {"given": given, "limit": limit})
    budget, most = case.body.get("thinking_budget"), case.traits.budget
    if budget is not None and not (isinstance(budget, int) and 1 <= budget <= most):
        yield RuleBreach("chat.budget", "thinking_budget", {"limit": most})


# The tools on offer, and which of them the request forces.


def check_tools(case: ChatCase) -> Iterator[RuleBreach]:
    names: set[str] = set()
    for number, item in enumerate(as_list(case.body.get("tools"))):
        path, tool = f"tools.{number}", as_dict(item)
        function = as_dict(tool.get("function"))
        name, schema = as_str(function.get("name")), function.get("parameters")
        if tool.get("type") != "function":
            yield RuleBreach("chat.tool-shape", f"{path}.type")
        elif not name:
            yield RuleBreach("chat.tool-shape", f"{path}.function.name")
        elif not NAME.fullmatch(name):
            yield RuleBreach("chat.tool-name", f"{path}.function.name", {"name": name})
        if schema is None:
            yield RuleBreach("chat.tool-parameters", f"{path}.function.parameters", {"name": name})
        elif (kind := as_dict(schema).get("type", "None")) != "object":
            yield RuleBreach("chat.tool-schema", f"{path}.function.parameters", {"name": name, "given": kind})
        if name and name in names:
            yield RuleBreach("chat.tool-repeated", f"{path}.function.name", {"name": name})
        names.add(name)


def check_tool_choice(case: ChatCase) -> Iterator[RuleBreach]:
    choice = case.body.get("tool_choice")
    if choice is None:
        return
    if not case.body.get("tools"):
        if choice != "none":
            yield RuleBreach("chat.tool-choice-without-tools", "tool_choice")
        return
    # The named tool; "" for no tool in particular; None if the value is no choice at all
    if isinstance(choice, str):
        name = "" if choice in ("auto", "none", "required", "any") else None
    elif isinstance(choice, dict) and choice.get("type") == "function":
        name = as_str(as_dict(choice.get("function")).get("name")) or None
    else:
        name = None
    if name is None:
        yield RuleBreach("chat.tool-choice", "tool_choice")
        return
    offered = [as_dict(as_dict(tool).get("function")).get("name") for tool in as_list(case.body.get("tools"))]
    if name and name not in offered:
        yield RuleBreach("chat.tool-choice-unknown", "tool_choice", {"name": name})
    forced = "specified" if name else "required" if choice in ("required", "any") else ""
    if forced and case.thinking and forced in _NOT_WHILE_THINKING[case.traits.forced_tools]:
        yield RuleBreach("chat.tool-choice-thinking", "tool_choice", {"choice": forced})


PHASES: Final[tuple[tuple[Check, ...], ...]] = (
    (check_body, messages.check_messages, check_tools),
    (check_model,),
    (check_parameters, check_unsupported, check_effort, check_thinking_field, check_limits, check_tool_choice),
    (messages.check_pairs, messages.check_calls, messages.check_order, messages.check_images),
    (reasoning.check_passed_back, reasoning.check_details, reasoning.check_signatures),
    (check_length,),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatVerdict:
    """What the judge found. Legal if `violation` is None; then there is a `case`."""

    violation: VendorRefusal | None = None
    names: Mapping[str, object] = field(default_factory=dict[str, object])
    """The names in the violation's words: some vendors put them into fields of the error, too."""
    case: ChatCase | None = None
    thinking: tuple[ReturnedReasoning, ...] = ()


def judge_chat(body: bytes, *, vendor: ChatVendor, stance: Stance, memory: AnswerMemory) -> ChatVerdict:
    """Judge one request. Pure, but for reading the memory."""
    try:
        document, reason = decode_json(body), "not an object"
    except (BodyTooLarge, RequestInvalid) as error:
        document, reason = None, str(error)
    if not isinstance(document, dict):
        unreadable = RuleBreach("chat.body-not-json", "", {"reason": reason})
        return ChatVerdict(violation=CHAT_RULES.refusal(vendor, unreadable), names=unreadable.names)
    case = ChatCase(body=document, vendor=vendor, stance=stance, memory=memory)
    thinking = returned_reasoning(case)
    for phase in PHASES:
        broken = first_in_force(chain.from_iterable(check(case) for check in phase), vendor, stance)
        if broken:
            refused = tuple(replace(each, fate="refused") if each.path == broken.path else each for each in thinking)
            return ChatVerdict(violation=CHAT_RULES.refusal(vendor, broken), names=broken.names, case=case, thinking=refused)
    return ChatVerdict(case=case, thinking=thinking)
