"""What the request asks for rules over the script: thinking, caps, stops, tools, schemas; and faults strike as anywhere."""

import http.client
import json
from collections.abc import Callable
from typing import Any

import pytest

from clew.testing import Simulator
from tests.simulator.openai_chat.talking import TOOL, Talk, chunks, post, user

SIM = Callable[[str], Simulator]


def message(sim: Simulator, kind: str, prompt: str = "[[scenario:thinking]]", **fields: Any) -> dict[str, Any]:
    return post(sim, Talk(sim, kind).ask(prompt).body(**fields)).json["choices"][0]


@pytest.mark.parametrize(
    ("kind", "fields", "thinks"),
    [
        ("deepseek-chat", {}, True),
        ("deepseek-chat", {"thinking": {"type": "disabled"}}, False),
        ("deepseek-chat", {"thinking": {"type": "disabled"}, "reasoning_effort": "max"}, False),
        ("kimi-chat", {"model": "kimi-k2.6"}, True),
        ("kimi-chat", {"model": "kimi-k2.6", "thinking": {"type": "disabled"}}, False),
        ("kimi-chat", {"model": "moonshot-v1-8k"}, False),
        ("vllm", {}, True),
        ("vllm", {"chat_template_kwargs": {"enable_thinking": False}}, False),
        ("vllm", {"reasoning_effort": "none"}, False),
        ("mistral", {}, True),
        ("mistral", {"model": "mistral-medium-latest"}, False),
        ("mistral", {"model": "mistral-medium-latest", "reasoning_effort": "high"}, True),
        ("mistral", {"model": "mistral-medium-latest", "reasoning_effort": "high", "prompt_mode": "plain"}, False),
        ("minimax-chat", {"thinking": {"type": "disabled"}}, False),
        ("minimax-chat", {"model": "MiniMax-M2.7", "thinking": {"type": "disabled"}}, True),
        ("openrouter", {"reasoning": {"enabled": False}}, False),
        ("openrouter", {"reasoning": {"max_tokens": 2000}}, True),
        ("tags", {"chat_template_kwargs": {"thinking": False}}, False),
    ],
)
def test_each_vendor_has_its_own_switch(sim_of: SIM, kind: str, fields: dict[str, Any], thinks: bool) -> None:
    assert ("The question is short" in json.dumps(message(sim_of(kind), kind, **fields))) == thinks


def test_the_cap_cuts(sim_of: SIM) -> None:
    said = message(sim_of("deepseek-chat"), "deepseek-chat", max_tokens=14)
    assert (said["finish_reason"], said["message"]["content"]) == ("length", "Here is ")
    thought = message(sim_of("deepseek-chat"), "deepseek-chat", max_tokens=3)
    assert (thought["finish_reason"], thought["message"]["content"]) == ("length", "")
    assert thought["message"]["reasoning_content"] == "The question"


def test_a_stop_sequence_stops(sim_of: SIM) -> None:
    said = message(sim_of("deepseek-chat"), "deepseek-chat", stop=["short answer."])
    assert (said["finish_reason"], said["message"]["content"]) == ("stop", "Here is a ")


def test_tools_are_called_as_they_are_chosen(sim_of: SIM) -> None:
    sim = sim_of("openai-chat")
    other = {"type": "function", "function": {"name": "write_file", "parameters": {"type": "object"}}}
    chosen = {"type": "function", "function": {"name": "write_file"}}
    named = message(sim, "openai-chat", "Hi.", tools=[TOOL, other], tool_choice=chosen)["message"]["tool_calls"]
    assert [call["function"]["name"] for call in named] == ["write_file"]
    assert "tool_calls" not in message(sim, "openai-chat", "Hi.", tool_choice="none")["message"]
    three = message(sim, "openai-chat", "[[scenario:parallel]]")["message"]["tool_calls"]
    one = message(sim, "openai-chat", "[[scenario:parallel]]", parallel_tool_calls=False)["message"]["tool_calls"]
    assert (len(three), len({call["id"] for call in three}), len(one)) == (3, 3, 1)


def test_a_schema_is_answered_with_json(sim_of: SIM) -> None:
    schema = {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]}
    wish = {"type": "json_schema", "json_schema": {"name": "reply", "schema": schema}}
    said = message(sim_of("openai-chat"), "openai-chat", "Hi.", tools=None, response_format=wish)
    assert json.loads(said["message"]["content"]) == {"ok": False}


def test_the_users_words_after_a_result_do_not_start_the_script_again(sim_of: SIM) -> None:
    """Reminders that clients put behind tool results."""
    talk = Talk(sim_of("tags"), "tags").ask("[[scenario:loop]] go")
    for step in ("one", "two", "three"):
        assert f"Step {step} of three." in talk.turn()["content"]
        talk.ask("<system-reminder>Mind the gap.</system-reminder>")
    assert talk.turn()["content"].endswith("After three steps: Sunny.")


