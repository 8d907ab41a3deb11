"""A request on either side of a rule: how the table writes it down, and the rules about a request by itself."""

from dataclasses import dataclass, field
from typing import Any

from tests.simulator.openai_responses.talking import TOOL, called, result, user

OPENAI = "openai-responses"


@dataclass(frozen=True)
class Pair:
    """A rule, the kind that has it, and a request from either side. None: the field is not sent."""

    rule: str
    bad: dict[str, Any]
    good: dict[str, Any] = field(default_factory=dict)
    kind: str = OPENAI


def given(*items: Any) -> dict[str, Any]:
    return {"input": [*items]}


def answered(call: dict[str, Any], kind: str = "function_call") -> dict[str, Any]:
    """A history with a call and its output."""
    return given(user("Hi."), call, result(call["call_id"], kind=kind))


def assistant(content: Any, **more: Any) -> dict[str, Any]:
    return {"type": "message", "role": "assistant", "content": content, **more}


def tool(**changes: Any) -> dict[str, Any]:
    made = {**TOOL, **changes}
    return {"tools": [{key: value for key, value in made.items() if value is not None}]}


def choice(value: Any) -> dict[str, Any]:
    return {"tools": [TOOL], "tool_choice": value}


def format_(**changes: Any) -> dict[str, Any]:
    made = {"type": "json_schema", "name": "reply", "schema": OBJECT, **changes}
    return {"text": {"format": {key: value for key, value in made.items() if value is not None}}}


def marked(count: int) -> dict[str, Any]:
    part = {"type": "input_text", "text": "Hi.", "prompt_cache_breakpoint": {"mode": "explicit"}}
    return given(user([part] * count))


OBJECT = {"type": "object", "properties": {"city": {"type": "string"}}}
STRICT = {**OBJECT, "additionalProperties": False, "required": ["city"]}
CUSTOM = {"type": "custom_tool_call", "call_id": "call_1", "name": "exec", "input": "ls"}
TRIGGER = {"type": "compaction_trigger"}
TEXT = {"type": "input_text", "text": "Hi."}
LONG = "x" * 65

