"""The answers and requests of the bench as files, the same in every run.

Answers: `stream` has 300 events (thinking, a signature, text), `short` ten, `tools` as many in which a tool is called,
`agent` a thought, some words and a call; `chat` and `chat-tools` say the same in Chat Completions, `responses` in Responses;
`json` is not streamed; `count` is how many tokens there are. A run of ten zeros is where the mock puts the number of the
answer, and the load that of the request.
"""

from __future__ import annotations

import base64
import json
import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from cases import Case
from history import Talk
from responses_traffic import response_events

__all__ = [
    "EVENTS",
    "MODEL",
    "SHORT",
    "STAMP",
    "agent_events",
    "body_of",
    "chunks",
    "events",
    "said",
    "tool_chunks",
    "tool_events",
    "write_answers",
]

EVENTS = 300
SHORT = 10
MODEL = "claude-opus-5-5"
STAMP = "0000000000"

_RESPONSES_OTHERS = 13
_OTHERS = 8  # events of an answer that are no text and no thought
_SAID = 20  # events of an agent's words before its call
_CHAT_OTHERS: tuple[tuple[Any, ...], ...] = (
    ({"role": "assistant", "content": None, "reasoning_content": ""},),
    ({"content": "", "reasoning_content": None}, "stop"),
    (),
)
_SIGNATURE = "Eq" + STAMP + base64.b64encode(random.Random(8).randbytes(472)).decode()
_WORDS = [
    "the",
    "of",
    "code",
    "return",
    "value",
    "stream",
    "because",
    'a "quoted"',
    "new\nline",
    "naïve",
    "therefore",
    "ünï",
]
_SCHEMA = {"type": "object", "properties": {"content": {"type": "string"}}}
_TOOL = {"name": "Write", "description": "Writes a file.", "input_schema": _SCHEMA}
_CALL = {"type": "tool_use", "id": f"toolu_{STAMP}", "name": "Write", "input": {}}


def write_answers(folder: Path) -> dict[str, Path]:
    """All answers as files, by their names."""
    folder.mkdir(parents=True, exist_ok=True)
    streams = {
        "stream": events(EVENTS),
        "short": events(SHORT),
        "tools": tool_events(EVENTS),
        "agent": agent_events(EVENTS),
        "chat": chunks(EVENTS),
        "chat-tools": tool_chunks(EVENTS),
        "responses": response_events(*said(EVENTS - _RESPONSES_OTHERS + _OTHERS), STAMP),
    }
    files = {name: _written(folder / f"{name}.sse", "".join(told)) for name, told in streams.items()}
    answer = _message([{"type": "text", "text": "hello there"}], "end_turn")
    files["json"] = _written(folder / "json.json", _json(answer))
    files["count"] = _written(folder / "count.json", _json({"input_tokens": 2095}))
    return files


def body_of(case: Case, model: str, talk: Talk | None = None) -> bytes:
    """What is sent. `talk` is the history, where the case has one."""
    if talk is not None:
        return _history(case, model, talk.body)
    streamed = {} if case.answer == "json" else {"stream": True}
    tools = {"tools": [_TOOL]} if "tools" in case.answer else {}
    question = {"role": "user", "content": _mark(case)}
    if case.front == "responses":
        return _json({"model": model, "input": [question], "store": False, **streamed}).encode()
    asked = {"model": model, "messages": [question], **tools}
    return _json(asked if case.counts else {**asked, "max_tokens": 1024, **streamed}).encode()


def _history(case: Case, model: str, body: dict[str, Any]) -> bytes:
    """A history whose first words are new each time, or only its last."""
    first, *rest = body["messages"][:-1]
    opening = {**first, "content": [{"type": "text", "text": f"{STAMP if case.fresh else 'One'}: go on."}]}
    last = {"role": "user", "content": f"{_mark(case)} {STAMP}"}
    return _json({**body, "model": model, "messages": [opening, *rest, last]}).encode()


def _mark(case: Case) -> str:
    """By which the mock knows what to say, and how fast."""
    return f"answer:{case.answer} pace:{case.pace}"


def events(count: int) -> list[str]:
    """An answer of so many events: half of them thinking, half text."""
    _, texts = said(count)
    return [*_thought(count), *_text(1, texts), *_ending("end_turn")]


def agent_events(count: int) -> list[str]:
    """An answer of so many events: half of them thinking, then some words, and the call of a tool."""
    _, texts = said(count)
    pieces = _argument(len(texts) - _SAID - 2)
    return [*_thought(count), *_text(1, texts[:_SAID]), *_call(2, pieces), *_ending("tool_use")]


