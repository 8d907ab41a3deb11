"""The fields of a request: which there are, of what kind, with which values, in the order in which OpenAI checks them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from difflib import get_close_matches
from functools import partial
from typing import Final, TypeAlias

from clew.model.json import JsonValue
from clew.simulator.openai_responses.judge import items, tools
from clew.simulator.openai_responses.judge.case import NAME, ResponsesCase, quoted
from clew.simulator.openai_responses.vendors import EFFORTS
from clew.simulator.rule_book import RuleBreach
from clew.simulator.values import as_dict, as_list, as_number, as_str, kind_of

FieldCheck: TypeAlias = Callable[[ResponsesCase, JsonValue], Iterator[RuleBreach]]

MOVED: Final[Mapping[str, str]] = {
    "messages": "input",
    "response_format": "text.format",
    "reasoning_effort": "reasoning.effort",
    "max_completion_tokens": "max_output_tokens",
}
"""Fields of Chat Completions, and where they are now."""
INCLUDES: Final = (
    "file_search_call.results",
    "web_search_call.results",
    "web_search_call.action.sources",
    "message.input_image.image_url",
    "computer_call_output.output.image_url",
    "code_interpreter_call.outputs",
    "reasoning.encrypted_content",
    "message.output_text.logprobs",
)
_SUMMARIES: Final = ("concise", "detailed", "auto")
_TIERS: Final = ("auto", "default", "fast", "flex", "priority", "scale", "ultrafast")
_REASONING: Final = ("effort", "summary", "context", "mode")
_TEXT: Final = ("format", "verbosity")
_CACHE_OPTIONS: Final = ("mode", "ttl", "prewarm")
_STREAM_OPTIONS: Final = ("include_obfuscation", "reasoning_summary_delivery")
_FORMAT: Final = ("type", "name", "schema", "strict", "description")
_SHORT_NAME: Final = 64
_SHORT_SAFETY: Final = 128
_LONG_VALUE: Final = 512
_MOST_PAIRS: Final = 16
_LEAST_OUTPUT: Final = 16
_FIELDS_OF_COUNTING: Final = frozenset({"personality"})


def check_required(case: ResponsesCase) -> Iterator[RuleBreach]:
    """`model` and `input` must be there."""
    for name in ("model", "input"):
        goes_on = any(case.body.get(each) for each in ("prompt", "conversation", "previous_response_id"))
        if name not in case.body and not (name == "input" and goes_on):
            yield RuleBreach("responses.field-missing", name)
    for name in ("model", "input"):
        if name in case.body and case.body[name] is None:
            yield _wrong_kind(name, "a string", None)


def check_known(case: ResponsesCase) -> Iterator[RuleBreach]:
    """No field that there is not."""
    known = set(CHECKS) | {"model", "conversation", "client_metadata", *case.vendor.fields, *_FIELDS_OF_COUNTING}
    for name in case.body:
        if name in MOVED:
            yield RuleBreach("responses.field-moved", name, {"field": name, "now": MOVED[name]})
        elif name not in known:
            # A name that was meant: two edits away at most
            near = [
                each
                for each in get_close_matches(name, sorted(known - case.body.keys()), n=2, cutoff=0.6)
                if _distance(name, each) <= 2
            ]
            hint = f" Did you mean {' or '.join(map(repr, near))}?" if near else ""
            yield RuleBreach("responses.field-unknown", name, {"hint": hint})


def _distance(first: str, second: str) -> int:
    """How many letters must be put in, left out or replaced."""
    row = list(range(len(second) + 1))
    for i, letter in enumerate(first, start=1):
        corner, row[0] = row[0], i
        for j, other in enumerate(second, start=1):
            corner, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, corner + (letter != other))
    return row[-1]


def check_fields(case: ResponsesCase) -> Iterator[RuleBreach]:
    """Every field, in the measured order. Null is as good as absent."""
    for name, check in CHECKS.items():
        value = case.body.get(name)
        if value is not None:
            yield from check(case, value)


# One field.


def _wrong_kind(path: str, expected: str, value: JsonValue) -> RuleBreach:
    given = "an object" if value is None else kind_of(value)  # a failed string, as the API sees it
    return RuleBreach("responses.field-type", path, {"expected": expected, "given": given})


def _of_kind(name: str, expected: str, case: ResponsesCase, value: JsonValue) -> Iterator[RuleBreach]:
    kinds = ("a decimal", "an integer") if expected == "a decimal" else (expected,)
    if kind_of(value) not in kinds:
        yield _wrong_kind(name, expected, value)


def _text(name: str, limit: int, case: ResponsesCase, value: JsonValue) -> Iterator[RuleBreach]:
    if not isinstance(value, str):
        yield _wrong_kind(name, "a string", value)
    elif limit and len(value) > limit:
        yield RuleBreach("responses.text-long", name, {"limit": limit, "length": len(value)})


def _one_of(name: str, values: tuple[str, ...], case: ResponsesCase, value: JsonValue) -> Iterator[RuleBreach]:
    if not isinstance(value, str):
        expected = f"one of {', '.join(repr(each) for each in values[:-1])} or {values[-1]!r}"
        yield _wrong_kind(name, expected, value)
    elif value not in values:
        yield RuleBreach("responses.field-value", name, {"given": value, "values": quoted(values)})


def _decimal(name: str, low: float, high: float, case: ResponsesCase, value: JsonValue) -> Iterator[RuleBreach]:
    number = as_number(value)
    if number is None:
        yield _wrong_kind(name, "a decimal", value)
    elif number < low:
        yield RuleBreach("responses.number-low", name, {"kind": "decimal", "low": low, "given": number})
    elif number > high:
        yield RuleBreach("responses.number-high", name, {"kind": "decimal", "high": high, "given": number})


def _integer(name: str, low: int, case: ResponsesCase, value: JsonValue) -> Iterator[RuleBreach]:
    if kind_of(value) != "an integer":
        yield _wrong_kind(name, "an integer", value)
    elif isinstance(value, int) and value < low:
        rule = "responses.max-output-low" if name == "max_output_tokens" else "responses.number-low"
        yield RuleBreach(rule, name, {"kind": "integer", "low": low, "given": value})


def _members(name: str, known: tuple[str, ...], value: JsonValue) -> Iterator[RuleBreach]:
    """An object with these members only."""
    if not isinstance(value, dict):
        yield _wrong_kind(name, "an object", value)
        return
    for key in value:
        if key not in known:
            yield RuleBreach("responses.field-unknown", f"{name}.{key}", {"hint": ""})


def _include(case: ResponsesCase, value: JsonValue) -> Iterator[RuleBreach]:
    if not isinstance(value, list):
        yield _wrong_kind("include", "an array of strings", value)
    for number, each in enumerate(as_list(value)):
        if each not in INCLUDES:
            names = {"given": as_str(each), "values": quoted(INCLUDES)}
            yield RuleBreach("responses.include-value", f"include.{number}", names)


def _metadata(case: ResponsesCase, value: JsonValue) -> Iterator[RuleBreach]:
    if not isinstance(value, dict):
        yield _wrong_kind("metadata", "a metadata object", value)
        return
    if len(value) > _MOST_PAIRS:
        yield RuleBreach("responses.metadata-count", "metadata", {"count": len(value)})
    for key, member in value.items():
        yield from _text(f"metadata.{key}", _LONG_VALUE, case, member)


def _reasoning(case: ResponsesCase, value: JsonValue) -> Iterator[RuleBreach]:
    yield from _members("reasoning", _REASONING, value)
    given = as_dict(value)
    for name, values in (
        ("effort", EFFORTS),
        ("summary", _SUMMARIES),
        ("context", ("auto", "current_turn", "all_turns")),
        ("mode", ("standard", "pro")),
    ):
        if given.get(name) is not None:
            yield from _one_of(f"reasoning.{name}", values, case, given[name])


def _text_options(case: ResponsesCase, value: JsonValue) -> Iterator[RuleBreach]:
    yield from _members("text", _TEXT, value)
    given = as_dict(value)
    if given.get("verbosity") is not None:
        yield from _one_of("text.verbosity", ("low", "medium", "high"), case, given["verbosity"])
    if given.get("format") is not None:
        yield from _members("text.format", _FORMAT, given["format"])
        format_ = as_dict(given["format"])
        kinds = ("json_object", "text", "json_schema")
        if "type" not in format_:
            yield RuleBreach("responses.field-missing", "text.format.type")
            return
        yield from _one_of("text.format.type", kinds, case, format_["type"])
        if format_["type"] != "json_schema":
            return
        for name in ("name", "schema"):
            if format_.get(name) is None:
                yield RuleBreach("responses.field-missing", f"text.format.{name}")
        yield from check_name("text.format.name", format_.get("name"))
        if format_.get("strict") is True:
            name = as_str(format_.get("name"))
            yield from tools.check_strict(as_dict(format_.get("schema")), "text.format.schema", "response_format", name)


def check_name(path: str, value: JsonValue) -> Iterator[RuleBreach]:
    """A name of letters, digits, underscores and dashes. An absent one is for others to find."""
    if value is None:
        return
    if not isinstance(value, str):
        yield _wrong_kind(path, "a string", value)
    elif not value:
        yield RuleBreach("responses.text-empty", path)
    elif len(value) > _SHORT_NAME:
        yield RuleBreach("responses.text-long", path, {"limit": _SHORT_NAME, "length": len(value)})
    elif not NAME.fullmatch(value):
        yield RuleBreach("responses.name-pattern", path)


def _stream_options(case: ResponsesCase, value: JsonValue) -> Iterator[RuleBreach]:
    yield from _members("stream_options", _STREAM_OPTIONS, value)
    if case.body.get("stream") is not True:
        yield RuleBreach("responses.stream-options", "stream_options")


def _list_of_objects(name: str, case: ResponsesCase, value: JsonValue) -> Iterator[RuleBreach]:
    if not isinstance(value, list) or not all(isinstance(each, dict) for each in value):
        yield _wrong_kind(name, "an array of objects", value)


def _cache_options(case: ResponsesCase, value: JsonValue) -> Iterator[RuleBreach]:
    yield from _members("prompt_cache_options", _CACHE_OPTIONS, value)


CHECKS: Final[Mapping[str, FieldCheck]] = {
    "input": items.check_input,
    "previous_response_id": partial(_text, "previous_response_id", 0),
    "prompt": partial(_of_kind, "prompt", "an object"),
    "moderation": partial(_of_kind, "moderation", "an object"),
    "include": _include,
    "tools": tools.check_tools,
    "tool_choice": tools.check_tool_choice,
    "metadata": _metadata,
    "text": _text_options,
    "temperature": partial(_decimal, "temperature", 0, 2),
    "top_p": partial(_decimal, "top_p", 0, 1),
    "presence_penalty": partial(_decimal, "presence_penalty", -2, 2),
    "frequency_penalty": partial(_decimal, "frequency_penalty", -2, 2),
    "parallel_tool_calls": partial(_of_kind, "parallel_tool_calls", "a boolean"),
    "stream": partial(_of_kind, "stream", "a boolean"),
    "stream_options": _stream_options,
    "background": partial(_of_kind, "background", "a boolean"),
    "max_output_tokens": partial(_integer, "max_output_tokens", _LEAST_OUTPUT),
    "max_tool_calls": partial(_integer, "max_tool_calls", 1),
    "reasoning": _reasoning,
    "user": partial(_text, "user", 0),
    "safety_identifier": partial(_text, "safety_identifier", _SHORT_SAFETY),
    "prompt_cache_options": _cache_options,
    "prompt_cache_key": partial(_text, "prompt_cache_key", _SHORT_NAME),
    "prompt_cache_retention": partial(_one_of, "prompt_cache_retention", ("in_memory", "24h")),
    "truncation": partial(_one_of, "truncation", ("auto", "disabled")),
    "instructions": partial(_text, "instructions", 0),
    "store": partial(_of_kind, "store", "a boolean"),
    "service_tier": partial(_one_of, "service_tier", _TIERS),
    "top_logprobs": partial(_integer, "top_logprobs", 0),
    "context_management": partial(_list_of_objects, "context_management"),
    "image": partial(_of_kind, "image", "an object"),
    "access_programs": partial(_list_of_objects, "access_programs"),
}
"""The check of each field, in the order of checking."""


def check_model_kind(case: ResponsesCase) -> Iterator[RuleBreach]:
    """The model's name is a string."""
    value: JsonValue = case.body.get("model")
    if value is not None and not isinstance(value, str):
        yield _wrong_kind("model", "a string", value)
