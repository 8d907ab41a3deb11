"""The small ways of each vendor's stream and usage, as they were recorded."""

from collections.abc import Callable
from typing import Any

import pytest

from clew.testing import Simulator
from tests.simulator.openai_chat.talking import Talk, chunks, model_of, post
from tests.simulator.wire import call

SIM = Callable[[str], Simulator]


def stream(sim: Simulator, kind: str, scenario: str = "thinking", **fields: Any) -> list[Any]:
    body = Talk(sim, kind).ask(f"[[scenario:{scenario}]] go").body(stream=True, **fields)
    return chunks(post(sim, body).body)


def deltas(parts: list[Any]) -> list[dict[str, Any]]:
    return [choice["delta"] for part in parts[:-1] for choice in part["choices"]]


def test_deepseek(sim_of: SIM) -> None:
    """Recorded: nulls beside, a role-only head with an empty reasoning, usage in the chunk that finishes."""
    *parts, done = stream(sim_of("deepseek-chat"), "deepseek-chat")
    assert done == "[DONE]"
    first, *_, last = [part["choices"][0]["delta"] for part in parts]
    assert first == {"role": "assistant", "content": None, "reasoning_content": ""}
    assert parts[1]["choices"][0]["delta"] == {"content": None, "reasoning_content": "The question is short. A"}
    assert parts[-2]["choices"][0]["delta"]["reasoning_content"] is None
    assert last == {"content": "", "reasoning_content": None}
    assert parts[-1]["choices"][0]["finish_reason"] == "stop"
    assert parts[-1]["usage"] == {
        "prompt_tokens": 59,
        "completion_tokens": 18,
        "total_tokens": 77,
        "prompt_tokens_details": {"cached_tokens": 0},
        "prompt_cache_hit_tokens": 0,
        "prompt_cache_miss_tokens": 59,
        "completion_tokens_details": {"reasoning_tokens": 12},
    }


def test_kimi(sim_of: SIM) -> None:
    """Recorded: role and reasoning together; finish and usage together; cached on top."""
    *parts, _ = stream(sim_of("kimi-chat"), "kimi-chat")
    assert parts[0]["choices"][0]["delta"] == {"role": "assistant", "reasoning_content": "The question is short. A"}
    assert set(parts[-1]["usage"]) == {
        "prompt_tokens",
        "completion_tokens",
        "total_tokens",
        "cached_tokens",
        "completion_tokens_details",
    }


def test_xai(sim_of: SIM) -> None:
    """Recorded: no finish_reason until the end, a call in one piece, reasoning beside the completion's tokens."""
    parts = stream(sim_of("xai"), "xai", "loop")
    choices = [part["choices"][0] for part in parts[:-1] if part["choices"]]
    assert [choice.get("finish_reason", "absent") for choice in choices] == ["absent"] * (len(choices) - 1) + ["tool_calls"]
    (call,) = [delta["tool_calls"][0] for delta in deltas(parts) if "tool_calls" in delta]
    assert call["function"] == {"name": "get_weather", "arguments": '{"city":"city"}'}
    usage = parts[-2]["usage"]
    thought = usage["completion_tokens_details"]["reasoning_tokens"]
    assert parts[-2]["choices"] == []
    assert usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"] + thought


def test_grok_4_hides_what_it_thinks_and_counts_it(sim_of: SIM) -> None:
    parts = stream(sim_of("xai"), "xai", model="grok-4")
    assert not any("reasoning_content" in delta for delta in deltas(parts))
    assert parts[-2]["usage"]["completion_tokens_details"]["reasoning_tokens"] == 12


def test_mistral(sim_of: SIM) -> None:
    """Recorded: the content is a list while it thinks and a string at the end; no reasoning count."""
    *parts, _ = stream(sim_of("mistral"), "mistral")
    contents = [part["choices"][0]["delta"]["content"] for part in parts]
    assert contents[1] == [{"type": "thinking", "thinking": [{"type": "text", "text": "The question is short. A"}]}]
    assert contents[-2] == [{"type": "text", "text": "Here is a short answer."}]
    assert (contents[0], contents[-1]) == ("", "")
    assert set(parts[-1]["usage"]) == {"prompt_tokens", "completion_tokens", "total_tokens"}


def test_mistral_without_thinking_has_plain_strings(sim_of: SIM) -> None:
    whole = post(sim_of("mistral"), Talk(sim_of("mistral"), "mistral").ask("[[scenario:thinking]]").body(model="devstral-1"))
    assert whole.json["choices"][0]["message"] == {"role": "assistant", "content": "Here is a short answer."}


@pytest.mark.parametrize(
    ("model", "names"),
    [("qwen", {"reasoning"}), ("qwen@old", {"reasoning_content"}), ("qwen@both", {"reasoning", "reasoning_content"})],
)
def test_vllm_names_its_field_by_version(sim_of: SIM, model: str, names: set[str]) -> None:
    found = {key for delta in deltas(stream(sim_of("vllm"), "vllm", model=model)) for key in delta if "reasoning" in key}
    assert found == names


