"""reasoning_details: signed, sealed or plain by the vendor behind; whole and in deltas; and what becomes of them on return."""

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest

from clew.testing import Simulator
from tests.manifest import accepts, refuses
from tests.simulator.openai_chat.talking import Talk, called, chunks, post, result, verdict_of

SIM = Callable[[str], Simulator]
MODELS = [
    "anthropic/claude-opus-5",
    "openai/gpt-5.6",
    "x-ai/grok-4.6",
    "google/gemini-3-pro",
    "deepseek/deepseek-v4-pro",
    "qwen/qwen3.6-max",
]
STRICT = ["anthropic/claude-opus-5", "openai/gpt-5.6", "google/gemini-3-pro"]


@pytest.fixture
def sim(sim_of: SIM) -> Simulator:
    return sim_of("openrouter")


def loop(sim: Simulator, model: str, turns: int = 2, scenario: str = "loop") -> Talk:
    """A conversation in the middle of its tool loop."""
    talk = Talk(sim, "openrouter", model).ask(f"[[scenario:{scenario}]] go")
    for _ in range(turns):
        talk.turn()
    return talk


def details(talk: Talk, index: int = 1) -> list[dict[str, Any]]:
    return talk.messages[index]["reasoning_details"]


def merged(parts: list[Any]) -> list[dict[str, Any]]:
    """The entries that a stream's deltas come to, by the vendor's own rule."""
    entries: list[dict[str, Any]] = []
    for chunk in parts:
        for choice in chunk["choices"]:
            for piece in choice["delta"].get("reasoning_details", []):
                last = entries[-1] if entries else {}
                if (last.get("type"), last.get("index")) == (piece["type"], piece["index"]) and "data" not in piece:
                    for key in ("text", "summary"):
                        if key in piece:
                            last[key] = last.get(key, "") + piece[key]
                    last |= {key: value for key, value in piece.items() if key not in ("text", "summary")}
                else:
                    entries.append(dict(piece))
    return entries


