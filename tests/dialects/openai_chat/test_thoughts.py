"""Reasoning under all its names: shown once, and kept for the backend as it came."""

import time

import pytest

from clew.dialects.openai_chat.stream_thoughts import shown_text, signature_on
from clew.model.json import JsonObject, JsonValue
from tests.dialects.openai_chat.chat import Told, call, stream
from tests.manifest import proves

TEXT: JsonObject = {"type": "reasoning.text", "format": "anthropic-claude-v1", "index": 0}
ENCRYPTED: JsonObject = {
    "type": "reasoning.encrypted",
    "data": "blob",
    "id": "rs_1",
    "format": "openai-responses-v1",
    "index": 0,
}


@proves("req:S3-13")
@pytest.mark.parametrize(
    "delta",
    [
        {"reasoning": "a"},
        {"reasoning_content": "a"},
        {"thinking": "a"},
        {"reasoning_text": "a"},
        {"reasoning_details": [{"type": "reasoning.text", "text": "a"}]},
        {"reasoning_details": [{"type": "reasoning.summary", "summary": "a"}]},
        {"thinking_blocks": [{"type": "thinking", "thinking": "a"}]},
        {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "a"}]}]},
        {"reasoning_content": "", "reasoning": "a"},
        {"reasoning_content": "a", "reasoning": ""},
        {"reasoning_content": "a", "reasoning": "a"},
        {"reasoning": "a", "reasoning_details": [{"type": "reasoning.text", "text": "a"}]},
        {"reasoning_content": "a", "thinking_blocks": [{"type": "thinking", "thinking": "a"}]},
        {"reasoning_content": "a", "content": "<think>\na\n</think>\n\n"},
    ],
)
def test_every_name_of_reasoning_is_read_and_counted_once(delta: JsonObject) -> None:
    """S3-13, cases 12, 13 and 15: mirrors in one chunk, and an empty string that hides nothing."""
    assert Told(stream(delta, {"content": "x"})).blocks == [("thinking", "a"), ("text", "x")]


@proves("req:S3-13")
def test_a_mirror_in_a_later_chunk_is_no_second_thought() -> None:
    """Case 36: a signed block that repeats everything; it brings the signature, and what it has beyond the mirror."""
    whole: JsonObject = {"type": "thinking", "thinking": "ab c", "signature": "sig"}
    told = Told(
        stream({"reasoning_content": "a"}, {"reasoning_content": "b"}, {"thinking_blocks": [whole]}, {"content": "x"})
    )

    assert told.blocks == [("thinking", "ab c"), ("text", "x")]
    assert told.stream.payloads == {0: {"field": "reasoning_content", "thinking_blocks": [whole]}}


def test_a_mirror_may_lag_and_words_that_repeat_stay() -> None:
    """Case 20: identical deltas are legitimate; only another name can mirror."""
    lagging = stream({"reasoning": "ha"}, {"reasoning": "ha"}, {"reasoning_content": "haha"}, {"reasoning": "!"})

    assert Told(lagging).blocks == [("thinking", "haha!")]


def test_a_later_thought_may_say_what_an_earlier_one_said() -> None:
    """Interleaved thinking is new each time."""
    told = Told(stream({"reasoning": "a"}, {"content": "x"}, {"reasoning": "a"}, {"content": "y"}))

    assert told.blocks == [("thinking", "a"), ("text", "x"), ("thinking", "a"), ("text", "y")]


@proves("req:S3-14")
@pytest.mark.parametrize("flat", [{}, {"reasoning": "[REDACTED]"}])
def test_encrypted_reasoning_shows_nothing_and_is_kept(flat: JsonObject) -> None:
    """S3-14, case 25: an empty block stands for it; the word that stands in the flat field is no text."""
    told = Told(stream({**flat, "reasoning_details": [ENCRYPTED]}, {"content": "x"}))

    assert told.blocks == [("thinking", ""), ("text", "x")]
    assert told.stream.payloads == {0: {"reasoning_details": [ENCRYPTED]}}


