"""Scenarios: which one plays, which turn is due, and what each shipped one says."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from clew.errors import SettingsInvalid
from clew.simulator.turns import ScenarioPicker, load, shipped
from clew.testing import Simulator
from tests.manifest import accepts
from tests.simulator.standin import judge
from tests.simulator.wire import TOOL, Reply, ask


@pytest.fixture(scope="module")
def sim() -> Iterator[Simulator]:
    with Simulator(judge=judge) as simulator:
        yield simulator


def play(sim: Simulator, name: str, **fields: Any) -> list[Any]:
    """Answer its tool calls until the scenario ends; the messages that it said."""
    messages: list[Any] = [{"role": "user", "content": f"[[scenario:{name}]] go"}]
    said: list[Any] = []
    while len(said) < 10:
        reply = ask(sim.url, tools=[TOOL], thinking={"type": "adaptive"}, messages=messages, **fields)
        assert reply.status == 200, reply.body
        message = reply.json
        said.append(message)
        messages.append({"role": "assistant", "content": message["content"]})
        if message["stop_reason"] == "pause_turn":
            continue
        results = [
            {"type": "tool_result", "tool_use_id": block["id"], "content": f"result {len(said)}"}
            for block in message["content"]
            if block["type"] == "tool_use"
        ]
        if not results:
            break
        messages.append({"role": "user", "content": results})
    return said


def kinds(message: Any) -> list[str]:
    return [block["type"] for block in message["content"]]


T, R, X, U = "thinking", "redacted_thinking", "text", "tool_use"
SAID = {
    "text": [([X], "end_turn")],
    "thinking": [([T, X], "end_turn")],
    "omitted": [([T, X], "end_turn")],
    "redacted": [([T, R, R, X, U], "tool_use"), ([R, X], "end_turn")],
    "interleaved": [([T, X, T, U], "tool_use"), ([T, X, T, U], "tool_use"), ([T, X], "end_turn")],
    "updates": [([T, T, U], "tool_use"), ([T, U], "tool_use"), ([T, X], "end_turn")],
    "parallel": [([T, X, U, U, U], "tool_use"), ([T, X], "end_turn")],
    "loop": [([T, U], "tool_use"), ([T, U], "tool_use"), ([T, U], "tool_use"), ([T, X], "end_turn")],
    "only-thinking": [([T], "end_turn")],
    "trailing-thinking": [([T, X, T], "end_turn")],
    "refusal": [([T, X], "refusal")],
    "cut-short": [([T, X], "max_tokens")],
    "paused": [([T, "server_tool_use"], "pause_turn"), (["web_search_tool_result", T, X], "end_turn")],
    "fallback": [([X, "fallback", X], "end_turn")],
    "unknown-block": [(["hologram", X], "end_turn")],
    "small-pieces": [([T, X, U], "tool_use"), ([X], "end_turn")],
    "pings": [([T, X], "end_turn")],
    "usage": [([T, X], "end_turn")],
}
FAULTY = {"overloaded", "overloaded-late", "cut-off", "no-end"}


def test_every_shipped_scenario_is_in_the_table_and_says_what_it_is_about() -> None:
    assert set(SAID) | FAULTY == set(shipped())
    assert all(scenario.about for scenario in shipped().values())


@accepts("rule:R68", "rule:R72")
@pytest.mark.parametrize("name", SAID)
def test_a_shipped_scenario_says_its_turns_and_ends(sim: Simulator, name: str) -> None:
    assert [(kinds(message), message["stop_reason"]) for message in play(sim, name)] == SAID[name]


@pytest.mark.parametrize("name", SAID)
def test_a_stream_has_the_same_blocks_as_the_message(sim: Simulator, name: str) -> None:
    reply = ask(sim.url, f"[[scenario:{name}]]", tools=[TOOL], thinking={"type": "adaptive"}, stream=True)
    started = [event["content_block"]["type"] for event in reply.events if event["type"] == "content_block_start"]
    assert started == SAID[name][0][0]
    assert [event["index"] for event in reply.events if event["type"] == "content_block_start"] == list(range(len(started)))


def test_results_are_quoted(sim: Simulator) -> None:
    last = play(sim, "parallel")[-1]
    assert last["content"][-1]["text"] == "Together they say: result 1\nresult 1\nresult 1"


def test_the_omitted_scenario_hides_its_thought_whatever_is_asked(sim: Simulator) -> None:
    thought = play(sim, "omitted")[0]["content"][0]
    assert thought["thinking"] == ""
    assert thought["signature"]


def test_usage_of_a_scenario_is_its_own(sim: Simulator) -> None:
    usage = play(sim, "usage")[0]["usage"]
    assert (usage["input_tokens"], usage["output_tokens"]) == (120000, 4321)


def streamed(sim: Simulator, name: str) -> Reply:
    return ask(sim.url, f"[[scenario:{name}]]", thinking={"type": "adaptive"}, stream=True)


def test_the_faulty_scenarios_go_wrong_as_they_say(sim: Simulator) -> None:
    assert [event["type"] for event in streamed(sim, "overloaded").events] == ["error"]
    late = [event["type"] for event in streamed(sim, "overloaded-late").events]
    assert (late[-1], len(late)) == ("error", 7)
    assert streamed(sim, "no-end").events[-1]["type"] == "content_block_stop"
    with pytest.raises(ConnectionResetError):
        streamed(sim, "cut-off")


# Which one.


def test_the_newest_mark_in_a_user_text_counts(sim: Simulator) -> None:
    messages = [
        {"role": "user", "content": "[[scenario:thinking]]"},
        {"role": "assistant", "content": "[[scenario:refusal]]"},
        {"role": "user", "content": [{"type": "text", "text": "[[scenario:refusal]] no: [[scenario:text]]"}]},
        {"role": "assistant", "content": "ok"},
        {"role": "user", "content": "and now?"},
    ]
    reply = ask(sim.url, messages=messages)
    assert reply.json["content"] == [{"type": "text", "text": "Hello. This is a plain answer."}]
    assert sim.journal()[-1]["scenario"] == "text"


def test_a_name_that_there_is_not_is_refused_with_those_that_there_are(sim: Simulator) -> None:
    reply = ask(sim.url, "[[scenario:nonsense]]")
    assert (reply.status, reply.headers["x-sim-rule"]) == (400, "sim.scenario")
    assert reply.json["error"]["message"].startswith("there is no scenario 'nonsense'; there are default, cut-off, ")


def test_a_prompt_cannot_open_a_file(sim: Simulator, tmp_path: Path) -> None:
    path = tmp_path / "x.scenario"
    path.write_text("text: leaked")
    with pytest.raises(SettingsInvalid, match="a prompt can only name a scenario"):
        ScenarioPicker().scenario_for({"messages": [{"role": "user", "content": "[[scenario:x.scenario]]"}]})


def test_a_file_of_ones_own_is_played_and_can_be_left_for_another(tmp_path: Path) -> None:
    path = tmp_path / "mine.scenario"
    path.write_text("about: Mine.\ntext: My own words.\n")
    with Simulator(judge=judge, scenario=str(path)) as sim:
        assert ask(sim.url, "hi").json["content"] == [{"type": "text", "text": "My own words."}]
        assert ask(sim.url, "[[scenario:text]]").json["content"][0]["text"].startswith("Hello.")
        assert ask(sim.url, "[[scenario:mine]]").json["content"] == [{"type": "text", "text": "My own words."}]
        assert ask(sim.url, "[[scenario:default]]").json["content"][0]["text"].startswith("You said:")


def test_scenarios_are_found_by_name_or_by_path(tmp_path: Path) -> None:
    assert load("default") is None
    assert load("loop") is shipped()["loop"]
    with pytest.raises(SettingsInvalid, match=r"No such file or directory"):
        load(str(tmp_path / "gone.scenario"))
    with pytest.raises(SettingsInvalid, match=r"or give a file that ends in \.scenario"):
        load("gone.txt")


def test_after_the_last_turn_there_is_a_closing_word(sim: Simulator) -> None:
    messages: list[Any] = [{"role": "user", "content": "[[scenario:text]]"}]
    messages += [{"role": "assistant", "content": "one"}]
    reply = ask(sim.url, messages=messages)
    assert reply.json["content"] == [{"type": "text", "text": "The scenario text ends here."}]


@pytest.mark.parametrize("streaming", [True, False])
def test_pauses_are_kept_in_a_stream_and_before_a_whole_answer(sim: Simulator, streaming: bool) -> None:
    reply = ask(sim.url, "[[scenario:pings]]", thinking={"type": "adaptive"}, stream=streaming)
    if streaming:
        assert sum(event["type"] == "ping" for event in reply.events) == 6
    assert reply.status == 200
