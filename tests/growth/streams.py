"""All that a backend can repeat in a stream, by name: n of it, as the events of a whole answer in each dialect."""

from collections.abc import Callable
from typing import Any

import msgspec

Events = list[bytes]
Repeats = dict[str, Callable[[int], Events]]


def sse(value: dict[str, Any]) -> bytes:
    return b"event: %b\ndata: %b\n\n" % (value["type"].encode(), msgspec.json.encode(value))


# The Messages API.

START = sse({"type": "message_start", "message": {"id": "m", "role": "assistant", "model": "x", "content": [], "usage": {}}})
END = [
    sse({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 1}}),
    sse({"type": "message_stop"}),
]
PING = sse({"type": "ping"})
BLOCKS: dict[str, dict[str, Any]] = {
    "text": {"type": "text", "text": ""},
    "thinking": {"type": "thinking", "thinking": "", "signature": ""},
    "redacted_thinking": {"type": "redacted_thinking", "data": "abc"},
    "tool_use": {"type": "tool_use", "id": "toolu_1", "name": "Read", "input": {}},
    "server_tool_use": {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}},
    "web_search_tool_result": {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []},
    "a block of a new type": {"type": "hologram", "depth": 3},
}
DELTAS: dict[str, tuple[str, dict[str, Any]]] = {
    "text deltas": ("text", {"type": "text_delta", "text": "word "}),
    "citations": ("text", {"type": "citations_delta", "citation": {"cited_text": "a line", "type": "char_location"}}),
    "thinking deltas": ("thinking", {"type": "thinking_delta", "thinking": "word "}),
    "signatures": ("thinking", {"type": "signature_delta", "signature": "c2lnbmVk"}),
    "input deltas": ("tool_use", {"type": "input_json_delta", "partial_json": " "}),
}


def start(index: int, block: dict[str, Any]) -> bytes:
    return sse({"type": "content_block_start", "index": index, "content_block": block})


def delta(index: int, value: dict[str, Any]) -> bytes:
    return sse({"type": "content_block_delta", "index": index, "delta": value})


def stop(index: int) -> bytes:
    return sse({"type": "content_block_stop", "index": index})


def block(index: int, kind: str = "text", *deltas: dict[str, Any]) -> Events:
    return [start(index, BLOCKS[kind]), *(delta(index, each) for each in deltas), stop(index)]


def _before(*events: bytes) -> Callable[[int], Events]:
    """Ahead of the first content."""
    return lambda n: [START, *(events * n), *block(0), *END]


def _inside(*events: bytes) -> Callable[[int], Events]:
    return lambda n: [START, start(0, BLOCKS["text"]), *(events * n), stop(0), *END]


def _after(*events: bytes) -> Callable[[int], Events]:
    """Behind the stop reason."""
    return lambda n: [START, *block(0), END[0], *(events * n), END[1]]


def _blocks(*kinds: str) -> Callable[[int], Events]:
    return lambda n: [START, *(each for i in range(n) for each in block(i, kinds[i % len(kinds)])), *END]


def _deltas(kind: str, value: dict[str, Any]) -> Callable[[int], Events]:
    return lambda n: [START, *block(0, kind, *[value] * n), *END]


def _thoughts_and_texts(n: int) -> Events:
    thought, text = DELTAS["thinking deltas"][1], DELTAS["text deltas"][1]
    pairs = [block(i, *(("thinking", thought) if i % 2 == 0 else ("text", text))) for i in range(n)]
    return [START, *(each for pair in pairs for each in pair), *END]


_FILLERS = {
    "empty events": b"\n",
    "empty events with CR": b"\r",
    "comments": b": a comment\n\n",
    "pings": PING,
    "events of a new type": sse({"type": "news", "text": "hello"}),
    "events without data": b"event: nothing\n\n",
    "events that are no JSON": b"data: hello\n\n",
}