@proves("req:C29")
def test_a_signature_comes_last_and_belongs_to_the_text_before_it() -> None:
    """C29, case 23: texts, then an entry with nothing but the signature."""
    deltas = ({**TEXT, "text": "He"}, {**TEXT, "text": "llo"}, {**TEXT, "signature": "sig"})
    told = Told(stream(*({"reasoning_details": [entry]} for entry in deltas), {"content": "x"}))

    assert told.blocks == [("thinking", "Hello"), ("text", "x")]
    assert told.stream.payloads == {
        0: {"field": "reasoning_details", "reasoning_details": [{**TEXT, "text": "Hello", "signature": "sig"}]}
    }


def test_all_types_of_details_are_kept_in_order_and_only_two_are_shown() -> None:
    """Case 26: different indices, an unknown type, a record of a server tool."""
    entries: list[JsonObject] = [
        {"type": "reasoning.summary", "summary": "One", "index": 0},
        {"type": "reasoning.summary", "summary": "Two", "index": 1},
        ENCRYPTED,
        {"type": "reasoning.server_tool_call", "tool_name": "t", "arguments": "{}", "result": "r"},
        {"type": "reasoning.new", "text": "hidden"},
    ]
    told = Told(stream(*({"reasoning_details": [entry]} for entry in entries), {"content": "x"}))

    assert told.blocks == [("thinking", "One\n\nTwo"), ("text", "x")]
    assert told.stream.payloads == {0: {"field": "reasoning_details", "reasoning_details": entries}}


def test_what_is_opaque_and_late_gets_an_empty_block_before_the_next_call() -> None:
    """Rule 6.2: a closed block is not signed again; Gemini's entry signs the call that follows."""
    told = Told(stream({"reasoning": "a"}, {"content": "x"}, {"reasoning_details": [ENCRYPTED], **call(0, "c", "f", "{}")}))

    assert told.blocks == [("thinking", "a"), ("text", "x"), ("thinking", ""), ("c", "f", {})]
    assert told.stream.payloads == {0: {"field": "reasoning"}, 2: {"reasoning_details": [ENCRYPTED]}}


def test_what_is_opaque_and_comes_at_the_very_end_is_kept_beside_the_blocks() -> None:
    """Rule 6.2, case 24: kept, no second block."""
    told = Told(stream({"reasoning": "a"}, {"content": "x"}, {"reasoning_details": [ENCRYPTED]}))

    assert told.blocks == [("thinking", "a"), ("text", "x")]
    assert told.stream.late == {"reasoning_details": [ENCRYPTED]}


def test_a_signature_on_a_call_travels_in_an_empty_block_before_it() -> None:
    """Gemini's OpenAI endpoint signs the first call, in a member of its own."""
    extra: JsonObject = {"google": {"thought_signature": "sig"}}
    entry: JsonObject = {"id": "c", "function": {"name": "f", "arguments": "{}"}, "extra_content": extra}
    told = Told(stream({"content": "x"}, {"tool_calls": [entry]}))

    assert told.blocks == [("text", "x"), ("thinking", ""), ("c", "f", {})]
    assert told.stream.payloads == {1: {"tool_calls": {"c": {"extra_content": extra}}}}


def test_a_content_list_is_read_in_its_order_and_its_pieces_become_one_chunk() -> None:
    """Case 34: Mistral; list and string in one stream, a reference in the thought, a signature at its end."""
    reference: JsonObject = {"type": "reference", "reference_ids": [1]}
    told = Told(
        stream(
            {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "a"}], "closed": False}]},
            {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "b"}, reference]}]},
            {
                "content": [
                    {"type": "thinking", "thinking": [], "signature": "sig", "closed": True},
                    {"type": "text", "text": "x"},
                ]
            },
            {"content": "y"},
            {"content": ""},
        )
    )

    assert told.blocks == [("thinking", "ab"), ("text", "xy")]
    assert told.stream.payloads == {
        0: {
            "field": "content",
            "content": [
                {
                    "type": "thinking",
                    "thinking": [{"type": "text", "text": "ab"}, reference],
                    "closed": True,
                    "signature": "sig",
                }
            ],
        }
    }


