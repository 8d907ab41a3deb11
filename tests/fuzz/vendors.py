"""Chat Completions streams as vendors send them, by chance: an envelope, a manner of writing, and what is said in runs.

An envelope is what a vendor puts around a delta; a manner is how it writes JSON and SSE. Both stay the same in one stream,
as they do in life, so that runs of events which differ by one word are common here too. What is said is a list of
segments: one shape of delta, and the words that fill it one after the other.
"""

import json
from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple

from hypothesis import strategies as st

from clew.dialects.openai_chat.options import ChatAnswerOptions
from clew.model.json import JsonObject, JsonValue

Shape = Callable[[str], JsonObject]
"""A delta with this word in it."""

WORDS = (
    "a",
    " the",
    "so ",
    "\n",
    "\n\n",
    " ",
    "",
    "é",
    "世界",
    "\u00a0",
    "\u3000",
    "—",
    "😀",
    "\ud83d",
    "\ude00",
    'say "x"',
    "back\\slash",
    "tab\t",
    "\u2028",
    "\x7f",
    "[REDACTED]",
    " [REDACTED] ",
    "[REDACTED",
    "]",
    "list[0]",
    "<think>",
    "</think>",
    "<",
    "thi",
    "nk>",
    "◁think▷",
    "◁",
    "/think▷",
    "[THINK]",
    "[/THINK]",
    "<|tool_calls_section_begin|>",
    "`",
    "```",
    "{",
    "}",
    "{}",
    '{"q":',
    '"x"}',
    '{"q":1}',
    "a\r\nb",
    "data: [DONE]",
    "a longer piece of an answer, as some servers send it",
)


PLAIN_WORDS = ("a", " the", "é", "世界", 'say "x"', "list[0", "a longer piece of an answer, as some servers send it")


class Manner(NamedTuple):
    """How a server writes."""

    ascii: bool = False
    spaced: bool = False
    html: bool = False
    """`<` as an escape, as Go writes it."""
    field: str = "data: "
    end: str = "\n\n"

    def event(self, value: JsonValue) -> bytes:
        separators = (", ", ": ") if self.spaced else (",", ":")
        text = json.dumps(value, ensure_ascii=self.ascii, separators=separators)
        text = text.replace("<", "\\u003c") if self.html else text
        whole = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace") if not self.ascii else text
        return (self.field + whole + self.end).encode()


MANNERS = st.builds(
    Manner,
    ascii=st.booleans(),
    spaced=st.booleans(),
    html=st.booleans(),
    field=st.sampled_from(["data: ", "data: ", "data:", "data:  ", "event: message\ndata: "]),
    end=st.sampled_from(["\n\n", "\n\n", "\r\n\r\n", " \n\n", "\n\n: keep-alive\n\n"]),
)

Envelope = Callable[[JsonObject, int], JsonObject]
"""A chunk with this delta, the how many-th of its stream."""


def _chunk(delta: JsonObject, number: int, choice: JsonObject | None = None, **more: JsonValue) -> JsonObject:
    choices: list[JsonValue] = [{"index": 0, "delta": delta, "finish_reason": None, **(choice or {})}]
    return {"id": "chatcmpl-7", "object": "chat.completion.chunk", "created": 17, "model": "m", "choices": choices, **more}


