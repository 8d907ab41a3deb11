"""Reasoning goes back in the field that the backend reads, and never as text."""

from __future__ import annotations

import json
from typing import Any

import pytest

from clew.model.blocks import made
from clew.model.request import blocks_of, with_blocks
from tests.build import Json, assistant, redacted, request, text, thinking, tool_result, tool_use, user
from tests.dialects.openai_chat.encoding import body, messages, told
from tests.manifest import proves

TEXT = {"type": "reasoning.text", "text": "why"}


def back(text: str, **payload: Any) -> Json:
    """A thought of this backend's own, with what it needs back."""
    return thinking(text, json.dumps(payload))


LOOP = (user("go"), assistant(thinking("why"), "ok", tool_use("a")), user(tool_result("a")))


@proves("req:S3-40")
@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
def test_reasoning_goes_back_verbatim_in_the_field_that_the_backend_names(field: str) -> None:
    """dialects 3, step 1."""
    answer = messages(*LOOP, reasoning=field)[1]

    assert answer[field] == "why"
    assert answer["content"] == "ok"


def test_no_reasoning_empty_reasoning_and_text_are_three_states() -> None:
    """dialects 3: None, "" and text."""
    said = messages(assistant("a"), assistant(thinking(""), "a"), assistant(thinking("t"), "a"))

    assert [each.get("reasoning_content") for each in said] == [None, "", "t"]
    assert ["reasoning_content" in each for each in said] == [False, True, True]


def test_several_thoughts_of_one_answer_join_without_a_seam() -> None:
    assert messages(assistant(thinking("one "), text("x"), thinking("two"), text("y"))) == [
        {"role": "assistant", "content": "xy", "reasoning_content": "one two"}
    ]


def test_a_backend_that_forbids_reasoning_gets_none_not_even_as_text() -> None:
    """dialects 2.4: R1 answers 400 if it is there; dialects 7, case 49."""
    asked = request(user("go"), assistant(back("why", reasoning_details=[TEXT]), tool_use("a")), user(tool_result("a")))

    assert "why" not in json.dumps(body(asked, reasoning=""))
    assert told(asked, reasoning="") == [("messages.1.content.0", "left out")]


@proves("req:S3-40")
def test_the_makers_own_entries_go_back_instead_of_the_text() -> None:
    """dialects 7, cases 52 and 54: details verbatim, in order, with all their keys."""
    details = [{**TEXT, "signature": "s", "index": 0}, {"type": "reasoning.encrypted", "data": "d"}]

    assert messages(assistant(back("why", field="reasoning", reasoning_details=details), "ok")) == [
        {"role": "assistant", "content": "ok", "reasoning_details": details}
    ]


def test_entries_of_one_answer_join_in_order() -> None:
    said = messages(assistant(back("a", reasoning_details=[1]), back("b", reasoning_details=[2]), "ok"))

    assert said == [{"role": "assistant", "content": "ok", "reasoning_details": [1, 2]}]


@pytest.mark.parametrize("field", ["reasoning", "reasoning_content", "reasoning_text", "thinking"])
def test_a_thought_goes_back_under_the_name_in_which_it_came(field: str) -> None:
    """The default for a backend that nobody described."""
    assert messages(assistant(back("why", field=field), "ok")) == [{"role": "assistant", "content": "ok", field: "why"}]


def test_a_thought_whose_field_is_not_known_is_text_like_any_other() -> None:
    """Law 6: no thought goes without a word."""
    asked = request(user("go"), assistant(back("why"), "ok"), user("on"))

    assert body(asked)["messages"][1] == {"role": "assistant", "content": "ok", "reasoning_content": "why"}
    assert told(asked, reasoning_text=False) == [("messages.1.content.0", "left out")]


def test_a_thought_between_tags_goes_back_only_where_the_backend_reads_it_there() -> None:
    """dialects 4: inline tags are stripped, but by MiniMax, which wants its content verbatim."""
    asked = request(assistant(back("why", field="tags", tags={"open": "<think>\n", "close": "\n</think>\n\n"}), "ok"))

    assert body(asked)["messages"] == [{"role": "assistant", "content": "ok"}]
    assert told(asked) == [("messages.0.content.0", "left out")]
    assert body(asked, tags_back=True)["messages"] == [{"role": "assistant", "content": "<think>\nwhy\n</think>\n\nok"}]


