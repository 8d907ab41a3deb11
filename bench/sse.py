"""What it costs to read along with a stream, against the least that anyone must do: split it into events.

`cases()` returns functions to be timed in turn; each works through the same 300 events, in one read and with a read for each
event. "relay" is what the gateway does where nothing is recorded, "relay and assemble" what it does for an answer that is.
"""

from __future__ import annotations

from collections.abc import Callable

from clew.dialects.anthropic.passthrough import PASSTHROUGH
from clew.model.origin import Origin
from clew.pipeline.stream.client_view import ClientView, ViewOptions
from clew.pipeline.stream.passthrough import PassedAnswer
from clew.wire.sse import SseReader

__all__ = ["cases", "stream"]

_WEAR = ViewOptions(
    model="claude-opus-5-5", exchange="x1", origin=Origin(realm="anthropic", backend="claude", model="claude-opus-5-5")
)


def stream() -> list[bytes]:
    """An answer as the vendor streams it: thinking, text, a tool call; padded data lines, a ping."""
    deltas = [
        *(_delta(i, 0, "thinking_delta", "thinking", f" so {i}, then\\n") for i in range(100)),
        _delta(7, 0, "signature_delta", "signature", "Er" * 180),
        _event("content_block_stop", '{"type":"content_block_stop","index":0}'),
        _start(1, '{"type":"text","text":""}'),
        *(_delta(i, 1, "text_delta", "text", f" some words {i}") for i in range(140)),
        _event("content_block_stop", '{"type":"content_block_stop","index":1}'),
        _start(2, '{"type":"tool_use","id":"toolu_1","name":"Bash","input":{}}'),
        *(_delta(i, 2, "input_json_delta", "partial_json", '\\"o.py\\"') for i in range(49)),
        _event("content_block_stop", '{"type":"content_block_stop","index":2}'),
    ]
    return [*_opening(), *deltas, *_ending()]


def _opening() -> list[bytes]:
    message = (
        '{"id":"msg_1","type":"message","role":"assistant","model":"claude-opus-5-5","content":[],"stop_reason":null,'
        '"stop_sequence":null,"usage":{"input_tokens":100,"output_tokens":1}}'
    )
    return [
        _event("message_start", '{"type":"message_start","message":' + message + "    }"),
        _start(0, '{"type":"thinking","thinking":"","signature":""}'),
        _event("ping", '{"type": "ping"}'),
    ]


def _ending() -> list[bytes]:
    delta = '{"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":300}}'
    return [_event("message_delta", delta), _event("message_stop", '{"type":"message_stop"}')]


def _start(index: int, block: str) -> bytes:
    return _event("content_block_start", f'{{"type":"content_block_start","index":{index},"content_block":{block}}}')


def _delta(turn: int, index: int, kind: str, field: str, body: str) -> bytes:
    padding = " " * (turn * 7 % 12)
    data = f'{{"type":"content_block_delta","index":{index},"delta":{{"type":"{kind}","{field}":"{body}"}}{padding}}}'
    return _event("content_block_delta", data)


def _event(name: str, data: str) -> bytes:
    return f"event: {name}\ndata: {data}\n\n".encode()


def cases() -> dict[str, Callable[[], object]]:
    """Named functions, the baseline of each pair first."""
    events = stream()
    whole = b"".join(events)
    return {
        "split, one read": lambda: whole.split(b"\n\n"),
        "relay, one read": lambda: _relayed([whole], kept=False),
        "relay and assemble, one read": lambda: _relayed([whole], kept=True),
        "read, one read": lambda: _read([whole]),
        "split, a read each": lambda: [event.split(b"\n\n") for event in events],
        "relay, a read each": lambda: _relayed(events, kept=False),
        "relay and assemble, a read each": lambda: _relayed(events, kept=True),
        "read, a read each": lambda: _read(events),
    }


def _relayed(reads: list[bytes], *, kept: bool) -> object:
    relay = PassedAnswer(ClientView(_WEAR), PASSTHROUGH, keep=kept, blocks=kept)
    for read in reads:
        relay.feed(read)
    relay.flush()
    return relay.answer()


def _read(reads: list[bytes]) -> object:
    reader = SseReader()
    return [event for read in reads for event in reader.feed(read)]
