"""The journal of reasoning: whose each piece is, whether it is as it was given, under which field, and what is missing."""

from collections.abc import Callable
from typing import Any

import pytest

from clew.testing import Simulator
from tests.simulator.openai_chat.talking import Talk, called, result, user

SIM = Callable[[str], Simulator]
THOUGHT = "The question is short. A short answer will do."
"""What the scenario `thinking` thinks."""
OWN = {"whose": "own", "same": True, "fate": "kept"}


def last(sim: Simulator) -> list[dict[str, Any]]:
    return sim.journal()[-1]["thinking"]


def started(sim: Simulator, kind: str, scenario: str = "loop", **more: Any) -> Talk:
    talk = Talk(sim, kind, more=more).ask(f"[[scenario:{scenario}]] go" if scenario else "The weather?")
    talk.turn()
    return talk


def test_own_reasoning_that_came_back_untouched(sim_of: SIM) -> None:
    sim = sim_of("deepseek-chat")
    started(sim, "deepseek-chat").send()
    path = "messages.1.reasoning_content"
    assert last(sim) == [{"path": path, "field": "reasoning_content", "maker": "deepseek-v4-pro", **OWN}]


def test_other_bytes_are_still_ones_own_but_not_the_same(sim_of: SIM) -> None:
    sim = sim_of("deepseek-chat")
    talk = started(sim, "deepseek-chat")
    talk.messages[1]["reasoning_content"] += "\n"
    talk.send()
    assert [(piece["whose"], piece["same"]) for piece in last(sim)] == [("own", False)]


def test_somebody_elses_words_are_foreign(sim_of: SIM) -> None:
    sim = sim_of("deepseek-chat")
    talk = started(sim, "deepseek-chat")
    talk.messages[1]["reasoning_content"] = "I am Claude, and I wonder about the sea."
    talk.send()
    assert [(piece["whose"], piece["same"], piece["fate"]) for piece in last(sim)] == [
        ("foreign", False, "kept"),
        ("own", False, "missing"),
    ]


def test_the_same_words_on_a_message_that_is_not_ours_are_foreign(sim_of: SIM) -> None:
    """Two simulators may play one script; only the calls tell them apart."""
    sim = sim_of("deepseek-chat")
    talk = started(sim, "deepseek-chat")
    words = talk.messages[1]["reasoning_content"]
    theirs = called("toolu_1", arguments='{"city":"Oslo"}', reasoning_content=words)
    Talk(sim, "deepseek-chat", messages=[user("Hi."), theirs, result("toolu_1")]).send()
    assert [(piece["whose"], piece["same"]) for piece in last(sim)] == [("foreign", False)]


def test_a_marked_thought_is_known_wherever_it_is(simulators: Any) -> None:
    """The built-in model marks what it thinks of its own accord: a restart, or another of the realm, knows it."""
    talk = started(simulators(kind="deepseek-chat", realm="home"), "deepseek-chat", "")
    other = simulators(kind="deepseek-chat", realm="home")
    talk.sim = other
    talk.send()
    assert [(piece["whose"], piece["same"]) for piece in last(other)] == [("own", False)]


@pytest.mark.parametrize("words", ["", " ", ".", "…"])
def test_nothing_to_read_is_a_placeholder(sim_of: SIM, words: str) -> None:
    sim = sim_of("deepseek-chat")
    foreign = called("call_x", reasoning_content=words)
    Talk(sim, "deepseek-chat", messages=[user("Hi."), foreign, result("call_x")]).send()
    assert [(piece["whose"], piece["fate"]) for piece in last(sim)] == [("placeholder", "kept")]


def test_geminis_dummy_is_a_placeholder(sim_of: SIM) -> None:
    sim = sim_of("gemini-chat")
    talk = started(sim, "gemini-chat")
    google = talk.messages[1]["tool_calls"][0]["extra_content"]["google"]
    google["thought_signature"] = "skip_thought_signature_validator"
    talk.send()
    assert [piece["whose"] for piece in last(sim)] == ["placeholder", "own"]
    assert last(sim)[1]["fate"] == "missing"


def test_what_was_given_and_did_not_come_back_is_missing(sim_of: SIM) -> None:
    sim = sim_of("kimi-chat")
    talk = started(sim, "kimi-chat")
    del talk.messages[1]["reasoning_content"]
    assert talk.send().status == 400
    assert last(sim) == [
        {
            "path": "messages.1.reasoning_content",
            "field": "reasoning_content",
            "maker": "kimi-k3",
            "whose": "own",
            "same": False,
            "fate": "refused",
        }
    ]


def test_the_piece_that_a_refusal_names_is_marked(sim_of: SIM) -> None:
    sim = sim_of("deepseek-r1")
    assert started(sim, "deepseek-r1").send().status == 400
    assert [(piece["whose"], piece["same"], piece["fate"]) for piece in last(sim)] == [("own", True, "refused")]


@pytest.mark.parametrize("kind", ["tags", "xai", "deepseek-r1"])
def test_who_wants_nothing_back_misses_nothing(sim_of: SIM, kind: str) -> None:
    sim = sim_of(kind)
    talk = started(sim, kind)
    talk.messages[1].pop("reasoning_content", None)
    talk.messages[1]["content"] = None
    assert talk.send().status == 200
    assert last(sim) == []


def test_tags_that_come_back_are_told(sim_of: SIM) -> None:
    sim = sim_of("tags")
    started(sim, "tags").send()
    assert [(piece["field"], piece["whose"], piece["same"]) for piece in last(sim)] == [("content", "own", True)]