MESSAGES: Repeats = {
    **{f"{name} before the first content": _before(event) for name, event in _FILLERS.items()},
    **{f"{name} inside a block": _inside(event) for name, event in _FILLERS.items()},
    **{f"{name} behind the stop reason": _after(event) for name, event in _FILLERS.items()},
    **{f"blocks: {kind}": _blocks(kind) for kind in BLOCKS},
    "blocks of all types in turn": _blocks(*BLOCKS),
    **{name: _deltas(kind, value) for name, (kind, value) in DELTAS.items()},
    "thoughts and texts in turn": _thoughts_and_texts,
    "thoughts and signatures in turn": lambda n: [
        START,
        *block(0, "thinking", *[DELTAS["thinking deltas"][1], DELTAS["signatures"][1]] * n),
        *END,
    ],
    "deltas for blocks that are not open": lambda n: [
        START,
        start(0, BLOCKS["text"]),
        *(delta(i, DELTAS["text deltas"][1]) for i in range(n)),
        stop(0),
        *END,
    ],
    "message_delta": _after(END[0]),
    "long lines": lambda n: [START, *block(0, "text", {"type": "text_delta", "text": '\\"\n' * 20 * n}), *END],
}


# Chat Completions.


def data(value: Any) -> bytes:
    return b"data: " + msgspec.json.encode(value) + b"\n\n"


def chunk(said: Any = None, finish: str | None = None) -> bytes:
    return data({"choices": [{"index": 0, "delta": said, "finish_reason": finish}]})


def call(index: int | None, call_id: str | None = None, name: str | None = None, arguments: str | None = None) -> bytes:
    function = {key: value for key, value in (("name", name), ("arguments", arguments)) if value is not None}
    entry = {key: value for key, value in (("index", index), ("id", call_id)) if value is not None}
    return chunk({"tool_calls": [{**entry, "function": function}]})


OFFERS = msgspec.json.encode({"tools": [{"name": "Read", "input_schema": {"type": "object"}}]})
"""A request that offers the tool that all of these call."""
CHAT_END = [chunk({}, finish="stop"), b"data: [DONE]\n\n"]
FIRST = chunk({"content": "Well"})


def _said(*deltas: dict[str, Any]) -> Callable[[int], Events]:
    return lambda n: [*(chunk(each) for _ in range(n) for each in deltas), *CHAT_END]


def _chat_before(event: bytes) -> Callable[[int], Events]:
    return lambda n: [*[event] * n, FIRST, *CHAT_END]


def _chat_inside(event: bytes) -> Callable[[int], Events]:
    return lambda n: [FIRST, *[event] * n, *CHAT_END]


def _chat_after(event: bytes) -> Callable[[int], Events]:
    return lambda n: [FIRST, CHAT_END[0], *[event] * n, CHAT_END[1]]


def _details(**more: Any) -> dict[str, Any]:
    return {"reasoning_details": [{"type": "reasoning.text", "text": "word ", "format": "x", **more}]}


def _calls(n: int) -> Events:
    return [*(call(i, f"call_{i}", "Read", "{}") for i in range(n)), *CHAT_END]


def _open_calls(n: int) -> Events:
    """All of them are begun, then each gets its arguments."""
    begun = [call(i, f"call_{i}", "Read", "") for i in range(n)]
    return [*begun, *(call(i, None, None, "{}") for i in range(n)), *CHAT_END]


def _calls_in_one_delta(n: int) -> Events:
    entries = [{"index": i, "id": f"call_{i}", "function": {"name": "Read", "arguments": "{}"}} for i in range(n)]
    return [chunk({"tool_calls": entries}), *CHAT_END]


_CHAT_FILLERS = {
    "empty events": b"\n",
    "empty events with CR": b"\r",
    "comments": b": OPENROUTER PROCESSING\n\n",
    "chunks without choices": data({"choices": []}),
    "empty deltas": chunk({}),
    "empty words": chunk({"content": ""}),
    "white space": chunk({"content": " "}),
    "usage": data({"choices": [], "usage": {"prompt_tokens": 1, "completion_tokens": 2}}),
}