def test_a_thought_without_its_signature_stays_out_where_the_model_refuses_it() -> None:
    """dialects 2.3: OpenRouter drops unsigned text of Claude and Gemini; a missing format means Claude's."""
    formats = frozenset({"", "anthropic-claude-v1"})
    entries = [TEXT, {**TEXT, "format": "unknown"}, {**TEXT, "format": "anthropic-claude-v1", "signature": "s"}]
    asked = request(
        assistant(back("why", reasoning_details=entries), "ok"), assistant(back("x", reasoning_details=[TEXT]), "b")
    )

    said = body(asked, signed_formats=formats)["messages"]

    assert [each.get("reasoning_details") for each in said] == [entries[1:], None]
    assert told(asked, signed_formats=formats) == [
        ("messages.0.content.0", "left out"),
        ("messages.1.content.0", "left out"),
    ]


def test_what_a_maker_keeps_on_a_call_goes_back_on_that_call() -> None:
    """dialects 2.11: Gemini's signature stands on the tool call, whatever the call's id has become since."""
    signed = {"extra_content": {"google": {"thought_signature": "s"}}}
    said = assistant(tool_use("a"), back("", tool_calls={"call_x": signed}), tool_use("b"))

    calls = messages(said)[0]["tool_calls"]

    assert [call.get("extra_content") for call in calls] == [None, signed["extra_content"]]


def test_a_call_without_its_signature_gets_the_word_for_that_where_there_is_one() -> None:
    """dialects 3, step 4: the first call of an answer, for Gemini."""
    dummy = {"extra_content": {"google": {"thought_signature": "none"}}}
    asked = request(assistant(tool_use("a"), tool_use("b")))

    calls = body(asked, unsigned_call=dummy)["messages"][0]["tool_calls"]

    assert [call.get("extra_content") for call in calls] == [dummy["extra_content"], None]
    assert told(asked, unsigned_call=dummy) == [("messages.0.content.0", "added")]


def test_a_backend_that_keeps_its_thoughts_in_the_content_gets_them_back_there_in_place() -> None:
    """dialects 2.12: Mistral's content is a list with thinking in it."""
    first, second = ({"type": "thinking", "thinking": [{"type": "text", "text": word}]} for word in ("why", "so"))
    said = assistant(back("why", field="content", content=[first]), "ok", back("so", field="content", content=[second]), "b")

    assert messages(said) == [
        {
            "role": "assistant",
            "content": [first, {"type": "text", "text": "ok"}, second, {"type": "text", "text": "b"}],
        }
    ]


def test_a_block_that_a_step_put_in_goes_back_like_any_other() -> None:
    """Restored thinking is not in the client's bytes; its place is where it was put."""
    asked = request(user("go"), assistant("gone", tool_use("a")))
    restored = made({"type": "thinking", "thinking": "again", "signature": "s"})
    answer = with_blocks(asked.messages[1], (restored, blocks_of(asked.messages[1])[1]))
    projected = asked.with_messages((asked.messages[0], answer))

    assert body(projected)["messages"][1]["reasoning_content"] == "again"
    assert body(projected)["messages"][1]["content"] is None
    assert told(projected, reasoning="") == [("messages.1.content.0", "left out")]


def test_a_backend_that_takes_only_its_own_reasoning_gets_no_text() -> None:
    """dialects 2.7: a `reasoning_content` string is documented as unsupported by MiniMax."""
    asked = request(*LOOP)

    assert "why" not in json.dumps(body(asked, reasoning="reasoning_details", reasoning_text=False))
    assert told(asked, reasoning="reasoning_details", reasoning_text=False) == [("messages.1.content.0", "left out")]


def test_redacted_thinking_without_a_payload_is_left_out() -> None:
    asked = request(assistant(redacted("blob"), "ok"))

    assert body(asked)["messages"] == [{"role": "assistant", "content": "ok"}]
    assert told(asked) == [("messages.0.content.0", "left out")]


