"""The requests and answers of the bench as files, the same in every run.

`stream.sse` has 300 events (thinking, a signature, text), `short.sse` ten, `answer.json` is not streamed. A run of ten
zeros is where the mock puts the number of the answer. The requests: `json`, `stream`, `short`, `paced` are one question
each; `big` is an agent's history of a megabyte.
"""

from __future__ import annotations

import base64
import json
import random
from pathlib import Path
from typing import Any

__all__ = ["EVENTS", "MODEL", "SHORT", "said", "write"]

EVENTS = 300
SHORT = 10
MODEL = "claude-opus-5-5"
STAMP = "0000000000"

_OTHERS = 8  # events of an answer that are no text and no thought
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
    (folder / "answer.json").write_text(_json(_message([{"type": "text", "text": "hello there"}], "end_turn")), "utf-8")
    for name in ("json", "stream", "short", "paced"):
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


def said(count: int) -> tuple[list[str], list[str]]:
    """What the deltas of such an answer say: its thinking and its text."""
    chance = random.Random(7)
    words = [" ".join(chance.choice(_WORDS) for _ in range(3)) + " " for _ in range(count - _OTHERS)]
    return words[: len(words) // 2], words[len(words) // 2 :]


def _question(words: str, *, stream: bool) -> dict[str, Any]:
    return {"model": MODEL, "max_tokens": 1024, "messages": [{"role": "user", "content": words}], "stream": stream}


def _message(content: list[dict[str, Any]], stop: str | None) -> dict[str, Any]:
    usage = {"input_tokens": 2095, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 51200, "output_tokens": 1}
    named = {"id": f"msg_{STAMP}", "type": "message", "role": "assistant", "model": MODEL, "content": content}
    return {**named, "stop_reason": stop, "stop_sequence": None, "usage": usage}


def _delta(index: int, kind: str, **fields: str) -> str:
    return _event("content_block_delta", index=index, delta={"type": kind, **fields})


def _event(name: str, **fields: Any) -> str:
    return f"event: {name}\ndata: {_json({'type': name, **fields})}\n\n"


def _json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
