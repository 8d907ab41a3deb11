"""Random answers as streams: every block type, deltas in any legal number, and the judges that read them."""

from collections.abc import Iterable
from itertools import pairwise
from typing import Any

import httpx2
import msgspec
from anthropic.lib.streaming._beta_messages import accumulate_event
from hypothesis import strategies as st

from clew.model.events import BlockStart, BlockStop, Event, MessageDelta, MessageStop, Ping, data_of
from clew.model.json import JsonObject
from clew.wire.events import encode_event
from tests.model import streams

WORDS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12) | st.sampled_from(
    ["", "\n\n", "\r", "data: x", "é😀\u2028"]
)
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | WORDS | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=6,
)
INPUTS = st.dictionaries(WORDS, VALUES, max_size=3)


@st.composite
def pieces(draw: st.DrawFn, text: str) -> list[str]:
    """The text, cut anywhere; empty pieces too."""
    cuts = sorted(draw(st.lists(st.integers(0, len(text)), max_size=3)))
    return [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]


@st.composite
def thinking_blocks(draw: st.DrawFn, index: int) -> list[Event]:
    deltas = [streams.thinking(index, each) for each in draw(st.lists(WORDS, max_size=3))]
    signatures = [streams.signature(index, each) for each in draw(st.lists(WORDS, max_size=1))]
    return [streams.start_thinking(index), *deltas, *signatures, BlockStop(index)]


@st.composite
def text_blocks(draw: st.DrawFn, index: int) -> list[Event]:
    deltas = st.builds(streams.text, st.just(index), WORDS) | st.builds(streams.citation, st.just(index), WORDS)
    return [streams.start_text(index), *draw(st.lists(deltas, max_size=4)), BlockStop(index)]


@st.composite
def tool_blocks(draw: st.DrawFn, index: int) -> list[Event]:
    kind = draw(st.sampled_from(["tool_use", "server_tool_use", "mcp_tool_use"]))
    text = draw(st.just("") | INPUTS.map(lambda value: msgspec.json.encode(value).decode()))
    begin = streams.start(index, kind, id=f"toolu_{index}", name="Bash", input={})
    return [begin, *(streams.json_piece(index, each) for each in draw(pieces(text))), BlockStop(index)]


@st.composite
def whole_blocks(draw: st.DrawFn, index: int) -> list[Event]:
    block = draw(
        st.sampled_from(
            [
                {"type": "redacted_thinking", "data": "D"},
                {"type": "web_search_tool_result", "tool_use_id": "s", "content": []},
                {"type": "container_upload", "file_id": "f"},
                {"type": "fallback", "from": {"model": "m"}, "to": {"model": "claude-sonnet-5-5"}},
                {"type": "compaction", "content": "on demand"},
            ]
        )
    )
    return [BlockStart(index, dict(block)), BlockStop(index)]


@st.composite
def compaction_blocks(draw: st.DrawFn, index: int) -> list[Event]:
    delta = streams.compaction(index, content=draw(WORDS), encrypted_content=draw(WORDS))
    return [streams.start(index, "compaction", content=None), delta, BlockStop(index)]


def blocks(index: int) -> st.SearchStrategy[list[Event]]:
    kinds = (thinking_blocks, text_blocks, tool_blocks, whole_blocks, compaction_blocks)
    return st.one_of([kind(index) for kind in kinds])


USAGE = st.fixed_dictionaries(
    {"output_tokens": st.integers(0, 10**6)},
    optional={
        "input_tokens": st.none() | st.integers(0, 10**6),
        "cache_read_input_tokens": st.none() | st.integers(0, 10**6),
        "output_tokens_details": st.just({"thinking_tokens": 3}),
    },
)
REASONS = st.sampled_from(["end_turn", "max_tokens", "tool_use", "stop_sequence", "pause_turn", "refusal"])
ENDS = st.builds(lambda reason, usage: MessageDelta({**streams.STOP_NULLS, "stop_reason": reason}, usage), REASONS, USAGE)


@st.composite
def answers(draw: st.DrawFn) -> list[Event]:
    """One legal stream, from its start to its stop, with pings strewn in."""
    events: list[Event] = [streams.opening()]
    for index in range(draw(st.integers(0, 4))):
        events += draw(blocks(index))
    events += [*draw(st.lists(ENDS, min_size=1, max_size=2)), MessageStop()]
    for place in sorted(draw(st.lists(st.integers(1, len(events) - 1), max_size=3)), reverse=True):
        events.insert(place, Ping())
    return events


def wire_bytes(events: Iterable[Event], draw: Any = None) -> bytes:
    """The stream as bytes; with `draw`, in any of the spellings that mean the same."""
    if draw is None:
        return b"".join(map(encode_event, events))
    chance = draw(st.randoms(use_true_random=False))
    parts = [chance.choice([b"", b"", b": note\n\n"]) + _padded(encode_event(each), chance) for each in events]
    return chance.choice([b"", b"\xef\xbb\xbf"]) + b"".join(parts).replace(b"\n", chance.choice([b"\n", b"\r", b"\r\n"]))


def _padded(sse: bytes, chance: Any) -> bytes:
    """R65: spaces before the last brace."""
    return sse[:-3] + b" " * chance.randrange(4) + sse[-3:]


def cut(stream: bytes, places: Iterable[int]) -> list[bytes]:
    bounds = [0, *sorted(places), len(stream)]
    return [stream[a:b] for a, b in pairwise(bounds)]


def sdk_message(events: Iterable[Event]) -> JsonObject:
    """What the official SDK's accumulator makes of the events."""
    snapshot: Any = None
    buffers: dict[int, bytes] = {}
    for event in events:
        if not isinstance(event, Ping):  # its stream class skips them before the accumulator
            snapshot = accumulate_event(
                event=msgspec.json.decode(data_of(event)),
                current_snapshot=snapshot,
                json_bufs=buffers,
                request_headers=httpx2.Headers(),
            )
    return snapshot.to_dict(warnings=False)  # it warns of every server tool name that it does not know


def plainly(value: Any) -> Any:
    """Without members that are null: the SDK's models add those for every field they know."""
    if isinstance(value, dict):
        return {name: plainly(each) for name, each in value.items() if each is not None}
    return [plainly(each) for each in value] if isinstance(value, list) else value
