"""Refusals in the vendors' own words and shapes, byte for byte as they were reported."""

import json
import socket
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

import pytest

from clew.simulator.openai_chat.judge.case import CHAT_RULES
from clew.simulator.openai_chat.vendors import chat_vendors
from clew.testing import Simulator
from tests.manifest import accepts, refuses
from tests.simulator.openai_chat.talking import called, model_of, post, result, user

SIM = Callable[[str], Simulator]
LOST = [user("Hi."), called(), result("call_1")]
LONG = [user("x" * 5_000_000)]


def refused(sim: Simulator, kind: str, key: str = "sim-a-1", **fields: Any) -> tuple[int, Any]:
    body = {"model": model_of(kind), "messages": [user("Hi.")], **fields}
    reply = post(sim, body, key=key)
    return reply.status, reply.json


def test_deepseek(sim_of: SIM) -> None:
    """langchain#37713."""
    assert refused(sim_of("deepseek-chat"), "deepseek-chat", messages=LOST) == (
        400,
        {
            "error": {
                "message": "The `reasoning_content` in the thinking mode must be passed back to the API.",
                "type": "invalid_request_error",
                "param": None,
                "code": "invalid_request_error",
            }
        },
    )


def test_deepseek_counts_messages_and_completion(sim_of: SIM) -> None:
    """zed#57464."""
    _, body = refused(sim_of("deepseek-chat"), "deepseek-chat", messages=LONG, max_tokens=1000)
    assert body["error"]["message"] == (
        "This model's maximum context length is 1048576 tokens. However, you requested 1251007 tokens (1250007 in the "
        "messages, 1000 in the completion). Please reduce the length of the messages or completion."
    )


def test_deepseek_names_the_roles_that_it_knows(sim_of: SIM) -> None:
    """9router#773."""
    _, body = refused(sim_of("deepseek-chat"), "deepseek-chat", messages=[{"role": "developer", "content": "Hi."}])
    assert body["error"]["message"].startswith(
        "Failed to deserialize the JSON body into the target type: messages[0].role: unknown variant `developer`, "
        "expected one of `system`, `user`, `assistant`, `tool`, `latest_reminder`"
    )


def test_kimi(sim_of: SIM) -> None:
    """continue#11600; nanobot#4967; dify#39778."""
    sim = sim_of("kimi-chat")
    assert refused(sim, "kimi-chat", messages=LOST) == (
        400,
        {
            "error": {
                "message": "thinking is enabled but reasoning_content is missing in assistant tool call message at index 1",
                "type": "invalid_request_error",
            }
        },
    )
    _, body = refused(sim, "kimi-chat", temperature=0.6)
    assert body["error"]["message"] == "invalid temperature: only 1 is allowed for this model"
    assert refused(sim, "kimi-chat", model="claude-opus-5") == (
        404,
        {
            "error": {
                "message": "Not found the model claude-opus-5 or Permission denied",
                "type": "resource_not_found_error",
            }
        },
    )


def test_xai(sim_of: SIM) -> None:
    """litellm#16265; continue#11412: a wrong key is a 400 there."""
    sim = sim_of("xai")
    assert refused(sim, "xai", model="grok-4-latest", reasoning_effort="low") == (
        400,
        {
            "code": "Client specified an invalid argument",
            "error": "Model grok-4-latest does not support parameter reasoningEffort.",
        },
    )
    assert refused(sim, "xai", key="sim-invalid") == (
        400,
        {
            "code": "Client specified an invalid argument",
            "error": "Incorrect API key provided: ****alid. You can obtain an API key from https://console.x.ai.",
        },
    )


