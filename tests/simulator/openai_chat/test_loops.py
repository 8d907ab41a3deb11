"""Tool loops with every chat kind over a real socket: what a vendor gave, it takes back, and the journal says so."""

import json
from typing import Any

import pytest

from clew.simulator.openai_chat.vendors import chat_vendors
from clew.testing import Simulator
from tests.simulator.openai_chat.talking import Talk, chunks, model_of, post

STRIPS = ("deepseek-r1",)
KINDS = [kind for kind in chat_vendors() if kind not in STRIPS]
HIDDEN = ("openai-chat", "azure")
ASKED = {"qwen-chat": {"enable_thinking": True, "preserve_thinking": True}}
"""How to make those think that do not by themselves, and read all that they thought."""


def talk(kind: str, sim: Simulator, prompt: str = "[[scenario:loop]] go") -> Talk:
    return Talk(sim, kind, more=ASKED.get(kind, {})).ask(prompt)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_loop_goes_through_with_what_the_vendor_gave(kind: str) -> None:
    """Issue: its own reasoning came back untouched, nothing foreign."""
    with Simulator(kind=kind) as sim:
        conversation = talk(kind, sim)
        for _ in range(4):
            conversation.turn()
        conversation.ask("And now?").turn()
        assert [entry["verdict"] for entry in sim.journal()] == [{"ok": True}] * 5
        pieces = [piece for entry in sim.journal() for piece in entry["thinking"]]
        told = {(piece["whose"], piece["same"], piece["fate"]) for piece in pieces}
        assert told == (set() if kind in HIDDEN else {("own", True, "kept")})
        assert {piece["maker"] for piece in pieces} <= {model_of(kind)}


def added_up(parts: list[Any]) -> dict[str, Any]:
    """The message that a stream's deltas come to, for the fields that are plain strings."""
    message: dict[str, Any] = {}
    calls: dict[int, dict[str, Any]] = {}
    for chunk in parts:
        for choice in chunk["choices"]:
            for key, value in choice["delta"].items():
                if key == "tool_calls":
                    for call in value or []:
                        kept = calls.setdefault(call["index"], {"id": call.get("id"), "arguments": "", "name": ""})
                        kept["name"] += call["function"].get("name", "")
                        kept["arguments"] += call["function"].get("arguments", "")
                elif isinstance(value, str) and key != "role":
                    message[key] = message.get(key, "") + value
    if calls:
        message["calls"] = [calls[index] for index in sorted(calls)]
    return message


@pytest.mark.parametrize("kind", [kind for kind in chat_vendors() if kind not in ("gemini-chat", "mistral", "openrouter")])
@pytest.mark.parametrize("scenario", ["loop", "text", "parallel"])
def test_a_stream_adds_up_to_the_whole_answer(kind: str, scenario: str) -> None:
    with Simulator(kind=kind) as sim:
        body = talk(kind, sim, f"[[scenario:{scenario}]] go").body()
        whole = post(sim, body).json["choices"][0]
        *parts, done = chunks(post(sim, {**body, "stream": True}).body)
    told = added_up(parts)
    assert done == "[DONE]"
    names = ("content", "reasoning_content", "reasoning")
    assert [told.get(name) or "" for name in names] == [whole["message"].get(name) or "" for name in names]
    assert [(call["name"], call["arguments"]) for call in told.get("calls", [])] == [
        (call["function"]["name"], call["function"]["arguments"]) for call in whole["message"].get("tool_calls", [])
    ]
    finishes = [choice.get("finish_reason") for chunk in parts for choice in chunk["choices"]]
    assert [finish for finish in finishes if finish] == [whole["finish_reason"]]


@pytest.mark.parametrize("path", ["/chat/completions", "/v1/chat/completions", "/api/coding/v4/chat/completions"])
def test_completions_are_found_under_any_prefix(simulators: Any, path: str) -> None:
    sim = simulators(kind="tags")
    body = {"model": "any", "messages": [{"role": "user", "content": "Hello"}]}
    assert post(sim, body, path=path).json["choices"][0]["finish_reason"] == "stop"


def test_same_seed_same_answer(simulators: Any) -> None:
    def answer(seed: int) -> Any:
        body = {"model": "deepseek-v4-pro", "messages": [{"role": "user", "content": "Hello"}]}
        told = post(simulators(kind="deepseek-chat", seed=seed), body).json
        return json.dumps({key: value for key, value in told.items() if key != "created"})

    assert answer(1) == answer(1) != answer(2)