@pytest.mark.parametrize("kind", ["deepseek-chat", "kimi-chat", "openrouter", "tags", "vllm", "mistral"])
@pytest.mark.parametrize("place", ["assistant", "user", "system"])
def test_reasoning_in_plain_sight_is_told(sim_of: SIM, kind: str, place: str) -> None:
    sim = sim_of(kind)
    talk = Talk(sim, kind).ask("[[scenario:thinking]] go")
    talk.turn()
    if place == "assistant":
        talk.messages += [user("And?"), {"role": "assistant", "content": f"I thought: {THOUGHT}"}, user("So?")]
    elif place == "user":
        talk.ask(f"You thought: {THOUGHT}")
    else:
        talk.messages.insert(0, {"role": "system", "content": f"Before, you thought: {THOUGHT}"})
        talk.ask("So?")
    assert talk.send().status == 200
    assert [piece["fate"] for piece in last(sim) if piece["field"] == "content" and piece["fate"] != "kept"] == ["as text"]


def test_a_visible_answer_is_no_reasoning(sim_of: SIM) -> None:
    sim = sim_of("deepseek-chat")
    talk = Talk(sim, "deepseek-chat").ask("[[scenario:thinking]] go")
    talk.turn()
    talk.ask("And?").send()
    assert [piece["fate"] for piece in last(sim)] == ["kept"]


def test_ids_that_are_given_again_in_another_conversation_do_not_confuse(sim_of: SIM) -> None:
    """Kimi names its calls anew in each conversation."""
    sim = sim_of("kimi-chat")
    first = started(sim, "kimi-chat", "loop")
    second = started(sim, "kimi-chat", "")
    assert first.messages[1]["tool_calls"][0]["id"] == second.messages[1]["tool_calls"][0]["id"]
    for talk in (first, second, first):
        talk.send()
        assert [(piece["whose"], piece["same"]) for piece in last(sim)] == [("own", True)]


@pytest.mark.parametrize("split", [False, True])
@pytest.mark.parametrize("model", ["MiniMax-M3", "MiniMax-M2.7", "MiniMax-M2"])
def test_minimax_gets_back_what_it_gave_in_either_form(sim_of: SIM, model: str, split: bool) -> None:
    sim = sim_of("minimax-chat")
    talk = Talk(sim, "minimax-chat", model, more={"reasoning_split": split}).ask("[[scenario:loop]] go")
    message = talk.turn()
    assert ("reasoning_details" in message, "<think>" in (message["content"] or "")) == (split, not split)
    talk.send()
    field = "reasoning_details" if split else "content"
    assert (field, "own", True) in [(piece["field"], piece["whose"], piece["same"]) for piece in last(sim)]
    assert {piece["fate"] for piece in last(sim)} == {"kept"}


def test_parallel_calls_have_one_signature_and_need_one(sim_of: SIM) -> None:
    """Gemini: on the first call of a step alone."""
    sim = sim_of("gemini-chat")
    talk = started(sim, "gemini-chat", "parallel")
    calls = talk.messages[1]["tool_calls"]
    assert ["extra_content" in call for call in calls] == [True, False, False]
    assert talk.send().status == 200
    calls[1]["extra_content"] = calls[0].pop("extra_content")
    assert talk.send().headers["x-sim-rule"] == "chat.signature-missing"


def test_entries_that_changed_places_are_not_the_same(sim_of: SIM) -> None:
    sim = sim_of("openrouter")
    talk = Talk(sim, "openrouter", "x-ai/grok-4.6").ask("[[scenario:loop]] go")
    talk.turn()["reasoning_details"].reverse()
    talk.send()
    assert [(piece["whose"], piece["same"]) for piece in last(sim) if piece["field"] == "reasoning_details"] == [
        ("own", False),
        ("own", False),
    ]


def test_a_like_call_under_an_id_that_we_did_not_give_is_not_ours(sim_of: SIM) -> None:
    sim = sim_of("vllm")
    call = started(sim, "vllm").messages[1]["tool_calls"][0]
    theirs = called("toolu_1", call["function"]["name"], call["function"]["arguments"])
    Talk(sim, "vllm", messages=[user("Hi."), theirs, result("toolu_1")]).send()
    assert last(sim) == []


def test_ours_under_another_id_is_known_by_its_reasoning(sim_of: SIM) -> None:
    """A client may name calls anew."""
    sim = sim_of("vllm")
    talk = started(sim, "vllm")
    talk.messages[1]["tool_calls"][0]["id"] = talk.messages[2]["tool_call_id"] = "toolu_1"
    talk.send()
    assert [(piece["whose"], piece["same"]) for piece in last(sim)] == [("own", True)]


def test_a_field_that_comes_back_in_tags(sim_of: SIM) -> None:
    """Cerebras: GLM's reasoning comes in a field, and goes back in the content."""
    sim = sim_of("cerebras")
    talk = Talk(sim, "cerebras", "zai-glm-4.7").ask("[[scenario:loop]] go")
    message = talk.turn()
    thought = message.pop("reasoning")
    message["content"] = f"<think>{thought}</think>"
    talk.send()
    assert [(piece["field"], piece["whose"], piece["same"]) for piece in last(sim)] == [("content", "own", True)]
    message["content"] = None
    talk.send()
    assert [(piece["field"], piece["fate"]) for piece in last(sim)] == [("content", "missing")]


def test_a_reset_forgets_whose_it_was(sim_of: SIM) -> None:
    sim = sim_of("deepseek-chat")
    talk = started(sim, "deepseek-chat")
    sim.reset()
    talk.send()
    assert [piece["whose"] for piece in last(sim)] == ["foreign"]
