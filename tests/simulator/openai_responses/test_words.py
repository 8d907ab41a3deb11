"""The exact words, codes and params of refusals: as they were measured, recorded or reported, by vendor."""

import json
import socket
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

import pytest

from clew.simulator.openai_responses.judge.case import RESPONSES_RULES
from clew.simulator.openai_responses.vendors import responses_vendors
from clew.testing import Simulator
from tests.manifest import accepts, refuses
from tests.simulator.openai_responses.pairs import OBJECT, answered, assistant, given, tool
from tests.simulator.openai_responses.talking import TOOL, called, model_of, post, result, user

SIM = Callable[[str], Simulator]
EFFORTS = "'none', 'minimal', 'low', 'medium', 'high', 'xhigh', and 'max'"
INCLUDES = (
    "'file_search_call.results', 'web_search_call.results', 'web_search_call.action.sources', 'message.input_image.image_url', "
    "'computer_call_output.output.image_url', 'code_interpreter_call.outputs', 'reasoning.encrypted_content', and "
    "'message.output_text.logprobs'"
)
MOVED = (
    "Unsupported parameter: 'messages'. In the Responses API, this parameter has moved to 'input'. Try again with the new "
    "parameter. See the API documentation for more information: https://platform.openai.com/docs/api-reference/responses/create."
)
PARTS = (
    "'input_text', 'input_image', 'input_audio', 'output_text', 'refusal', 'input_file', 'computer_screenshot', "
    "'summary_text', and 'encrypted_content'"
)
ID_CHARACTERS = (
    "Invalid 'input[1].id': ''. Expected an ID that contains letters, numbers, underscores, or dashes, but this value "
    "contained additional characters."
)
TOO_LONG = "string too long. Expected a string with maximum length 64, but got a string with length 116 instead."
STRICT = "In context=(), 'additionalProperties' is required to be supplied and to be false."


def refused(sim: Simulator, kind: str, **changes: Any) -> tuple[int, Any]:
    body = {"model": model_of(kind), "input": [user("Hi.")], **changes}
    reply = post(sim, {key: value for key, value in body.items() if value is not None})
    return reply.status, reply.json


@pytest.mark.parametrize(
    ("changes", "message", "param", "code"),
    [
        ({"model": None}, "Missing required parameter: 'model'.", "model", "missing_required_parameter"),
        ({"model": ""}, "The requested model '' does not exist.", "model", "model_not_found"),
        ({"zzz": 1}, "Unknown parameter: 'zzz'.", "zzz", "unknown_parameter"),
        ({"stop": ["x"]}, "Unknown parameter: 'stop'. Did you mean 'store'?", "stop", "unknown_parameter"),
        ({"max_tokens": 16}, "Unknown parameter: 'max_tokens'.", "max_tokens", "unknown_parameter"),
        ({"messages": []}, MOVED, None, "unsupported_parameter"),
        (
            {"input": {"a": 1}},
            "Invalid type for 'input': expected one of a string or array of input items, but got an object instead.",
            "input",
            "invalid_type",
        ),
        (
            {"input": [7]},
            "Invalid type for 'input[0]': expected an input item, but got an integer instead.",
            "input[0]",
            "invalid_type",
        ),
        (given({**user("Hi."), "bogus": 1}), "Unknown parameter: 'input[0].bogus'.", "input[0].bogus", "unknown_parameter"),
        (
            given({"role": "tool", "content": "Hi."}),
            "Invalid value: 'tool'. Supported values are: 'assistant', 'system', 'developer', and 'user'.",
            "input[0]",
            "invalid_value",
        ),
        (
            given(user([{"type": "tool-call"}])),
            f"Invalid value: 'tool-call'. Supported values are: {PARTS}.",
            "input[0].content[0].type",
            "invalid_value",
        ),
        (
            given(assistant([{"type": "input_text", "text": "Hi."}])),
            "Invalid value: 'input_text'. Supported values are: 'output_text' and 'refusal'.",
            "input[0].content[0]",
            "invalid_value",
        ),
        (
            given(user("Hi."), called(), result(text=[{"type": "output_text", "text": "Hi."}])),
            "Invalid value: 'output_text'. Supported values are: 'input_text', 'input_image', and 'input_file'.",
            "input[2].output[0]",
            "invalid_value",
        ),
        (given(user("Hi."), {"type": "reasoning", "summary": [], "id": ""}), ID_CHARACTERS, "input[1].id", "invalid_value"),
        (
            answered(called(id="msg_1")),
            "Invalid 'input[1].id': 'msg_1'. Expected an ID that begins with 'fc'.",
            "input[1].id",
            "invalid_value",
        ),
        (
            answered(called("x" * 116)),
            f"Invalid 'input[1].call_id': {TOO_LONG}",
            "input[1].call_id",
            "string_above_max_length",
        ),
        (tool(name="x" * 116), f"Invalid 'tools[0].name': {TOO_LONG}", "tools[0].name", "string_above_max_length"),
        (
            {"tools": [{"type": "function", "function": TOOL}]},
            "Missing required parameter: 'tools[0].name'.",
            "tools[0].name",
            "missing_required_parameter",
        ),
        (
            tool(parameters=OBJECT, strict=True),
            f"Invalid schema for function 'get_weather': {STRICT}",
            "tools[0].parameters",
            "invalid_function_parameters",
        ),
        (
            {"text": {"format": {"type": "json_schema", "name": "reply", "strict": True, "schema": OBJECT}}},
            f"Invalid schema for response_format 'reply': {STRICT}",
            "text.format.schema",
            "invalid_json_schema",
        ),
        (
            {"max_output_tokens": 1},
            "Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16, but got 1 instead.",
            "max_output_tokens",
            "integer_below_min_value",
        ),
        (
            {"reasoning": {"effort": "bogus"}},
            f"Invalid value: 'bogus'. Supported values are: {EFFORTS}.",
            "reasoning.effort",
            "invalid_value",
        ),
        (
            {"reasoning": {"effort": "minimal"}},
            "Unsupported value: 'minimal' is not supported with the 'gpt-5.6' model. Supported values are: 'none', 'low', "
            "'medium', 'high', 'xhigh', and 'max'.",
            "reasoning.effort",
            "unsupported_value",
        ),
        (
            {"truncation": "bogus"},
            "Invalid value: 'bogus'. Supported values are: 'auto' and 'disabled'.",
            "truncation",
            "invalid_value",
        ),
        (
            {"include": ["bogus"]},
            f"Invalid value: 'bogus'. Supported values are: {INCLUDES}.",
            "include[0]",
            "invalid_value",
        ),
        (
            {"temperature": 0.5},
            "Unsupported parameter: 'temperature' is not supported with this model.",
            "temperature",
            None,
        ),
        (
            {"include": ["message.output_text.logprobs"]},
            "logprobs are not supported with reasoning models.",
            "include",
            "unsupported_parameter",
        ),
        (
            {"model": "gpt-4o", "include": ["reasoning.encrypted_content"]},
            "Encrypted content is not supported with this model.",
            "include",
            None,
        ),
        (
            {"tool_choice": "required"},
            "Tool choice 'required' must be specified with 'tools' parameter.",
            "tool_choice",
            None,
        ),
        (
            {"tool_choice": {"type": "function", "name": "x"}},
            "Tool choice 'function' not found in 'tools' parameter.",
            "tool_choice",
            None,
        ),
        (
            {"conversation": "conv_1", "previous_response_id": "resp_1"},
            "Mutually exclusive parameters: ''. Ensure you are only providing one of: 'pre..._id' or 'conversation'.",
            None,
            "mutually_exclusive_parameters",
        ),
        (
            {"input": []},
            "One of \"input\" or \"previous_response_id\" or 'prompt' or 'conversation' must be provided.",
            None,
            "missing_required_parameter",
        ),
        (
            given(user("Hi."), result("call_a")),
            "No tool call found for function call output with call_id call_a.",
            "input",
            None,
        ),
        (given(user("Hi."), called("call_a")), "No tool output found for function call call_a.", "input", None),
        (
            given(user("Hi."), {"type": "custom_tool_call", "call_id": "call_a", "name": "exec", "input": ""}),
            "No tool output found for custom tool call call_a.",
            "input",
            None,
        ),
        (
            given(assistant("Hi.", id="msg_1"), assistant("Hi.", id="msg_1")),
            "Duplicate item found with id msg_1. Remove duplicate items from your input and try again.",
            "input",
            None,
        ),
    ],
)
def test_openai(sim_of: SIM, changes: dict[str, Any], message: str, param: str | None, code: str | None) -> None:
    error = {"message": message, "type": "invalid_request_error", "param": param, "code": code}
    assert refused(sim_of("openai-responses"), "openai-responses", **changes) == (400, {"error": error})