def test_vllm_says_the_role_with_every_thought(sim_of: SIM) -> None:
    thoughts = [delta for delta in deltas(stream(sim_of("vllm"), "vllm")) if "reasoning" in delta]
    assert {delta["role"] for delta in thoughts} == {"assistant"}


@pytest.mark.parametrize("kind", ["openai-chat", "vllm", "llamacpp", "tags", "gemini-chat"])
def test_usage_comes_in_a_chunk_of_its_own_for_those_who_ask(sim_of: SIM, kind: str) -> None:
    sim = sim_of(kind)
    asked = stream(sim, kind, stream_options={"include_usage": True})
    assert (asked[-2]["choices"], "usage" in asked[-2]) == ([], True)
    assert not any("usage" in part for part in stream(sim, kind)[:-1])


def test_groq_tells_its_usage_twice(sim_of: SIM) -> None:
    """Recorded: on top and in x_groq; and tags unless asked otherwise, or tools are offered."""
    *parts, _ = stream(sim_of("groq"), "groq")
    assert parts[-1]["usage"] == parts[-1]["x_groq"]["usage"]
    raw = deltas(stream(sim_of("groq"), "groq", model="qwen/qwen3-32b", tools=None))
    assert "".join(delta.get("content", "") for delta in raw).startswith("<think>\n")
    parsed = deltas(stream(sim_of("groq"), "groq", model="qwen/qwen3-32b", tools=None, reasoning_format="parsed"))
    assert any("reasoning" in delta for delta in parsed)


def test_qwen_repeats_a_call_with_an_empty_id(sim_of: SIM) -> None:
    calls = [
        call for delta in deltas(stream(sim_of("qwen-chat"), "qwen-chat", "loop")) for call in delta.get("tool_calls", [])
    ]
    assert calls[0]["id"].startswith("call_")
    assert [(call["id"], call["type"]) for call in calls[1:]] == [("", "function")]


@pytest.mark.parametrize(("wish", "count"), [({}, 1), ({"tool_stream": True}, 2)])
def test_zai_tells_a_call_in_pieces_if_asked(sim_of: SIM, wish: dict[str, Any], count: int) -> None:
    told = deltas(stream(sim_of("zai-chat"), "zai-chat", "loop", **wish))
    assert len([delta for delta in told if "tool_calls" in delta]) == count


def test_sglang_fills_with_null_and_counts_on_top(sim_of: SIM) -> None:
    parts = stream(sim_of("sglang"), "sglang", stream_options={"include_usage": True})
    assert {tuple(sorted(delta)) for delta in deltas(parts)} == {("content", "reasoning_content", "role", "tool_calls")}
    assert parts[-2]["usage"]["reasoning_tokens"] == 12


def test_azure_begins_with_nothing(sim_of: SIM) -> None:
    first, second, *_ = stream(sim_of("azure"), "azure")
    assert (first["choices"], first["id"], first["model"]) == ([], "", "")
    assert second["choices"][0]["delta"] == {"role": "assistant", "content": "", "refusal": None}


def test_llamacpp(sim_of: SIM) -> None:
    sim = sim_of("llamacpp")
    whole = post(sim, Talk(sim, "llamacpp").ask("[[scenario:thinking]]").body()).json
    assert (whole["system_fingerprint"], set(whole["timings"]) >= {"prompt_n", "predicted_n"}) == ("b6923-sim", True)
    raw = post(sim, Talk(sim, "llamacpp").ask("[[scenario:thinking]]").body(reasoning_format="none")).json
    assert raw["choices"][0]["message"]["content"].startswith("<think>\nThe question is short.")


def test_openrouter(sim_of: SIM) -> None:
    sim = sim_of("openrouter")
    body = Talk(sim, "openrouter").ask("[[scenario:thinking]]").body(stream=True)
    raw = post(sim, body).body
    assert raw.startswith(b": OPENROUTER PROCESSING\n\ndata: ")
    *parts, _ = chunks(raw)
    assert {part["provider"] for part in parts} == {"Sim"}
    assert {part["choices"][0]["delta"]["role"] for part in parts if part["choices"]} == {"assistant"}
    assert parts[-2]["choices"][0]["native_finish_reason"] == "stop"
    assert parts[-1]["usage"]["cost"] == 0.0001


