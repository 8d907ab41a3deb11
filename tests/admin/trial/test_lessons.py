"""What the bytes of two answers teach about a backend."""

import json
from typing import Any

import pytest

from clew.admin.trial.gateway import TrialAnswer
from clew.admin.trial.lessons import BackendLessons, TrialUsage, learn, model_in, reasoning_in, reasoning_sent
from clew.pipeline.stream.answer import AnswerSoFar


def stream(*deltas: dict[str, Any]) -> bytes:
    chunks = [{"model": "m", "choices": [{"index": 0, "delta": delta}]} for delta in deltas]
    return b"".join(b"data: " + json.dumps(chunk).encode() + b"\n\n" for chunk in chunks) + b"data: [DONE]\n\n"


@pytest.mark.parametrize(
    ("delta", "names"),
    [
        ({"reasoning_content": "a", "content": None}, ["reasoning_content"]),
        ({"reasoning": "a", "reasoning_details": [{"text": "a"}]}, ["reasoning", "reasoning_details"]),
        ({"reasoning_content": "", "content": "x"}, []),
        ({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "a"}]}]}, ["content chunks"]),
        ({"content": "<think>a</think>b"}, ["tags"]),
        ({"content": "a <think> in the answer"}, []),
        ({"tool_calls": [{"id": "c", "extra_content": {"google": {}}}]}, ["tool_calls.extra_content"]),
        ({}, []),
    ],
)
def test_reasoning_is_found_under_the_names_of_the_wire(delta: dict[str, Any], names: list[str]) -> None:
    """In a stream and in a whole answer alike."""
    whole = json.dumps({"choices": [{"message": delta}]}).encode()
    assert list(reasoning_in(stream(delta))) == list(reasoning_in(whole)) == names


def test_a_tag_counts_also_where_it_comes_in_pieces() -> None:
    assert list(reasoning_in(stream({"content": "<th"}, {"content": "ink>a"}))) == ["tags"]


def test_thinking_blocks_of_the_other_dialect_are_named_by_their_type() -> None:
    start = {"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": ""}}
    raw = b"event: content_block_start\ndata: " + json.dumps(start).encode() + b"\n\n"
    assert list(reasoning_in(raw)) == ["thinking blocks"]
    assert list(reasoning_in(json.dumps({"content": [{"type": "redacted_thinking"}]}).encode())) == [
        "redacted_thinking blocks"
    ]


def test_what_goes_back_counts_even_if_it_is_empty() -> None:
    """Some backends want the key with nothing in it."""
    body = {"messages": [{"role": "user", "content": "<think>"}, {"role": "assistant", "reasoning_content": ""}]}
    assert list(reasoning_sent(json.dumps(body).encode())) == ["reasoning_content"]


@pytest.mark.parametrize("raw", [b"", b"\xff", b"data: {\n\n", b"[1]", b'{"choices": [1, {"delta": 2}]}', b"data: 3\n\n"])
def test_bytes_that_say_nothing_teach_nothing(raw: bytes) -> None:
    assert (list(reasoning_in(raw)), list(reasoning_sent(raw)), model_in(raw)) == ([], [], "")


def heard(came: bytes, **more: Any) -> TrialAnswer:
    usage = {"input_tokens": 5, "output_tokens": 3, "output_tokens_details": {"thinking_tokens": 2}}
    answer = AnswerSoFar(blocks=({"type": "tool_use", "id": "x"},), message={"usage": usage})
    return TrialAnswer(**{"status": 200, "answer": answer, "came": came} | more)


CALL = {"tool_calls": [{"index": 0, "id": "call_0", "function": {"name": "look_up"}}]}


def test_a_round_trip_is_summed_up() -> None:
    first = heard(stream({"reasoning_content": "a"}, CALL, {"tool_calls": [{"index": 0, "id": ""}]}))
    sent = json.dumps({"messages": [{"role": "assistant", "reasoning_content": "a"}]}).encode()
    assert learn(first, heard(stream(CALL), sent=sent)) == BackendLessons(
        reasoning=("reasoning_content",),
        called=True,
        passed_back="accepted",
        back_in=("reasoning_content",),
        tool_ids="repeated",
        usage=TrialUsage(input=10, output=6, reasoning=4),
    )


@pytest.mark.parametrize(
    ("second", "verdict"),
    [
        ({"sent": b'{"messages":[{"role":"assistant","reasoning":"a"}]}'}, "accepted"),
        ({"sent": b'{"messages":[{"role":"assistant","reasoning":"a"}]}', "status": 400}, "refused"),
        ({"sent": b"{}", "repairs": 1}, "repaired"),
        ({"sent": b"{}"}, "not passed back"),
    ],
)
def test_what_became_of_the_reasoning_is_said_in_a_word(second: dict[str, Any], verdict: str) -> None:
    assert learn(heard(stream({"reasoning": "a"})), heard(b"", **second)).passed_back == verdict
    assert learn(heard(stream({"content": "a"})), heard(b"", **second)).passed_back == "no reasoning to pass back"


def test_a_call_without_an_id_is_told_from_no_call() -> None:
    """Qwen and llama.cpp leave it empty, and clew gives one of its own."""
    start = {"type": "content_block_start", "index": 1, "content_block": {"type": "tool_use", "id": "", "name": "look_up"}}
    raw = b"event: content_block_start\ndata: " + json.dumps(start).encode() + b"\n\n"
    without = heard(b"", answer=AnswerSoFar(blocks=({"type": "text", "text": "No."},), message={}))
    assert (learn(heard(raw), heard(b"")).tool_ids, learn(without, without).tool_ids) == ("empty", "not seen")