def shapes_of(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Two answers to two requests differ in their ids and in what is sealed with them."""
    return [
        {key: value if key not in ("id", "data", "signature") else "…" for key, value in entry.items()} for entry in entries
    ]


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("scenario", ["loop", "redacted", "parallel"])
def test_deltas_come_to_the_whole_entries(sim: Simulator, model: str, scenario: str) -> None:
    body = Talk(sim, "openrouter", model).ask(f"[[scenario:{scenario}]] go").body()
    whole = post(sim, body).json["choices"][0]["message"]
    *parts, _ = chunks(post(sim, {**body, "stream": True}).body)
    assert shapes_of(merged(parts)) == shapes_of(whole["reasoning_details"])
    flat = "".join(part["choices"][0]["delta"].get("reasoning", "") for part in parts if part["choices"])
    assert flat == whole["reasoning"]


@pytest.mark.parametrize(
    ("model", "shapes"),
    [
        ("anthropic/claude-opus-5", [["reasoning.text", "anthropic-claude-v1", "signature text"]]),
        (
            "openai/gpt-5.6",
            [
                ["reasoning.summary", "openai-responses-v1", "summary"],
                ["reasoning.encrypted", "openai-responses-v1", "data id"],
            ],
        ),
        (
            "x-ai/grok-4.6",
            [["reasoning.summary", "xai-responses-v1", "summary"], ["reasoning.encrypted", "xai-responses-v1", "data id"]],
        ),
        (
            "google/gemini-3-pro",
            [["reasoning.text", "google-gemini-v1", "text"], ["reasoning.encrypted", "google-gemini-v1", "data id"]],
        ),
        ("qwen/qwen3.6-max", [["reasoning.text", "unknown", "text"]]),
    ],
)
def test_entries_are_of_the_makers_kind(sim: Simulator, model: str, shapes: list[Any]) -> None:
    found = details(loop(sim, model, turns=1))
    assert [[entry["type"], entry["format"], " ".join(sorted(set(entry) - COMMON))] for entry in found] == shapes


COMMON = {"type", "format", "index"}


@pytest.mark.parametrize("model", MODELS)
def test_what_was_streamed_is_taken_when_it_comes_back(sim: Simulator, model: str) -> None:
    talk = Talk(sim, "openrouter", model).ask("[[scenario:loop]] go")
    *parts, _ = chunks(talk.send(stream=True).body)
    pieces = [piece for part in parts if part["choices"] for piece in part["choices"][0]["delta"].get("tool_calls", [])]
    arguments = "".join(piece["function"]["arguments"] for piece in pieces)
    talk.messages.append(called(pieces[0]["id"], arguments=arguments, reasoning_details=merged(parts)))
    talk.messages.append(result(pieces[0]["id"]))
    assert talk.send().status == 200
    assert {(piece["whose"], piece["same"], piece["fate"]) for piece in sim.journal()[-1]["thinking"]} == {
        ("own", True, "kept")
    }


def test_geminis_seal_is_named_after_its_call(sim: Simulator) -> None:
    talk = loop(sim, "google/gemini-3-pro", turns=1)
    assert details(talk)[-1]["id"] == talk.messages[1]["tool_calls"][0]["id"]


def test_redacted_thinking_is_sealed(sim: Simulator) -> None:
    kinds = [entry["type"] for entry in details(loop(sim, "anthropic/claude-opus-5", 1, "redacted"))]
    assert kinds == ["reasoning.text", "reasoning.encrypted", "reasoning.encrypted"]


@accepts("rule:chat.details-altered", "rule:chat.details-repeated", "rule:chat.details-signature", "rule:chat.details-data")
@pytest.mark.parametrize("model", MODELS)
def test_what_was_given_is_taken(sim: Simulator, model: str) -> None:
    assert loop(sim, model, turns=4).send().status == 200


def spoilt(talk: Talk, change: Callable[[list[Any]], None]) -> Talk:
    other = copy.deepcopy(talk.messages)
    change(other[1]["reasoning_details"])
    return Talk(talk.sim, talk.kind, talk.model, other)


@refuses("rule:chat.details-altered")
@pytest.mark.parametrize("model", STRICT)
def test_in_the_open_loop_nothing_may_be_missing(sim: Simulator, model: str) -> None:
    reply = spoilt(loop(sim, model), lambda entries: entries.clear()).send()
    assert verdict_of(reply) == ("chat.signature-missing" if "gemini" in model else "chat.details-altered")


@refuses("rule:chat.details-altered")
def test_in_the_open_loop_order_and_keys_are_kept(sim: Simulator) -> None:
    talk = loop(sim, "openai/gpt-5.6")
    assert verdict_of(spoilt(talk, lambda entries: entries.reverse()).send()) == "chat.details-altered"
    assert verdict_of(spoilt(talk, lambda entries: entries[0].pop("index")).send()) == "chat.details-altered"


@accepts("rule:chat.details-altered")
@pytest.mark.parametrize("model", STRICT)
def test_after_the_loop_they_may_go(sim: Simulator, model: str) -> None:
    talk = loop(sim, model, turns=4).ask("And?")
    assert spoilt(talk, lambda entries: entries.clear()).send().status == 200


@refuses("rule:chat.details-signature")
def test_a_signature_is_for_its_text_alone(sim: Simulator) -> None:
    talk = loop(sim, "anthropic/claude-opus-5", turns=4).ask("And?")
    reply = spoilt(talk, lambda entries: entries[0].update(text="Step one of four.")).send()
    assert verdict_of(reply) == "chat.details-signature"
    raw = json.loads(reply.json["error"]["metadata"]["raw"])
    assert raw["error"]["message"] == "messages.1.content.0: Invalid `signature` in `thinking` block"


@refuses("rule:chat.details-data")
def test_a_seal_of_another_realm_is_nobodys(sim: Simulator) -> None:
    with Simulator(kind="openrouter", realm="elsewhere") as other:
        foreign = details(loop(other, "openai/gpt-5.6", turns=1))
    talk = loop(sim, "openai/gpt-5.6", turns=4).ask("And?")
    talk.messages[1]["reasoning_details"] = foreign
    reply = talk.send()
    assert verdict_of(reply) == "chat.details-data"
    assert json.loads(reply.json["error"]["metadata"]["raw"])["error"]["code"] == "invalid_encrypted_content"


def test_one_realm_knows_its_own(simulators: Any) -> None:
    first, second = simulators(kind="openrouter", realm="home"), simulators(kind="openrouter", realm="home", seed=9)
    talk = loop(first, "anthropic/claude-opus-5", turns=4).ask("And?")
    talk.sim = second
    assert talk.send().status == 200
    assert {piece["whose"] for piece in second.journal()[0]["thinking"] if piece["field"] == "reasoning_details"} == {"own"}


@refuses("rule:chat.details-repeated")
def test_an_entry_comes_once(sim: Simulator) -> None:
    talk = loop(sim, "openai/gpt-5.6", turns=4).ask("And?")
    talk.messages[3]["reasoning_details"] = details(talk)
    assert verdict_of(talk.send()) == "chat.details-repeated"


def test_an_error_from_behind_is_a_text_in_a_text(sim: Simulator) -> None:
    """Antigravity-Manager, nagobot#21, aider-desk#513."""
    reply = spoilt(loop(sim, "google/gemini-3-pro"), lambda entries: entries.clear()).send()
    error = reply.json["error"]
    assert (error["message"], error["code"], error["metadata"]["provider_name"]) == (
        "Provider returned error",
        400,
        "Google AI Studio",
    )
    advice, _, raw = error["metadata"]["raw"].partition("Upstream error: ")
    assert advice.startswith("Gemini models require OpenRouter reasoning details to be preserved in each request.")
    assert json.loads(raw)["error"]["status"] == "INVALID_ARGUMENT"


def test_what_the_aggregator_itself_refuses_is_told_in_its_own_name(sim: Simulator) -> None:
    talk = Talk(sim, "openrouter").ask("Hi.")
    talk.messages += [called(reasoning_details={"type": "reasoning.text"}), result("call_1")]
    reply = talk.send()
    assert verdict_of(reply) == "chat.details-shape"
    assert "metadata" not in reply.json["error"]


def test_reasoning_that_is_excluded_by_effort_none_is_not_there(sim: Simulator) -> None:
    body = Talk(sim, "openrouter").ask("Hi.").body(reasoning={"effort": "none"})
    assert set(post(sim, body).json["choices"][0]["message"]) == {"role", "content", "tool_calls"}