def test_a_scenario_that_there_is_not(sim_of: SIM) -> None:
    reply = post(sim_of("xai"), {"model": "grok-3", "messages": [user("[[scenario:nowhere]]")]})
    assert (reply.status, reply.headers["x-sim-rule"]) == (400, "sim.scenario")


# Faults.


def spoilt(sim: Simulator, kind: str, fault: str, **fields: Any) -> Any:
    sim.fault(fault)
    return post(
        sim, Talk(sim, kind).ask("[[scenario:thinking]]").body(stream=True, **fields), path="/api/v1/chat/completions"
    )


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("openai-chat", ["error", "message"]),
        ("kimi-chat", ["error", "message"]),
        ("openrouter", ["error", "message"]),
        ("xai", ["error"]),
        ("mistral", ["message"]),
        ("minimax-chat", ["error", "message"]),
        ("gemini-chat", [0, "error", "message"]),
    ],
)
def test_a_limit_is_told_in_the_vendors_shape(sim_of: SIM, kind: str, message: list[Any]) -> None:
    reply = spoilt(sim_of(kind), kind, "status 429 retry-after=7 message='Slow down.'")
    told: Any = reply.json
    for step in message:
        told = told[step]
    assert (reply.status, reply.headers["retry-after"], told) == (429, "7", "Slow down.")


def test_words_of_a_fault_are_the_vendors_if_none_are_given(sim_of: SIM) -> None:
    reply = spoilt(sim_of("deepseek-chat"), "deepseek-chat", "status 402")
    assert (reply.status, reply.json["error"]["message"]) == (402, "Insufficient Balance")
    assert spoilt(sim_of("gemini-chat"), "gemini-chat", "status 503").json[0]["error"]["status"] == "UNAVAILABLE"


def test_an_error_inside_a_stream_that_began_with_200(sim_of: SIM) -> None:
    reply = spoilt(sim_of("deepseek-chat"), "deepseek-chat", "error server_error after=4 message='Oops.'")
    parts = chunks(reply.body)
    assert (reply.status, parts[-1]["error"]["message"], parts[-1]["error"]["type"]) == (200, "Oops.", "server_error")
    other = chunks(spoilt(sim_of("openrouter"), "openrouter", "error '' content=2 message='Oops.'").body)
    assert (other[-1]["error"], other[-1]["choices"][0]["finish_reason"]) == ({"code": 503, "message": "Oops."}, "error")


def test_a_stream_that_is_cut(sim_of: SIM) -> None:
    sim = sim_of("kimi-chat")
    with pytest.raises(http.client.IncompleteRead):
        spoilt(sim, "kimi-chat", "cut content=3")
    assert sim.journal()[-1]["ended"] == "cut"


def test_events_are_left_out_and_said_twice_by_name(sim_of: SIM) -> None:
    sim = sim_of("openrouter")
    assert chunks(spoilt(sim, "openrouter", "omit done").body)[-1]["usage"]
    assert chunks(spoilt(sim, "openrouter", "omit finish,usage").body)[-2]["choices"][0]["finish_reason"] is None
    assert chunks(spoilt(sim, "openrouter", "repeat done").body)[-2:] == ["[DONE]", "[DONE]"]


def test_usage_can_be_missing(sim_of: SIM) -> None:
    assert not any("usage" in part for part in chunks(spoilt(sim_of("xai"), "xai", "no-usage").body)[:-1])


def test_a_flood_swells_what_is_said(sim_of: SIM) -> None:
    parts = chunks(spoilt(sim_of("deepseek-chat"), "deepseek-chat", "flood 100000").body)
    assert max(len(str(part["choices"][0]["delta"].get("reasoning_content"))) for part in parts[:-1]) > 100_000


def test_signs_of_life_are_comments(sim_of: SIM) -> None:
    sim = sim_of("deepseek-chat")
    sim.fault("pings every=0.01")
    connection = http.client.HTTPConnection(sim.url.removeprefix("http://"), timeout=120)
    body = json.dumps(Talk(sim, "deepseek-chat").ask("Hi.").body(stream=True))
    connection.request("POST", "/chat/completions", body, {"authorization": "Bearer sim-a-1"})
    got = connection.getresponse()
    lines = [got.readline() for _ in range(40)]
    connection.close()
    assert lines.count(b": keep-alive\n") >= 10


def test_a_fault_of_one_request_and_of_one_key(sim_of: SIM) -> None:
    sim = sim_of("tags")
    body = Talk(sim, "tags").ask("Hi.").body()
    assert post(sim, body, **{"x-sim-fault": "status 500"}).status == 500
    sim.fault("status 503", times=None, key="sim-b-1")
    assert [post(sim, body, key=key).status for key in ("sim-a-1", "sim-b-1", "sim-b-1")] == [200, 503, 503]
