"""Speaking: the request rules over the script."""

from typing import Any

import pytest

from clew.model.json import JsonObject
from clew.simulator.answers import AnswerBlock, ModelAnswer
from clew.simulator.identity import IdMaker
from clew.simulator.interfaces import Prompt
from clew.simulator.player import TurnContext, play_turn
from clew.simulator.script import Act, CallTool, Say, ScriptTurn, Stop, Think, ThinkRedacted
from clew.simulator.turns import state_of
from tests.manifest import accepts
from tests.simulator.standin import Hashing
from tests.simulator.wire import TOOL

ADAPTIVE = Prompt(thinking="adaptive", display="summarized", interleaved=True)


def request(**fields: Any) -> JsonObject:
    return {
        "model": "m",
        "max_tokens": 1000,
        "tools": [TOOL],
        "messages": [{"role": "user", "content": "What is it in /tmp/a.txt?"}],
        **fields,
    }


def say(*acts: Act, prompt: Prompt = ADAPTIVE, empty_delta: bool = True, **fields: Any) -> ModelAnswer:
    asked = request(**fields)
    context = TurnContext(
        request=asked,
        prompt=prompt,
        signer=Hashing(),
        state=state_of(asked),
        ids=IdMaker(0).ids("a", "p", b"b"),
        betas=frozenset(fields.pop("betas", ())),
        empty_delta=empty_delta,
    )
    return play_turn(ScriptTurn(acts), context)


def types(answer: ModelAnswer) -> list[Any]:
    return [block["type"] for block in answer.content]


def deltas(answer: ModelAnswer, place: int = 0) -> list[Any]:
    pieces = [item for item in answer.items if isinstance(item, AnswerBlock)]
    return list(pieces[place].deltas)


@accepts("rule:R66")
def test_a_thought_is_signed_with_what_stands_before_it_and_says_its_signature_last() -> None:
    answer = say(Think("a"), Say("b"), Think("a"))
    first, _, second = answer.content
    assert first["thinking"] == second["thinking"] == "a"
    assert first["signature"] != second["signature"]
    assert deltas(answer) == [
        {"type": "thinking_delta", "thinking": "a"},
        {"type": "signature_delta", "signature": first["signature"]},
    ]


@pytest.mark.parametrize(
    ("display", "shown"),
    [
        ("summarized", ["thought", "", "update"]),
        ("omitted", ["", "", ""]),
        ("updates", ["", "", "update"]),
    ],
)
def test_display_decides_what_is_seen_and_not_what_is_signed(display: Any, shown: list[str]) -> None:
    """R41: the signature is the same for every display value."""
    acts = (Think("thought"), Think("never", "never"), Think("update", "update"))
    prompt = Prompt(thinking="adaptive", display=display, interleaved=True)
    answer = say(*acts, prompt=prompt)
    assert [block["thinking"] for block in answer.content] == shown
    assert answer.content[0]["signature"] == say(*acts).content[0]["signature"]


def test_an_omitted_thought_has_one_empty_delta_or_none() -> None:
    """R66, C-11."""
    omitted = Prompt(thinking="adaptive", display="omitted", interleaved=True)
    assert [delta["type"] for delta in deltas(say(Think("a"), prompt=omitted))] == ["thinking_delta", "signature_delta"]
    assert deltas(say(Think("a"), prompt=omitted))[0] == {"type": "thinking_delta", "thinking": ""}
    without = say(Think("a"), prompt=omitted, empty_delta=False)
    assert [delta["type"] for delta in deltas(without)] == ["signature_delta"]


def test_no_thinking_means_no_thoughts_of_any_kind() -> None:
    answer = say(Think("a"), ThinkRedacted("b"), Say("c"), prompt=Prompt())
    assert (types(answer), answer.thinking_tokens) == (["text"], 0)


def test_between_tools_only_updates_are_thought() -> None:
    """The SDK's words for between_tools: thinking off, progress updates come back as thinking blocks."""
    answer = say(Think("a"), Think("b", "update"), CallTool("*"), prompt=Prompt(thinking="between_tools", display="omitted"))
    assert types(answer) == ["thinking", "tool_use"]
    assert answer.content[0]["thinking"] == "b"


def test_manual_mode_without_interleaving_thinks_only_first() -> None:
    """R40."""
    manual = Prompt(thinking="enabled", interleaved=False)
    assert types(say(Think("a"), Say("b"), Think("c"), prompt=manual)) == ["thinking", "text"]
    results = [
        {"role": "user", "content": "x"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "get_weather", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "y"}]},
    ]
    assert types(say(Think("a"), Say("{{result}}"), prompt=manual, messages=results)) == ["text"]
    interleaved = Prompt(thinking="enabled", interleaved=True)
    assert types(say(Think("a"), Say("b"), prompt=interleaved, messages=results)) == ["thinking", "text"]


def test_a_call_without_an_input_gets_one_from_its_schema() -> None:
    answer = say(CallTool("get_weather"))
    assert answer.content[0]["input"] == {"city": "city", "days": 2}
    assert answer.stop_reason == "tool_use"