def _thought(count: int) -> list[str]:
    """The beginning of an answer of so many events: all that was thought."""
    thoughts, _ = said(count)
    deltas = [_delta(0, "thinking_delta", thinking=words) for words in thoughts]
    signed = _delta(0, "signature_delta", signature=_SIGNATURE)
    return [_start(), *_block(0, {"type": "thinking", "thinking": "", "signature": ""}, [*deltas, signed])]


def _text(index: int, texts: list[str]) -> list[str]:
    return _block(index, {"type": "text", "text": ""}, [_delta(index, "text_delta", text=words) for words in texts])


def _call(index: int, pieces: list[str]) -> list[str]:
    return _block(index, _CALL, [_delta(index, "input_json_delta", partial_json=piece) for piece in pieces])


def _block(index: int, block: dict[str, Any], deltas: list[str]) -> list[str]:
    start = _event("content_block_start", index=index, content_block=block)
    return [start, *deltas, _event("content_block_stop", index=index)]


def tool_events(count: int) -> list[str]:
    """An answer of so many events that calls a tool."""
    return [_start(), *_call(0, _argument(count - _OTHERS + 3)), *_ending("tool_use")]


def chunks(count: int) -> list[str]:
    """The same answer in so many events of Chat Completions, as DeepSeek writes them."""
    thoughts, texts = said(count - len(_CHAT_OTHERS) + _OTHERS)
    thinking = [_chunk({"content": None, "reasoning_content": words}) for words in thoughts]
    text = [_chunk({"content": words, "reasoning_content": None}) for words in texts]
    return _chatted([*thinking, *text], "stop")


def tool_chunks(count: int) -> list[str]:
    """A call in so many events of Chat Completions."""
    pieces = _argument(count - len(_CHAT_OTHERS) - 1)
    name = {"index": 0, "id": f"call_{STAMP}", "type": "function", "function": {"name": "Write", "arguments": ""}}
    more = [{"index": 0, "function": {"arguments": piece}} for piece in pieces]
    return _chatted([_chunk({"tool_calls": [call]}) for call in (name, *more)], "tool_calls")


def said(count: int) -> tuple[list[str], list[str]]:
    """What the deltas of such an answer say: its thinking and its text."""
    words = _pieces(count - _OTHERS)
    return words[: len(words) // 2], words[len(words) // 2 :]


def _pieces(count: int) -> list[str]:
    chance = random.Random(7)
    return [" ".join(chance.choice(_WORDS) for _ in range(3)) + " " for _ in range(count)]


def _argument(count: int) -> list[str]:
    """One argument in so many pieces."""
    return ['{"content":"', *(_json(words)[1:-1] for words in _pieces(count - 2)), '"}']


def _start() -> str:
    return _event("message_start", message=_message([], None))


def _ending(reason: str) -> list[str]:
    stop = {"stop_reason": reason, "stop_sequence": None}
    return [_event("message_delta", delta=stop, usage={"output_tokens": 800}), _event("message_stop")]


def _chatted(told: Iterable[str], finish: str) -> list[str]:
    role, (nothing, _), _ = _CHAT_OTHERS
    return [_chunk(*role), *told, _chunk(nothing, finish), "data: [DONE]\n\n"]


def _message(content: list[dict[str, Any]], stop: str | None) -> dict[str, Any]:
    usage = {"input_tokens": 2095, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 51200, "output_tokens": 1}
    named = {"id": f"msg_{STAMP}", "type": "message", "role": "assistant", "model": MODEL, "content": content}
    return {**named, "stop_reason": stop, "stop_sequence": None, "usage": usage}


def _delta(index: int, kind: str, **fields: str) -> str:
    return _event("content_block_delta", index=index, delta={"type": kind, **fields})


def _chunk(delta: dict[str, Any], finish: str | None = None) -> str:
    named = {
        "id": f"chatcmpl-{STAMP}",
        "object": "chat.completion.chunk",
        "created": 1790000000,
        "model": "deepseek-reasoner",
    }
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
    more = {"usage": {"prompt_tokens": 53295, "completion_tokens": 800, "total_tokens": 54095}} if finish else {}
    return f"data: {_json({**named, 'system_fingerprint': 'fp_1', 'choices': [choice], **more})}\n\n"


def _event(name: str, **fields: Any) -> str:
    return f"event: {name}\ndata: {_json({'type': name, **fields})}\n\n"


def _json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def _written(file: Path, text: str) -> Path:
    file.write_text(text, "utf-8")
    return file