@proves("req:S3-40")
def test_missing_reasoning_is_filled_on_every_answer_where_the_key_must_be_there() -> None:
    """dialects 2.4: DeepSeek needs the key even if it is empty; dialects 7, case 48."""
    asked = request(assistant("a"), assistant(tool_use("x")), assistant(thinking("t"), tool_use("y")))

    said = body(asked, missing="empty", missing_on="all")["messages"]

    assert [each["reasoning_content"] for each in said] == ["", "", "t"]
    assert told(asked, missing="empty", missing_on="all") == [
        ("messages.0.reasoning_content", "added"),
        ("messages.1.reasoning_content", "added"),
    ]


def test_entries_are_reasoning_and_an_empty_list_of_them_says_that_there_is_none() -> None:
    """dialects 2.3: the empty array is meaningful."""
    said = messages(
        assistant(tool_use("x")),
        assistant(back("t", reasoning_details=[TEXT]), tool_use("y")),
        missing="empty",
        empty={"reasoning_details": []},
    )

    assert [each["reasoning_details"] for each in said] == [[], [TEXT]]


def test_a_backend_that_wants_it_non_empty_gets_a_space_on_calls() -> None:
    """dialects 2.6: Kimi refuses calls without reasoning; dialects 7, case 50."""
    said = messages(assistant("a"), assistant(tool_use("x")), assistant(thinking(""), tool_use("y")), missing="space")

    assert [each.get("reasoning_content") for each in said] == [None, " ", " "]


def test_a_lost_thought_turns_thinking_off_where_that_is_the_policy() -> None:
    """dialects 3, step 4."""
    lost = request(assistant(tool_use("a")), user(tool_result("a")), thinking={"type": "adaptive"})
    kept = request(*LOOP, thinking={"type": "adaptive"})

    assert body(lost, knob="deepseek", missing="off")["thinking"] == {"type": "disabled"}
    assert told(lost, knob="deepseek", missing="off") == [("thinking", "set")]
    assert body(kept, knob="deepseek", missing="off")["thinking"] == {"type": "enabled"}


def test_an_answer_of_nothing_but_thinking_is_reasoning_with_empty_content() -> None:
    assert messages(assistant(thinking("hm"))) == [{"role": "assistant", "content": "", "reasoning_content": "hm"}]


def test_where_an_answer_of_nothing_but_thinking_is_refused_it_says_something() -> None:
    """dialects 7, case 17: the limit cut it while it thought, and the conversation goes on."""
    cut = request(user("go"), assistant(back("why", field="reasoning_content")), user("on"))

    assert body(cut, wordless="…")["messages"][1] == {"role": "assistant", "content": "…", "reasoning_content": "why"}
    assert told(cut, wordless="…") == [("messages.1", "added")]
    assert messages(*LOOP, wordless="…") == messages(*LOOP)


def test_an_entry_that_stands_in_the_history_twice_is_sent_once() -> None:
    """dialects 2.3: "duplicate item id". The same words without a proof may have been thought twice."""
    secret = {"type": "reasoning.encrypted", "data": "d", "id": "rs_1"}
    said = [assistant(back("why", reasoning_details=[TEXT, secret]), tool_use(id)) for id in ("a", "b")]

    sent = messages(*said, entries_once=True)

    assert [each["reasoning_details"] for each in sent] == [[TEXT, secret], [TEXT]]
    assert messages(said[0], entries_once=True) == sent[:1]


def test_what_an_answer_itself_bore_goes_back_on_it() -> None:
    """dialects 2.11: Gemini signs an answer without calls there; calls that it signed too keep their own."""
    bore = {"extra_content": {"google": {"thought_signature": "EsIB"}}}
    said = (
        assistant(back("", message=bore), "a"),
        assistant("a", back("", message=bore, tool_calls={"t": bore}), tool_use("t")),
    )

    first, second = messages(*said, reasoning="extra_content", reasoning_text=False)

    assert first == {"role": "assistant", "content": "a", **bore}
    assert (second["extra_content"], second["tool_calls"][0]["extra_content"]) == (
        bore["extra_content"],
        bore["extra_content"],
    )


def test_what_an_answer_bore_stays_out_where_its_maker_could_not_read_it() -> None:
    [said] = messages(
        assistant(back("", message={"extra_content": {"google": {"thought_signature": "x"}}}), "a"), entries=False
    )

    assert said == {"role": "assistant", "content": "a"}