def test_redacted_blocks_of_another_gateway_are_kept_and_not_shown() -> None:
    """LiteLLM: thinking_blocks with a redacted one among them."""
    blocks: list[JsonObject] = [
        {"type": "redacted_thinking", "data": "d"},
        {"type": "thinking", "thinking": "a", "signature": "s"},
    ]
    told = Told(stream({"thinking_blocks": list(blocks)}, {"content": "x"}))

    assert (told.blocks, told.stream.payloads) == (
        [("thinking", "a"), ("text", "x")],
        {0: {"field": "thinking_blocks", "thinking_blocks": blocks}},
    )


@proves("req:S3-28")
def test_reasoning_may_run_straight_into_a_call() -> None:
    """S3-28: no text between them."""
    told = Told(stream({"reasoning": "a"}, call(0, "c", "f", "{}")))

    assert told.steps == ["thinking 0", "+a", "stop 0", "tool_use 1", "+{}", "stop 1"]


def test_a_mirror_is_compared_with_the_thought_of_its_own_time() -> None:
    """The second thought is mirrored by a name that was silent during the first."""
    told = Told(
        stream({"reasoning": "a"}, {"content": "x"}, {"reasoning": "b"}, {"reasoning_content": "b"}, {"content": "y"})
    )

    assert told.blocks == [("thinking", "a"), ("text", "x"), ("thinking", "b"), ("text", "y")]


def test_entries_that_are_signed_stay_apart() -> None:
    """Case 26: what a maker signed goes back in the pieces that it signed, in details and in content lists."""
    details: list[JsonObject] = [{**TEXT, "text": word, "signature": f"sig {word}"} for word in "ab"]
    chunks: list[JsonObject] = [
        {"type": "thinking", "thinking": [{"type": "text", "text": word}], "signature": f"sig {word}"} for word in "ab"
    ]

    assert Told(stream(*({"reasoning_details": [entry]} for entry in details))).stream.payloads == {
        0: {"field": "reasoning_details", "reasoning_details": details}
    }
    assert Told(stream(*({"content": [chunk]} for chunk in chunks))).stream.payloads == {
        0: {"field": "content", "content": chunks}
    }


@pytest.mark.parametrize(("end", "shown"), [("", ""), ("]", "[REDACTED]  " * 18 + "]")])
def test_a_row_of_stand_ins_is_read_in_one_go(end: str, shown: str) -> None:
    """A model can be asked to write that; while it is read, nothing else runs."""
    began = time.thread_time()
    assert shown_text(("[REDACTED]  " * 18 + end).rstrip()) == shown
    assert time.thread_time() - began < 10


@pytest.mark.parametrize(
    ("extra", "kept"),
    [
        ({"google": {"thought_signature": "s"}}, {"google": {"thought_signature": "s"}}),
        ({"vertex": {"thought_signature": "s", "thought": True}}, {"vertex": {"thought_signature": "s"}}),
        ({"google": {"thought": True}}, None),
        ({"google": {"thought_signature": ""}}, None),
        ({"google": "s"}, None),
        ("s", None),
        (None, None),
    ],
)
def test_of_what_a_message_bears_its_signature_is_kept(extra: JsonValue, kept: JsonValue) -> None:
    """dialects 2.11; with thoughts shown, the same member says of each delta that it is one."""
    assert signature_on(extra) == ({"extra_content": kept} if kept else {})


def test_a_signature_on_a_call_and_one_on_the_message_are_two() -> None:
    on_message, on_call = ({"extra_content": {"google": {"thought_signature": each}}} for each in "mc")
    called: JsonObject = {"tool_calls": [{"index": 0, "id": "c1", "function": {"name": "f", "arguments": "{}"}, **on_call}]}
    told = Told(stream({"content": "x"}, on_message, called))
    assert told.stream.payloads == {1: {"message": on_message, "tool_calls": {"c1": on_call}}}