ENVELOPES: dict[str, Envelope] = {
    "plain": _chunk,
    "bare": lambda delta, _: {"choices": [{"delta": delta}]},
    "vllm": lambda delta, number: _chunk(delta, number, {"logprobs": None, "stop_reason": None, "token_ids": None}),
    "deepseek": lambda delta, number: _chunk(delta, number, {"logprobs": None}, system_fingerprint="fp_1", usage=None),
    "openai": lambda delta, number: _chunk(delta, number, service_tier="default", obfuscation="x" * (number % 5)),
    "azure": lambda delta, number: _chunk(delta, number, {"content_filter_results": {"hate": {"filtered": False}}}),
    "new id each": lambda delta, number: _chunk(delta, number, id=f"gen-{number}"),
    "a clock": lambda delta, number: _chunk(delta, number, created=17 + number // 3),
    "usage in each": lambda delta, number: _chunk(delta, number, usage={"prompt_tokens": 3, "completion_tokens": number}),
    "same usage in each": lambda delta, number: _chunk(delta, number, usage={"prompt_tokens": 3}),
    "groq": lambda delta, number: _chunk(delta, number, x_groq={"id": "req_1"}),
    "minimax": lambda delta, number: _chunk(delta, number, base_resp={"status_code": 0, "status_msg": ""}),
    "other choice": lambda delta, number: _chunk(delta, number, {"index": 1}),
    "content twice": lambda delta, number: {**_chunk(delta, number), "content": "no"},
    "two choices": lambda delta, _: {"choices": [{"index": 0, "delta": delta}, {"index": 1, "delta": {"content": "no"}}]},
}


def _call(entry: JsonObject, **function: JsonValue) -> JsonObject:
    return {"tool_calls": [{**entry, "function": function}]}


SHAPES: dict[str, Shape] = {
    "content": lambda word: {"content": word},
    "content, role": lambda word: {"role": "assistant", "content": word},
    "content, null reasoning": lambda word: {"content": word, "reasoning_content": None, "tool_calls": None},
    "content, empty reasoning": lambda word: {"reasoning_content": "", "content": word},
    "content, refusal": lambda word: {"content": word, "refusal": None},
    "reasoning": lambda word: {"reasoning": word},
    "reasoning_content": lambda word: {"content": None, "reasoning_content": word},
    "reasoning_content, empty content": lambda word: {"content": "", "reasoning_content": word},
    "reasoning and content": lambda word: {"reasoning": word, "content": "c"},
    "thinking": lambda word: {"thinking": word, "signature": ""},
    "both names": lambda word: {"reasoning": word, "reasoning_content": word},
    "details": lambda word: {"reasoning": word, "reasoning_details": [_text(word)]},
    "details alone": lambda word: {"reasoning_details": [_text(word)]},
    "details, constant": lambda word: {"reasoning": word, "reasoning_details": [{"type": "reasoning.new", "x": 1}]},
    "summary": lambda word: {"reasoning_details": [{"type": "reasoning.summary", "summary": word, "index": 0}]},
    "encrypted": lambda word: {"reasoning_details": [{"type": "reasoning.encrypted", "data": word}]},
    "parts": lambda word: {"content": [{"type": "text", "text": word}]},
    "thinking parts": lambda word: {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": word}]}]},
    "refusal": lambda word: {"refusal": word},
    "call begins": lambda word: _call({"index": 0, "id": "call_1", "type": "function"}, name="f", arguments=word),
    "call begins elsewhere": lambda word: _call({"index": 1, "id": "call_2", "type": "function"}, name="g", arguments=word),
    "call goes on": lambda word: _call({"index": 0}, arguments=word),
    "call goes on, with its id": lambda word: _call({"index": 0, "id": "call_1"}, arguments=word),
    "call goes on, with another id": lambda word: _call({"index": 0, "id": "call_9"}, arguments=word),
    "call goes on, nameless": lambda word: _call({"index": 0, "id": "", "type": None}, name=None, arguments=word),
    "call goes on, with its name": lambda word: _call({"index": 0}, name="f", arguments=word),
    "call goes on, no index": lambda word: _call({}, arguments=word),
    "call goes on, elsewhere": lambda word: _call({"index": 1}, arguments=word),
    "call with extra": lambda word: _call({"index": 0, "extra_content": {"s": 1}}, arguments=word),
    "two calls": lambda word: {"tool_calls": [*_entries(0, word), *_entries(1, word)]},
    "legacy call": lambda word: {"function_call": {"name": "f", "arguments": word}},
}


def _text(word: str) -> JsonObject:
    return {"type": "reasoning.text", "text": word, "index": 0, "format": "unknown"}


def _entries(index: int, word: str) -> list[JsonValue]:
    return [{"index": index, "function": {"arguments": word}}]


THOUGHTS = frozenset(
    (
        "reasoning",
        "reasoning_content",
        "reasoning_content, empty content",
        "reasoning and content",
        "thinking",
        "both names",
        "details",
        "details alone",
        "details, constant",
        "summary",
        "encrypted",
        "thinking parts",
    )
)
USUAL_SHAPES = ("content", "reasoning", "reasoning_content", "call begins", "call goes on")


class Segment(NamedTuple):
    """Deltas of one shape."""

    shape: str
    words: list[str]

    @property
    def thinks(self) -> bool:
        """Whether its words are the model's thoughts."""
        return self.shape in THOUGHTS

    def marked(self, mark: str) -> "Segment":
        return Segment(self.shape, [mark + word for word in self.words])

    @property
    def deltas(self) -> list[JsonObject]:
        return [SHAPES[self.shape](word) for word in self.words]


WORD = st.one_of(st.sampled_from(WORDS), st.text(max_size=6))
RUN = st.one_of(st.lists(WORD, max_size=8), st.lists(st.sampled_from(PLAIN_WORDS), min_size=2, max_size=8))
SHAPE = st.one_of(st.sampled_from(sorted(SHAPES)), st.sampled_from(USUAL_SHAPES))
SEGMENTS = st.lists(st.builds(Segment, SHAPE, RUN), max_size=8)
ENDS = st.sampled_from(["stop", "tool_calls", "length", "", "error"])
SPEECH = st.builds(
    ChatAnswerOptions,
    tags=st.sampled_from(["leading", "anywhere", "never"]),
    implicit_open=st.booleans(),
    snapshots=st.booleans(),
    empty_counts=st.booleans(),
    reasoning_apart=st.booleans(),
    cut_is_end=st.booleans(),
)


def written(segments: list[Segment], envelope: str, manner: Manner, finish: str) -> list[bytes]:
    """The events of a stream."""
    deltas = [delta for segment in segments for delta in segment.deltas]
    events = [manner.event(ENVELOPES[envelope](delta, number)) for number, delta in enumerate(deltas)]
    usage: JsonObject = {"prompt_tokens": 9, "completion_tokens": 4}
    if finish:
        events.append(manner.event({"choices": [{"index": 0, "delta": {}, "finish_reason": finish}], "usage": usage}))
        events.append(b"data: [DONE]\n\n")
    return events


ENVELOPE = st.one_of(st.sampled_from(sorted(ENVELOPES)), st.just("plain"))
STREAMS = st.builds(written, SEGMENTS, ENVELOPE, MANNERS, ENDS)


def pieces(stream: bytes, cuts: list[int]) -> list[bytes]:
    """The stream cut in these places."""
    places = [0, *sorted(min(cut, len(stream)) for cut in cuts), len(stream)]
    return [stream[start:end] for start, end in pairwise(places)]


CUTS = st.lists(st.integers(0, 4000), max_size=8)
