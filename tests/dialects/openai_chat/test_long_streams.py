"""Answers of very many deltas, in the forms that have to be read: each delta costs the same, however much came before."""

import time
from collections.abc import Callable

import pytest

from clew.dialects.openai_chat.options import ChatAnswerOptions
from clew.model.json import JsonObject
from tests.dialects.openai_chat.chat import Told, call, stream

COUNT = 16_000
WORD = "a word of a usual size, and some more of them behind it, " * 4


def _detail(at: int) -> JsonObject:
    return {"reasoning_details": [{"type": "reasoning.text", "text": WORD, "index": 0, "format": "unknown"}]}


def _chunk(at: int) -> JsonObject:
    return {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": WORD}]}]}


def _named_again(at: int) -> JsonObject:
    return call(0, "a", "f", WORD if at else '{"a": "')


def _other_id(at: int) -> JsonObject:
    return call(0, f"call_{at}", None if at else "f", WORD if at else '{"a": "')


def _space(at: int) -> JsonObject:
    return {"content": " " * len(WORD)}


@pytest.mark.slow
@pytest.mark.parametrize("delta", [_detail, _chunk, _named_again, _other_id, _space])
def test_a_delta_costs_the_same_however_much_came_before(delta: Callable[[int], JsonObject]) -> None:
    """A model that repeats itself to its limit must not stop everybody else's streams."""
    raw = stream(*map(delta, range(COUNT)))
    began = time.thread_time()

    told = Told(raw, speech=ChatAnswerOptions(tags="never"))

    assert told.stop
    assert time.thread_time() - began < 20


@pytest.mark.slow
def test_a_long_thought_goes_back_as_it_came() -> None:
    """Joined in place, it is still what came."""
    (payload,) = Told(stream(*map(_detail, range(COUNT)))).stream.payloads.values()

    assert payload["reasoning_details"] == [
        {"type": "reasoning.text", "text": WORD * COUNT, "index": 0, "format": "unknown"}
    ]