SHAPES = [
    Pair("field-missing", {"model": None}),
    Pair("field-missing", {"input": None}),
    Pair("field-missing", given({"role": "user"}), given({"role": "user", "content": ""})),
    Pair("field-missing", given(user([{"type": "input_text"}])), given(user([TEXT]))),
    Pair("field-missing", given({"type": "reasoning", "id": "rs_1"})),
    Pair("field-missing", answered({"type": "function_call", "call_id": "call_1", "name": "look"}), answered(called())),
    Pair("field-missing", tool(name=None), tool()),
    Pair("field-missing", {"tools": [{"type": "function", "function": TOOL}]}, tool()),
    Pair("field-missing", {"tools": [{"name": "look"}]}, tool()),
    Pair("field-missing", format_(name=None), format_()),
    Pair("field-missing", choice({"type": "function", "function": {"name": "get_weather"}}), choice("auto")),
    Pair("field-moved", {"messages": [user("Hi.")]}),
    Pair("field-moved", {"response_format": {"type": "text"}}, {"text": {"format": {"type": "text"}}}),
    Pair("field-moved", {"reasoning_effort": "low"}, {"reasoning": {"effort": "low"}}),
    Pair("field-moved", {"max_completion_tokens": 99}, {"max_output_tokens": 99}),
    Pair("field-unknown", {"stop": ["x"]}, {"store": False}),
    Pair("field-unknown", {"max_tokens": 99}, {"max_output_tokens": 99}),
    Pair("field-unknown", {"thinking": {"type": "adaptive"}}, {"reasoning": {}}),
    Pair("field-unknown", {"reasoning": {"budget": 9}}, {"reasoning": {"context": "all_turns", "mode": "standard"}}),
    Pair("field-unknown", {"text": {"style": "brief"}}, {"text": {"verbosity": "low"}}),
    Pair(
        "field-unknown",
        {"stream": True, "stream_options": {"include_usage": True}},
        {"stream": True, "stream_options": {"include_obfuscation": False}},
    ),
    Pair("field-unknown", {"prompt_cache_options": {"size": 1}}, {"prompt_cache_options": {"ttl": "30m"}}),
    Pair("item-field-unknown", given({**user("Hi."), "name": "me"}), given({**user("Hi."), "status": "completed"})),
    Pair("item-field-unknown", given({**user("Hi."), "phase": "commentary"}), given(assistant("Hi.", phase="commentary"))),
    Pair("item-field-unknown", answered(called(signature="x")), answered(called(status="completed", namespace="ns"))),
    Pair("field-type", {"model": 7}),
    Pair("field-type", {"input": 7}, {"input": "Hi."}),
    Pair("field-type", given(7), given(user("Hi."))),
    Pair("field-type", given(user(7)), given(user("Hi."))),
    Pair("field-type", {"stream": "yes"}, {"stream": False}),
    Pair("field-type", {"tools": "all"}, {"tools": []}),
    Pair("field-type", {"include": "reasoning.encrypted_content"}, {"include": ["reasoning.encrypted_content"]}),
    Pair("field-type", {"metadata": {"user": 7}}, {"metadata": {"user": "7"}}),
    Pair("field-type", {"reasoning": "low"}, {"reasoning": {"effort": "low"}}),
    Pair("field-type", {"tool_choice": 7}, {"tool_choice": "auto"}),
    Pair("field-type", answered(called(arguments={})), answered(called(arguments="{"))),  # type: ignore[arg-type]
    Pair("field-value", given({"role": "tool", "content": "Hi."}), given({"role": "developer", "content": "Hi."})),
    Pair("field-value", {"truncation": "never"}, {"truncation": "disabled"}),
    Pair("field-value", {"service_tier": "slow"}, {"service_tier": "flex"}),
    Pair("field-value", {"reasoning": {"effort": "ultra"}}, {"reasoning": {"effort": "xhigh"}}),
    Pair("field-value", {"reasoning": {"summary": "full"}}, {"reasoning": {"summary": "detailed"}}),
    Pair("field-value", {"tools": [{"type": "bash_20250124", "name": "bash"}]}, {"tools": [{"type": "web_search"}]}),
    Pair("field-value", {"text": {"format": {"type": "xml"}}}, {"text": {"format": {"type": "text"}}}),
    Pair("item-type", given({"type": "tool_use"}), given({"type": "message", **user("Hi.")})),
    Pair("item-type", given({}), given(user("Hi."))),
    Pair("item-type", given({"type": "additional_tools", "tools": []}), given(user("Hi.")), "ollama-responses"),
    Pair("part-type", given(user([{"type": "text", "text": "Hi."}])), given(user([TEXT]))),
    Pair("part-type", given(assistant([TEXT])), given(assistant([{"type": "output_text", "text": "Hi."}]))),
    Pair("part-type", given(user([{"type": "output_text", "text": "Hi."}])), given(user([TEXT]))),
    Pair(
        "part-type",
        given(user("Hi."), called(), result(text=[{"type": "output_text", "text": "Sunny."}])),
        given(user("Hi."), called(), result(text=[TEXT])),
    ),
    Pair("id-characters", given({**user("Hi."), "id": ""}), given({**user("Hi."), "id": "msg_1-a"})),
    Pair("id-characters", answered(called(id="fc.1:a")), answered(called(id="fc_1"))),
    Pair("id-prefix", answered(called(id="msg_1")), answered(called(id="fc_1"))),
    Pair("id-prefix", answered({**CUSTOM, "id": "fc_1"}, "custom_tool_call"), answered(CUSTOM, "custom_tool_call")),
    Pair("id-prefix", given(assistant("Hi.", id="rs_1")), given(assistant("Hi.", id="msg_1"))),
    Pair("text-long", answered(called(LONG)), answered(called("x" * 64))),
    Pair("text-long", tool(name=LONG), tool(name="x" * 64)),
    Pair("text-long", answered(called(name=LONG)), answered(called(name="x" * 64))),
    Pair("text-long", {"prompt_cache_key": LONG}, {"prompt_cache_key": "x" * 64}),
    Pair("text-long", {"safety_identifier": "x" * 129}, {"safety_identifier": "x" * 128}),
    Pair("text-long", {"metadata": {"user": "x" * 513}}, {"metadata": {"user": "x" * 512}}),
    Pair("text-empty", answered(called("")), answered(called("a"))),
    Pair("text-empty", tool(name=""), tool(name="a")),
    Pair("name-pattern", tool(name="look up"), tool(name="look-up_1")),
    Pair("name-pattern", answered(called(name="look.up")), answered(called(name="look_up"))),
    Pair("name-pattern", format_(name="my reply"), format_(name="my-reply")),
    Pair("tool-schema", tool(parameters={"type": "string"}), tool(parameters=None)),
    Pair("tool-schema", tool(parameters={}), tool(parameters={"type": "object"})),
    Pair("strict-schema", tool(parameters=OBJECT, strict=True), tool(parameters=OBJECT, strict=False)),
    Pair("strict-schema", tool(parameters={**STRICT, "required": []}, strict=True), tool(parameters=STRICT, strict=True)),
    Pair(
        "strict-schema",
        tool(parameters={**STRICT, "properties": {"city": {"type": "array", "items": OBJECT}}}, strict=True),
        tool(parameters={**STRICT, "properties": {"city": {"type": "array", "items": STRICT}}}, strict=True),
    ),
    Pair("strict-schema", format_(strict=True), format_(strict=True, schema=STRICT)),
    Pair("number-low", {"max_tool_calls": 0}, {"max_tool_calls": 1}),
    Pair("number-low", {"model": "gpt-4o", "temperature": -1}, {"model": "gpt-4o", "temperature": 0}),
    Pair("max-output-low", {"max_output_tokens": 15}, {"max_output_tokens": 16}),
    Pair("number-high", {"model": "gpt-4o", "temperature": 2.5}, {"model": "gpt-4o", "temperature": 2}),
    Pair("number-high", {"model": "gpt-4o", "top_p": 1.1}, {"model": "gpt-4o", "top_p": 1.0}),
    Pair(
        "metadata-count",
        {"metadata": {str(n): "x" for n in range(17)}},
        {"metadata": {str(n): "x" for n in range(16)}},
    ),
    Pair("include-value", {"include": ["thoughts"]}, {"include": ["web_search_call.action.sources"]}),
    Pair("tool-choice", choice("any"), choice("required")),
    Pair("tool-choice-without-tools", {"tool_choice": "required"}, {"tool_choice": "auto"}),
    Pair(
        "tool-choice-unknown",
        choice({"type": "function", "name": "other"}),
        choice({"type": "function", "name": "get_weather"}),
    ),
    Pair("tool-choice-unknown", choice({"type": "custom", "name": "get_weather"}), choice({"type": "web_search"})),
    Pair("stream-options", {"stream_options": {}}, {"stream": True, "stream_options": {}}),
    Pair("breakpoints", marked(5), marked(4)),
    Pair("trigger-place", given(TRIGGER, user("Hi.")), given(user("Hi."), TRIGGER)),
]

