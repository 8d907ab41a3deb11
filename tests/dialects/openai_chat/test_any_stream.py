"""Whatever a backend sends, and wherever it is cut: legal events, and always the same."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.dialects.openai_chat import streams
from clew.dialects.openai_chat.options import ChatAnswerOptions
from clew.model.json import JsonObject, JsonValue, object_of, objects_of
from tests.counts import examples
from tests.dialects.openai_chat.chat import DONE, Told, call, chunk, data
from tests.manifest import proves
from tests.model.streams import joined

WORDS = st.sampled_from(
    ["a", "b ", "\n", "", "<think>", "</think>", "<thi", "nk>", "```", "😀", "\ud83d", "\ude00", "[REDACTED]"]
)
FIELDS = st.sampled_from(["reasoning", "reasoning_content", "thinking", "content", "refusal"])
DETAILS = st.lists(
    st.fixed_dictionaries(
        {"type": st.sampled_from(["reasoning.text", "reasoning.summary", "reasoning.encrypted", "reasoning.new"])},
        optional={"text": WORDS, "summary": WORDS, "data": WORDS, "signature": WORDS, "index": st.integers(0, 1)},
    ),
    max_size=2,
)
PARTS = st.lists(
    st.one_of(
        WORDS.map(lambda word: {"type": "text", "text": word}),
        WORDS.map(lambda word: {"type": "thinking", "thinking": [{"type": "text", "text": word}]}),
    ),
    max_size=2,
)
CALLS = st.builds(
    call,
    st.sampled_from([None, 0, 1]),
    st.sampled_from([None, "", "a", "b.c"]),
    st.sampled_from([None, "", "f", "g<|channel|>x"]),
    st.one_of(st.sampled_from([None, "", "{", '"q":1', "}", "{}", '{"q":1}']), st.just({"q": 1})),
)
DELTAS: st.SearchStrategy[JsonObject] = st.one_of(
    st.dictionaries(FIELDS, st.one_of(WORDS, st.none()), max_size=3),
    DETAILS.map(lambda entries: {"reasoning_details": entries, "reasoning": "a"}),
    DETAILS.map(lambda entries: {"reasoning_details": entries}),
    PARTS.map(lambda parts: {"content": parts}),
    CALLS,
)
ANYTHING: st.SearchStrategy[JsonValue] = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.floats() | WORDS,
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(
            st.sampled_from(
                [
                    "choices",
                    "delta",
                    "content",
                    "tool_calls",
                    "function",
                    "arguments",
                    "usage",
                    "error",
                    "index",
                    "type",
                    "reasoning_details",
                ]
            ),
            inner,
            max_size=3,
        )
    ),
    max_leaves=8,
)
PIECES = st.one_of(
    DELTAS.map(chunk),
    DELTAS.map(chunk),
    DELTAS.map(chunk),
    st.sampled_from([None, {}]).map(chunk),
    st.sampled_from(["stop", "length", "tool_calls", "error"]).map(lambda finish: chunk({}, finish=finish)),
    st.just(data({"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 1}})),
    ANYTHING.map(data),
    st.sampled_from(
        [DONE, b": comment\n\n", b"data: {\n\n", data({"error": {"message": "m"}}), b"event: x\r\ndata:{}\r\n\r\n"]
    ),
)
QUIRKS = st.builds(
    ChatAnswerOptions,
    tags=st.sampled_from(["leading", "anywhere", "never"]),
    implicit_open=st.booleans(),
    snapshots=st.booleans(),
    empty_counts=st.booleans(),
    cut_is_end=st.booleans(),
)


@proves("req:S3-16", "req:S3-17", "req:S3-20", "req:S3-39")
@settings(max_examples=examples(36, soak=3000), deadline=None)
@given(st.lists(PIECES, max_size=10), QUIRKS, st.booleans(), st.lists(st.integers(0, 2000), max_size=8))
def test_any_stream_is_told_legally_and_the_same_at_any_cut(
    pieces: list[bytes], speech: ChatAnswerOptions, eager: bool, cuts: list[int]
) -> None:
    """S3-16, S3-17, S3-20, S3-39: `Told` holds each event to the strict grammar; the end comes, and once."""
    stream = b"".join(pieces)
    places = [0, *sorted(cuts), len(stream)]
    told = Told(stream, speech=speech, eager=eager)
    cut = Told(*(stream[start:end] for start, end in pairwise(places)), speech=speech, eager=eager, burst=True)
    whole = Told(stream, speech=speech, eager=eager, burst=True)

    for again in (cut, whole):
        assert joined(again.events) == joined(told.events)
        assert (again.stream.payloads, again.stream.late) == (told.stream.payloads, told.stream.late)
    assert told.events[-1].type in ("message_stop", "error")


RUNS = st.tuples(
    st.sampled_from([*[{name: ""} for name in ("reasoning", "reasoning_content", "content")], call(0, None, None, "")]),
    st.lists(WORDS | st.sampled_from(["{", '"q": 1', "}", "{}", '{"q":1}', "\x7f"]), min_size=1, max_size=5),
)
"""Deltas that differ in their text alone."""


@settings(max_examples=examples(60, soak=5000), deadline=None)
@given(st.lists(RUNS | st.just((call(0, "a", "f", "{"), ["{"])), max_size=6), QUIRKS)
def test_chunks_that_are_spelled_alike_say_what_each_says_by_itself(
    runs: list[tuple[JsonObject, list[str]]], speech: ChatAnswerOptions
) -> None:
    deltas = [_with_text(delta, text) for delta, texts in runs for text in texts]
    stream = b"".join([*map(chunk, deltas), chunk({}, finish="stop"), DONE])
    told = Told(stream, speech=speech, burst=True)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(streams, "_MOST_MISSES", 0)
        one_by_one = Told(stream, speech=speech, burst=True)
    assert told.events == one_by_one.events
    assert (told.stream.payloads, told.stream.late) == (one_by_one.stream.payloads, one_by_one.stream.late)


def _with_text(delta: JsonObject, text: str) -> JsonObject:
    if "tool_calls" not in delta:
        return dict.fromkeys(delta, text)
    [entry] = objects_of(delta["tool_calls"])
    return {"tool_calls": [{**entry, "function": {**object_of(entry["function"]), "arguments": text}}]}


@settings(max_examples=examples(24, soak=2000), deadline=None)
@given(st.lists(st.tuples(st.sampled_from(["reasoning", "content"]), st.sampled_from(["R", "r "])), max_size=12))
def test_reasoning_is_never_text_and_text_is_never_reasoning(said: list[tuple[str, str]]) -> None:
    """§3, invariant (iv): each word arrives where it belongs, and none is lost."""
    deltas = [{field: word if field == "reasoning" else word.lower() + "x"} for field, word in said]
    told = Told(*map(chunk, deltas), chunk({}, finish="stop"), DONE)

    thought = "".join(str(block[1]) for block in told.blocks if block[0] == "thinking")
    text = "".join(str(block[1]) for block in told.blocks if block[0] == "text")
    assert thought == "".join(word for field, word in said if field == "reasoning")
    assert text == "".join(word.lower() + "x" for field, word in said if field == "content")