CHAT: Repeats = {
    **{f"{name} before the first content": _chat_before(event) for name, event in _CHAT_FILLERS.items()},
    **{f"{name} inside the answer": _chat_inside(event) for name, event in _CHAT_FILLERS.items()},
    **{f"{name} behind the finish": _chat_after(event) for name, event in _CHAT_FILLERS.items()},
    "words": _said({"content": "word "}),
    "words of a thought": _said({"reasoning_content": "word "}),
    "thoughts and words in turn": _said({"reasoning_content": "hm "}, {"content": "word "}),
    "a thought under two names in one chunk": _said({"reasoning": "hm ", "reasoning_content": "hm "}),
    "a thought under two names in turn": _said({"reasoning": "hm "}, {"reasoning_content": "hm "}),
    "a thought under one name, then under another": lambda n: [
        *[chunk({"reasoning": "hm "})] * n,
        *[chunk({"reasoning_content": "hm "})] * n,
        *CHAT_END,
    ],
    "details": _said(_details(index=0)),
    "details with an index each": lambda n: [*(chunk(_details(index=i)) for i in range(n)), *CHAT_END],
    "details and words in turn": _said(_details(index=0), {"content": "word "}),
    "encrypted details": _said({"reasoning_details": [{"type": "reasoning.encrypted", "data": "abc"}]}),
    "thinking parts": _said({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "hm "}]}]}),
    "parts of thinking that are no text": _said(
        {"content": [{"type": "thinking", "thinking": [{"type": "reference", "ids": [1]}]}]}
    ),
    "parts": lambda n: [chunk({"content": [{"type": "text", "text": "word "}] * n}), *CHAT_END],
    "unknown parts": _said({"content": [{"type": "hologram"}]}),
    "refusals": _said({"refusal": "no "}),
    "half characters": _said({"content": "x"}, {"content": "\\"}),
    "calls": _calls,
    "calls that wait for their arguments": _open_calls,
    "calls in one delta": _calls_in_one_delta,
    "calls without an index": lambda n: [*(call(None, f"call_{i}", "Read", "{}") for i in range(n)), *CHAT_END],
    "calls with one id": lambda n: [*(call(i, "call_0", "Read", "{}") for i in range(n)), *CHAT_END],
    "calls at one index": lambda n: [*(call(0, f"call_{i}", "Read", "{}") for i in range(n)), *CHAT_END],
    "calls with arguments that end like an object": lambda n: [
        call(0, "call_0", "Read", '{"a":"'),
        *[call(0, None, None, "}")] * n,
        *CHAT_END,
    ],
    "calls with a name in each delta": lambda n: [*[call(0, "call_0", "Read", "}")] * n, *CHAT_END],
    "arguments": lambda n: [call(0, "call_0", "Read", ""), *[call(0, None, None, " ")] * n, *CHAT_END],
    "calls and words in turn": lambda n: [
        *(each for i in range(n) for each in (call(i, f"call_{i}", "Read", "{}"), chunk({"content": "word "}))),
        *CHAT_END,
    ],
    "opening tags": _said({"content": "<think>"}),
    "opening tags with space": _said({"content": "<think> "}),
    "closing tags": _said({"content": "</think>"}),
    "thoughts between tags": _said({"content": "<think>a</think>"}),
    "thoughts between tags, cut": _said({"content": "<thi"}, {"content": "nk>a</th"}, {"content": "ink>\n"}),
    "beginnings of tags": _said({"content": "<"}),
    "space in a thought": lambda n: [chunk({"content": "<think>a"}), *[chunk({"content": " "})] * n, *CHAT_END],
    "space behind a thought": lambda n: [
        chunk({"content": "<think>a</think>"}),
        *[chunk({"content": " "})] * n,
        FIRST,
        *CHAT_END,
    ],
    "line ends behind a thought": lambda n: [
        chunk({"content": "<think>a</think>"}),
        *[chunk({"content": "\n"})] * n,
        FIRST,
        *CHAT_END,
    ],
    "fences": _said({"content": "```"}),
    "many tags in one delta": lambda n: [chunk({"content": "<think>a</think>" * n}), *CHAT_END],
    "many fences in one delta": lambda n: [chunk({"content": "x<think>```" * n}), *CHAT_END],
}
