"""The requests and answers of the bench as files, the same in every run.

`stream.sse` has 300 events (thinking, a signature, text), `short.sse` ten, `chat.sse` as many as the first, in the words of
Chat Completions; `answer.json` is not streamed. A run of ten zeros is where the mock puts the number of the answer. The
requests: `json`, `stream`, `short`, `paced`, `translated` and `translated-paced` are one question each; `big` is an agent's
history of a megabyte.
"""

from __future__ import annotations

import base64
import json
import random
from pathlib import Path
from typing import Any

__all__ = ["EVENTS", "MODEL", "SHORT", "chunks", "said", "write"]

EVENTS = 300
SHORT = 10
MODEL = "claude-opus-5-5"
CHAT_MODEL = "anthropic/chat"
"""Names the backend that speaks Chat Completions."""
STAMP = "0000000000"

_OTHERS = 8  # events of an answer that are no text and no thought
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


def write(folder: Path, big: bytes) -> None:
    """All files. `big` is the body of the large request: whoever fills a store for it must know it too."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "stream.sse").write_text("".join(events(EVENTS)), "utf-8")
    (folder / "short.sse").write_text("".join(events(SHORT)), "utf-8")
    (folder / "chat.sse").write_text("".join(chunks(EVENTS)), "utf-8")
    (folder / "answer.json").write_text(_json(_message([{"type": "text", "text": "hello there"}], "end_turn")), "utf-8")
    for name in ("json", "stream", "short", "paced", "translated", "translated-paced"):
        (folder / f"{name}.json").write_text(_json(_question(name, stream=name != "json")), "utf-8")
    (folder / "big.json").write_bytes(big)


def events(count: int) -> list[str]:
    """An answer of so many events: half of them thinking, half text."""
    thoughts, texts = said(count)
    opening = [
        _event("message_start", message=_message([], None)),
        _event("content_block_start", index=0, content_block={"type": "thinking", "thinking": "", "signature": ""}),
    ]
    between = [
        _delta(0, "signature_delta", signature=_SIGNATURE),
        _event("content_block_stop", index=0),
        _event("content_block_start", index=1, content_block={"type": "text", "text": ""}),
    ]
    ending = [
        _event("content_block_stop", index=1),
        _event("message_delta", delta={"stop_reason": "end_turn", "stop_sequence": None}, usage={"output_tokens": 800}),
        _event("message_stop"),
    ]
    thinking = [_delta(0, "thinking_delta", thinking=words) for words in thoughts]
    return [*opening, *thinking, *between, *(_delta(1, "text_delta", text=words) for words in texts), *ending]


def chunks(count: int) -> list[str]:
    """The same answer in so many events of Chat Completions, as DeepSeek writes them."""
    thoughts, texts = said(count - len(_CHAT_OTHERS) + _OTHERS)
    thinking = [_chunk({"content": None, "reasoning_content": words}) for words in thoughts]
    text = [_chunk({"content": words, "reasoning_content": None}) for words in texts]
    opening, *ending = (_chunk(*each) if each else "data: [DONE]\n\n" for each in _CHAT_OTHERS)
    return [opening, *thinking, *text, *ending]


def said(count: int) -> tuple[list[str], list[str]]:
    """What the deltas of such an answer say: its thinking and its text."""
    chance = random.Random(7)
    words = [" ".join(chance.choice(_WORDS) for _ in range(3)) + " " for _ in range(count - _OTHERS)]
    return words[: len(words) // 2], words[len(words) // 2 :]


def _question(words: str, *, stream: bool) -> dict[str, Any]:
    return {
        "model": CHAT_MODEL if "translated" in words else MODEL,
        "max_tokens": 1024,
        "messages": [{"role": "user", "content": words}],
        "stream": stream,
    }


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
