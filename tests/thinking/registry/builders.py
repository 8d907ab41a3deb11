"""Blocks, answers, requests and events for the registry's tests."""

import json
from typing import Any

from clew.thinking.registry.blocks import Registration, documented_key
from clew.thinking.registry.table import ThinkingRegistry

Block = dict[str, Any]


def thinking(text: str, signature: str = "sig") -> Block:
    return {"type": "thinking", "thinking": text, "signature": signature}


def redacted(data: str) -> Block:
    return {"type": "redacted_thinking", "data": data}


def text(text: str) -> Block:
    return {"type": "text", "text": text}


A, B, C = thinking("First A."), thinking("Then B."), thinking("And C.")
HELLO = {"role": "user", "content": "hello"}


def assistant(*blocks: Block) -> Block:
    return {"role": "assistant", "content": list(blocks)}


def request(*thoughts: Block) -> Block:
    """One turn per thought, each with its visible answer, and a question at the end."""
    turns = [message for thought in thoughts for message in (HELLO, assistant(thought, text("ok")))]
    return {"model": "m", "messages": [*turns, HELLO]}


def answer(*blocks: Block) -> bytes:
    return json.dumps({"type": "message", "role": "assistant", "content": list(blocks)}).encode()


def key(block: Block) -> bytes:
    name = documented_key(block)
    assert name is not None
    return name


def on(backend: str, *blocks: Block, now: float = 0.0) -> ThinkingRegistry:
    """A registry whose current backend has just made these blocks."""
    registry = ThinkingRegistry()
    registry.notify_backend(backend)
    registry.register_response(answer(*blocks), now)
    return registry


def confirmed(*blocks: Block) -> ThinkingRegistry:
    """As `on`, and the client has already sent the blocks back."""
    registry = on("anthropic", *blocks)
    registry.filter_request(request(*blocks), 1.0)
    return registry


def start(index: int, block: Block) -> bytes:
    return json.dumps({"type": "content_block_start", "index": index, "content_block": block}).encode()


def delta(index: int, piece: str) -> bytes:
    return _delta(index, {"type": "thinking_delta", "thinking": piece})


def signature(index: int, value: str) -> bytes:
    return _delta(index, {"type": "signature_delta", "signature": value})


def stop(index: int) -> bytes:
    return json.dumps({"type": "content_block_stop", "index": index}).encode()


def streamed(registry: ThinkingRegistry, *events: bytes, now: float = 0.0) -> list[Registration]:
    """What each event registered; the stream is left open."""
    watch = registry.watch()
    return [watch.event(event, now) for event in events]


def _delta(index: int, value: Block) -> bytes:
    return json.dumps({"type": "content_block_delta", "index": index, "delta": value}).encode()