def test_xai_and_openrouter_have_errors_of_their_own_shape(sim_of: SIM) -> None:
    assert refused(sim_of("xai-responses"), "xai-responses", truncation="bogus") == (
        400,
        {
            "code": "Client specified an invalid argument",
            "error": "Invalid value: 'bogus'. Supported values are: 'auto' and 'disabled'.",
        },
    )
    status, body = refused(sim_of("openrouter-responses"), "openrouter-responses", truncation="bogus")
    assert (status, body["error"]["code"]) == (400, 400)


def test_ollama_says_which_item_it_does_not_know(sim_of: SIM) -> None:
    _, body = refused(sim_of("ollama-responses"), "ollama-responses", **given(user("Hi."), {"type": "compaction"}))
    assert body["error"]["message"] == 'unknown input item type: "compaction"'


def test_bedrock_says_that_the_route_is_wrong(sim_of: SIM) -> None:
    _, body = refused(sim_of("bedrock-responses"), "bedrock-responses", model="gpt-5.6")
    assert body["error"]["message"] == "model `gpt-5.6` isn't supported on this route"


@accepts("rule:responses.too-large")
@refuses("rule:responses.too-large")
def test_a_body_over_32_mb_is_refused(sim_of: SIM) -> None:
    sim = sim_of("openai-responses")
    head = b"POST /v1/responses HTTP/1.1\r\nHost: x\r\nContent-Length: 33554433\r\n\r\n"
    with socket.create_connection(("127.0.0.1", urlsplit(sim.url).port or 0), timeout=120) as peer:
        peer.sendall(head)
        got = b""
        while part := peer.recv(65536):
            got += part
    assert got.startswith(b"HTTP/1.1 413 ") and b"x-sim-rule: responses.too-large\r\n" in got
    assert json.loads(got.split(b"\r\n\r\n")[1])["error"]["message"] == "Request body is too large."
    assert refused(sim, "openai-responses", input="x" * 400_000)[0] == 200


@pytest.mark.parametrize("kind", list(responses_vendors()))
def test_words_that_were_never_heard_from_a_vendor_are_not_called_verified(kind: str) -> None:
    vendor = responses_vendors()[kind]
    for name, rule in RESPONSES_RULES.rules.items():
        own = vendor.words.get(name.removeprefix("responses."))
        expected = own.verified if own else vendor.reference and rule.verified
        assert RESPONSES_RULES.rule_of(vendor, name).verified == expected