def test_minimax_says_it_twice_or_over_and_over(sim_of: SIM) -> None:
    """M3 mirrors its tags in reasoning_content; M2 tells all so far with each delta."""
    sim = sim_of("minimax-chat")
    mirrored = deltas(stream(sim, "minimax-chat"))
    thoughts = "".join(delta.get("reasoning_content", "") for delta in mirrored)
    assert (
        "".join(delta.get("content", "") for delta in mirrored)
        == f"<think>\n{thoughts}\n</think>\n\nHere is a short answer."
    )
    snapshots = [
        delta["reasoning_details"][0]["text"]
        for delta in deltas(stream(sim, "minimax-chat", model="MiniMax-M2", reasoning_split=True))
        if "reasoning_details" in delta
    ]
    assert snapshots[0] == "The question is short. A"
    assert snapshots[-1] == "The question is short. A short answer will do."


def test_gemini_leaves_out_the_index_and_stops_as_if_nothing_was_called(sim_of: SIM) -> None:
    parts = stream(sim_of("gemini-chat"), "gemini-chat", "parallel")
    calls = [call for delta in deltas(parts) for call in delta.get("tool_calls", [])]
    assert ["index" in call for call in calls] == [False] * 3
    assert ["extra_content" in call for call in calls] == [True, False, False]
    assert parts[-2]["choices"][0]["finish_reason"] == "stop"


def test_gemini_shows_its_thoughts_if_asked(sim_of: SIM) -> None:
    sim = sim_of("gemini-chat")
    wish = {"google": {"thinking_config": {"include_thoughts": True}}}
    whole = post(sim, Talk(sim, "gemini-chat").ask("[[scenario:thinking]]").body(extra_body=wish)).json
    assert whole["choices"][0]["message"]["content"].startswith("<thought>\nThe question is short.")


def test_openai_hides_everything_but_the_count(sim_of: SIM) -> None:
    sim = sim_of("openai-chat")
    whole = post(sim, Talk(sim, "openai-chat").ask("[[scenario:thinking]]").body()).json
    assert whole["choices"][0]["message"] == {"role": "assistant", "content": "Here is a short answer."}
    assert whole["usage"]["completion_tokens_details"] == {"reasoning_tokens": 12}


def test_what_was_read_before_is_cached_in_whole_units(sim_of: SIM) -> None:
    sim = sim_of("deepseek-chat")
    talk = Talk(sim, "deepseek-chat").ask("x" * 4000)
    talk.turn()
    usage = talk.send().json["usage"]
    assert usage["prompt_cache_hit_tokens"] % 64 == 0
    assert 1000 <= usage["prompt_cache_hit_tokens"] <= usage["prompt_tokens"]
    assert usage["prompt_cache_hit_tokens"] + usage["prompt_cache_miss_tokens"] == usage["prompt_tokens"]


@pytest.mark.parametrize("kind", ["openrouter", "vllm", "llamacpp", "kimi-chat"])
def test_the_models_are_listed(sim_of: SIM, kind: str) -> None:
    headers = {"authorization": "Bearer sim-a-1"}
    rows = {path: call(sim_of(kind).url, "GET", path, headers=headers).json for path in ("/v1/models", "/models")}
    assert rows["/v1/models"] == rows["/models"]
    assert (rows["/models"]["object"], rows["/models"]["data"][0]["id"]) == ("list", model_of(kind))
    one = call(sim_of(kind).url, "GET", f"/v1/models/{model_of(kind)}", headers=headers).json
    assert one == rows["/models"]["data"][0]


def test_a_model_that_there_is_not(sim_of: SIM) -> None:
    reply = call(sim_of("kimi-chat").url, "GET", "/v1/models/gpt-5", headers={"authorization": "Bearer sim-a-1"})
    assert (reply.status, reply.headers["x-sim-rule"]) == (404, "chat.not-found")


@pytest.mark.parametrize(
    ("model", "written"),
    [
        ("hermes-4@text", '<tool_call>\n{"name": "get_weather", "arguments": {"city":"city"}}\n</tool_call>'),
        (
            "qwen3-coder@text",
            "<tool_call>\n<function=get_weather>\n<parameter=city>\ncity\n</parameter>\n</function>\n</tool_call>",
        ),
        ("glm-4.7@text", "<tool_call>get_weather\n<arg_key>city</arg_key>\n<arg_value>city</arg_value>\n</tool_call>"),
        (
            "grok-4@text",
            '<xai:function_call name="get_weather">\n<xai:parameter name="city">city</xai:parameter>\n</xai:function_call>',
        ),
        (
            "gpt-oss-120b@text",
            '<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>{"city":"city"}<|call|>',
        ),
    ],
)
def test_a_server_without_a_tool_parser_leaves_calls_in_the_text(sim_of: SIM, model: str, written: str) -> None:
    """As the chat template of each family writes them. The server knows of no call, so it just stops."""
    sim = sim_of("vllm")
    parts = stream(sim, "vllm", "loop", model=model)
    said = "".join(delta.get("content") or "" for delta in deltas(parts))
    finishes = [choice["finish_reason"] for part in parts[:-1] for choice in part["choices"] if choice["finish_reason"]]

    assert written in said
    assert finishes == ["stop"]
    assert not any("tool_calls" in delta for delta in deltas(parts))