def test_mistral(sim_of: SIM) -> None:
    """crush#1590; avante.nvim#2347; datapizza-ai#98; gptel#1203."""
    sim = sim_of("mistral")
    thought = called("abcdefghi", reasoning_content="Hm.")
    status, body = refused(sim, "mistral", messages=[user("Hi."), thought, result("abcdefghi")])
    assert status == 422
    assert body["message"]["detail"] == [
        {
            "type": "extra_forbidden",
            "loc": ["body", "messages", 1, "assistant", "reasoning_content"],
            "msg": "Extra inputs are not permitted",
        }
    ]
    _, body = refused(sim, "mistral", stream=True, stream_options={"include_usage": True})
    assert body["message"]["detail"][0]["loc"] == ["body", "stream_options", "include_usage"]
    fine = [user("Hi."), called("abcdefghi"), result("abcdefghi")]
    assert refused(sim, "mistral", messages=[*fine, user("So?")]) == (
        400,
        {
            "object": "error",
            "message": "Unexpected role 'user' after role 'tool'",
            "type": "invalid_request_message_order",
            "param": None,
            "code": "3230",
        },
    )
    assert refused(sim, "mistral", messages=LOST)[1]["message"] == (
        "Tool call id was call_1 but must be a-z, A-Z, 0-9, with a length of 9."
    )
    assert refused(sim, "mistral", key="sim-invalid") == (401, {"detail": "Unauthorized"})


def test_minimax(sim_of: SIM) -> None:
    """hermes-agent#12167; MiniMax-M2#76."""
    sim = sim_of("minimax-chat")
    status, body = refused(sim, "minimax-chat", messages=[user("Hi."), called(arguments="{"), result("call_1")])
    assert (status, body["error"]) == (
        400,
        {
            "type": "bad_request_error",
            "message": "invalid params, invalid function arguments json string, tool_call_id: call_1 (2013)",
            "http_code": "400",
        },
    )
    _, body = refused(sim, "minimax-chat", messages=[user("Hi."), result("call_9")])
    assert body["error"]["message"] == "invalid params, tool result's tool id(call_9) not found (2013)"


def test_gemini(sim_of: SIM) -> None:
    """Antigravity-Manager#1513; openclaude#585: a list with one error in it."""
    sim = sim_of("gemini-chat")
    status, body = refused(sim, "gemini-chat", messages=LOST)
    (entry,) = body
    assert (status, entry["error"]["code"], entry["error"]["status"]) == (400, 400, "INVALID_ARGUMENT")
    assert entry["error"]["message"].startswith("Function call is missing a thought_signature in functionCall parts.")
    assert "function call `default_api:get_weather` , position 2." in entry["error"]["message"]
    _, body = refused(sim, "gemini-chat", store=False)
    assert body[0]["error"]["message"] == 'Invalid JSON payload received. Unknown name "store": Cannot find field.'


def test_llamacpp(sim_of: SIM) -> None:
    """llama.cpp#15780."""
    status, body = refused(sim_of("llamacpp"), "llamacpp", messages=LONG)
    assert (status, body["error"]) == (
        400,
        {
            "code": 400,
            "message": "the request exceeds the available context size, try increasing it",
            "type": "exceed_context_size_error",
            "n_prompt_tokens": 1250007,
            "n_ctx": 131072,
        },
    )


def test_vllm(sim_of: SIM) -> None:
    """vllm#4667."""
    status, body = refused(sim_of("vllm"), "vllm", max_tokens=-186)
    assert (status, body["error"]["message"], body["error"]["type"], body["error"]["code"]) == (
        400,
        "max_tokens must be at least 1, got -186.",
        "BadRequestError",
        400,
    )


def test_groq(sim_of: SIM) -> None:
    """hermes-agent#11089."""
    thought = called(reasoning_content="Hm.")
    assert refused(sim_of("groq"), "groq", messages=[user("Hi."), thought, result("call_1")]) == (
        400,
        {
            "error": {
                "message": "'messages.1' : for 'role:assistant' the following must be satisfied[('messages.1' : property "
                "'reasoning_content' is unsupported)]",
                "type": "invalid_request_error",
            }
        },
    )


def test_cerebras(sim_of: SIM) -> None:
    """kilocode#10375."""
    thought = called(reasoning_content="Hm.")
    place = "messages.1.assistant.reasoning_content"
    assert refused(sim_of("cerebras"), "cerebras", messages=[user("Hi."), thought, result("call_1")]) == (
        400,
        {
            "message": f"{place}: property '{place}' is unsupported",
            "type": "invalid_request_error",
            "param": "validation_error",
            "code": "wrong_api_format",
        },
    )


def test_qwen(sim_of: SIM) -> None:
    """qwen-code#98."""
    _, body = refused(sim_of("qwen-chat"), "qwen-chat", messages=LONG)
    assert (body["error"]["message"], body["error"]["code"]) == (
        "<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 262144]",
        "invalid_parameter_error",
    )