@accepts("rule:R66")
def test_a_call_begins_with_an_empty_piece_of_json() -> None:
    assert deltas(say(CallTool("get_weather", {"city": "Köln"}))) == [
        {"type": "input_json_delta", "partial_json": ""},
        {"type": "input_json_delta", "partial_json": '{"city":"Köln"}'},
    ]
    assert deltas(say(CallTool("get_weather", {}))) == [{"type": "input_json_delta", "partial_json": ""}]


def test_calls_in_one_answer_have_ids_of_their_own() -> None:
    answer = say(CallTool("*"), CallTool("*"))
    assert len({block["id"] for block in answer.content}) == 2


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        pytest.param({"tool_choice": {"type": "none"}}, ["text"], id="none"),
        pytest.param(
            {"tool_choice": {"type": "auto", "disable_parallel_tool_use": True}}, ["text", "tool_use"], id="one-only"
        ),
        pytest.param({"tools": []}, ["text"], id="no-tools"),
        pytest.param({}, ["text", "tool_use", "tool_use"], id="auto"),
    ],
)
def test_the_tool_choice_is_obeyed(fields: dict[str, Any], expected: list[str]) -> None:
    answer = say(Say("a"), CallTool("*"), CallTool("get_weather", {"city": "x"}), **fields)
    assert types(answer) == expected


def test_an_answer_of_which_nothing_may_be_said_says_a_word() -> None:
    assert say(CallTool("*"), tools=[]).content == [{"type": "text", "text": "Done."}]


# Cuts.


@accepts("rule:R68")
def test_max_tokens_cuts_a_text_at_a_whole_character() -> None:
    answer = say(Say("äöüäöü"), max_tokens=2)
    assert (answer.content, answer.stop_reason) == ([{"type": "text", "text": "äöüä"}], "max_tokens")
    assert answer.output_tokens == 2


def test_max_tokens_leaves_a_text_that_just_fits() -> None:
    assert say(Say("12345678"), max_tokens=2).stop_reason == "end_turn"


@accepts("rule:R71")
def test_max_tokens_leaves_a_cut_thought_without_a_signature() -> None:
    answer = say(Think("a long thought"), Say("never"), max_tokens=2)
    assert answer.content == [{"type": "thinking", "thinking": "a long t", "signature": ""}]
    assert deltas(answer) == [{"type": "thinking_delta", "thinking": "a long t"}]
    assert (answer.stop_reason, answer.thinking_tokens) == ("max_tokens", 2)


@accepts("rule:R66")
def test_max_tokens_inside_a_call_keeps_whole_members_and_no_stop_event() -> None:
    """R66: deltas stop at the last completed member."""
    answer = say(CallTool("get_weather", {"city": "Rome", "note": "x" * 100}), max_tokens=10)
    piece = answer.items[0]
    assert isinstance(piece, AnswerBlock)
    assert (piece.closed, answer.stop_reason) == (False, "max_tokens")
    assert answer.content[0]["input"] == {"city": "Rome"}
    assert "".join(delta["partial_json"] for delta in deltas(answer)) == '{"city":"Rome"'


def test_max_tokens_zero_warms_the_cache_and_says_nothing() -> None:
    """R7."""
    answer = say(Say("a"), max_tokens=0)
    assert (answer.content, answer.stop_reason, answer.output_tokens) == ([], "max_tokens", 0)


def test_a_stop_sequence_cuts_a_text_and_ends_the_answer() -> None:
    answer = say(Say("one two three"), Say("four"), stop_sequences=["three", "two"])
    assert answer.content == [{"type": "text", "text": "one "}]
    assert (answer.stop_reason, answer.stop_sequence) == ("stop_sequence", "two")


def test_a_stop_sequence_inside_a_tool_input_cuts_and_closes_it() -> None:
    """R15."""
    given: JsonObject = {"a": "keep", "b": ["x", {"c": "before STOP after"}, "y"], "d": "gone"}
    answer = say(CallTool("get_weather", given), Say("never"), stop_sequences=["STOP"])
    assert answer.content[0]["input"] == {"a": "keep", "b": ["x", {"c": "before "}]}
    assert (answer.stop_reason, answer.stop_sequence) == ("stop_sequence", "STOP")


def test_thoughts_are_not_searched_for_stop_sequences() -> None:
    assert types(say(Think("STOP"), Say("go"), stop_sequences=["STOP"])) == ["thinking", "text"]


@accepts("rule:R68")
def test_a_script_can_say_why_it_stops() -> None:
    refused = say(Say("no"), Stop("refusal", "cyber"))
    assert refused.stop_reason == "refusal"
    assert refused.stop_details == {"type": "refusal", "category": "cyber", "explanation": None}
    assert say(Say("on"), Stop("pause_turn")).stop_reason == "pause_turn"
    assert say(Say("x"), Stop("stop_sequence", "###")).stop_sequence == "###"


def test_texts_can_quote_the_prompt_and_the_model() -> None:
    answer = say(Say("{{model}}: {{prompt}} {{unknown}}"))
    assert answer.content == [{"type": "text", "text": "m: What is it in /tmp/a.txt? {{unknown}}"}]