CONVERSATIONS = [
    Pair("state-both", {"conversation": "conv_1", "previous_response_id": "resp_1"}),
    Pair("conversation-unknown", {"conversation": {"id": "conv_1"}}),
    Pair("previous-unknown", {"previous_response_id": "resp_1"}),
    Pair("previous-unknown", {"previous_response_id": "resp_1"}, {}, "openrouter-responses"),
    Pair("reference-unknown", given(user("Hi."), {"type": "item_reference", "id": "msg_1"}), given(user("Hi."))),
    Pair("input-empty", {"input": []}, {"input": "Hi."}),
    Pair("input-empty", {"input": ""}, {"input": "Hi."}),
    Pair("model-unknown", {"model": "claude-opus-5-5"}),
    Pair("model-unknown", {"model": ""}),
    Pair("parameter-unsupported", {"temperature": 1}, {"model": "gpt-4o", "temperature": 1}),
    Pair("parameter-unsupported", {"top_p": 0.5}, {"model": "gpt-4o", "top_p": 0.5}),
    Pair("logprobs", {"top_logprobs": 1}, {"model": "gpt-4o", "top_logprobs": 1}),
    Pair("logprobs", {"include": ["message.output_text.logprobs"]}),
    Pair("effort-unsupported", {"model": "gpt-4o", "reasoning": {"effort": "low"}}, {"reasoning": {"effort": "low"}}),
    Pair("effort-unsupported", {"model": "gpt-4o", "reasoning": {"summary": "auto"}}, {"model": "gpt-4o", "reasoning": {}}),
    Pair("effort-value", {"reasoning": {"effort": "minimal"}}, {"model": "gpt-5", "reasoning": {"effort": "minimal"}}),
    Pair("effort-value", {"model": "o4-mini", "reasoning": {"effort": "none"}}, {"reasoning": {"effort": "none"}}),
    Pair(
        "include-unsupported",
        {"model": "gpt-4o", "include": ["reasoning.encrypted_content"]},
        {"include": ["reasoning.encrypted_content"]},
    ),
    Pair(
        "json-word",
        {"text": {"format": {"type": "json_object"}}},
        {"text": {"format": {"type": "json_object"}}, "input": "Hi, as JSON."},
    ),
    Pair("max-output-high", {"max_output_tokens": 128001}, {"max_output_tokens": 128000}),
    Pair(
        "item-repeated",
        given(assistant("Hi.", id="msg_1"), assistant("Hi.", id="msg_1")),
        given(assistant("Hi.", id="msg_1"), assistant("Hi.", id="msg_2")),
    ),
    Pair("output-orphan", given(user("Hi."), result()), given(user("Hi."), called(), result())),
    Pair("output-orphan", given(user("Hi."), result(), called()), answered(called())),
    Pair("output-orphan", answered(called(), "custom_tool_call"), answered(CUSTOM, "custom_tool_call")),
    Pair("call-unanswered", given(user("Hi."), called()), given(user("Hi."), called(), assistant("Wait."), result())),
    Pair(
        "call-unanswered",
        given(user("Hi."), called("a"), called("b"), result("a")),
        given(user("Hi."), called("a"), called("b"), result("b"), result("a")),
    ),
    Pair("call-unanswered", given(user("Hi."), CUSTOM), answered(CUSTOM, "custom_tool_call")),
]