def test_zai(sim_of: SIM) -> None:
    """continue#13261."""
    words = "The messages parameter is illegal. Please check the documentation."
    lonely = [{"role": "system", "content": "Hi."}]
    assert refused(sim_of("zai-chat"), "zai-chat", messages=lonely) == (400, {"error": {"code": "1214", "message": words}})


def test_sglang(sim_of: SIM) -> None:
    assert refused(sim_of("sglang"), "sglang", messages=LONG) == (
        400,
        {
            "object": "error",
            "message": "The input (1250007 tokens) is longer than the model's context length (131072 tokens).",
            "type": "BadRequestError",
            "param": None,
            "code": 400,
        },
    )


def test_ollama(sim_of: SIM) -> None:
    """OpenPlanter#32."""
    _, body = refused(sim_of("ollama"), "ollama", model="llama3.2", reasoning_effort="low")
    assert body["error"]["message"] == '"llama3.2" does not support thinking'


@pytest.mark.parametrize(
    ("changes", "message", "param", "code"),
    [
        ({"reasoning": {"effort": "low"}}, "Unknown parameter: 'reasoning'.", "reasoning", "unknown_parameter"),
        (
            {"max_tokens": 9},
            "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
            "max_tokens",
            "unsupported_parameter",
        ),
        (
            {"stop": ["x"]},
            "Unsupported parameter: 'stop' is not supported with this model.",
            "stop",
            "unsupported_parameter",
        ),
        (
            {"messages": [user("Hi."), called("call_a"), called("call_b")]},
            "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. "
            "The following tool_call_ids did not have response messages: call_a",
            "messages.[1].role",
            None,
        ),
        (
            {"messages": [user("Hi."), result("call_a")]},
            "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.",
            "messages.[1].role",
            None,
        ),
        (
            {"messages": [{"role": "user", "content": None}]},
            "Invalid value for 'content': expected a string, got null.",
            "messages.[0].content",
            None,
        ),
        (
            {"messages": [user("Hi."), {"role": "assistant", "content": "Yes.", "tool_calls": []}, user("Go.")]},
            "Invalid 'messages[1].tool_calls': empty array. Expected an array with minimum length 1, but got an empty array "
            "instead.",
            "messages[1].tool_calls",
            "empty_array",
        ),
        ({"model": ""}, "you must provide a model parameter", None, None),
    ],
)
def test_openai(sim_of: SIM, changes: dict[str, Any], message: str, param: str | None, code: str | None) -> None:
    """open-responses-server#41; measured refusals of 2026-08-30. Words, param and code as they were seen."""
    error = {"message": message, "type": "invalid_request_error", "param": param, "code": code}
    assert refused(sim_of("openai-chat"), "openai-chat", **changes) == (400, {"error": error})


def test_openrouter_in_its_own_name(sim_of: SIM) -> None:
    assert refused(sim_of("openrouter"), "openrouter", model="nobody") == (
        400,
        {"error": {"message": "nobody is not a valid model ID", "code": 400}, "user_id": "user_sim"},
    )


@accepts("rule:chat.too-large")
@refuses("rule:chat.too-large")
def test_a_body_over_32_mb_is_refused_and_one_below_is_read(sim_of: SIM) -> None:
    sim = sim_of("tags")
    head = b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 33554433\r\n\r\n"
    with socket.create_connection(("127.0.0.1", urlsplit(sim.url).port or 0), timeout=120) as peer:
        peer.sendall(head)
        got = b""
        while part := peer.recv(65536):
            got += part
    assert got.startswith(b"HTTP/1.1 413 ")
    assert b"x-sim-rule: chat.too-large\r\n" in got
    assert json.loads(got.split(b"\r\n\r\n")[1])["error"]["message"] == "Request body is too large."
    assert refused(sim, "tags", messages=[user("x" * 400_000)])[0] == 200


@pytest.mark.parametrize("kind", list(chat_vendors()))
def test_words_that_were_never_heard_from_a_vendor_are_not_called_verified(kind: str) -> None:
    vendor = chat_vendors()[kind]
    for name in CHAT_RULES.rules:
        own = vendor.words.get(name.removeprefix("chat."))
        expected = own.verified if own else vendor.reference and CHAT_RULES.rules[name].verified
        assert CHAT_RULES.rule_of(vendor, name).verified == expected
