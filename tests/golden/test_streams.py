"""Golden transcripts of streams: what came, the canonical events, what they add up to or why they were refused.

A `*.stream` file has three parts, divided by a line `---` (the line end before it belongs to the line): the bytes as a vendor
sent them, one line for each event that was read, and the outcome. The name of the file is the behaviour, a comment in its
first line the rule. `make golden` rewrites the second and third part; the diff is then to be reviewed.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from clew.errors import BlockMismatch, StreamIllegal
from clew.model.assemble import AssembledBlock, Assembler
from clew.model.events import Event, Unknown, altered, data_of
from clew.model.lifecycle import STRICT, Lifecycle
from clew.wire.events import decode_event
from clew.wire.sse import SseReader
from tests.manifest import accepts, proves

HERE = Path(__file__).parent
STREAMS = sorted(HERE.glob("*.stream"))
DIVIDER = b"\n---\n"


def read(stream: bytes, size: int) -> Iterator[Event]:
    """The events of the bytes, in reads of that size."""
    reader = SseReader()
    chunks = [stream[i : i + size] for i in range(0, len(stream), size)]
    yield from (decode_event(sse) for chunk in chunks for sse in reader.feed(chunk))
    yield from (decode_event(sse) for sse in reader.flush())


def transcript(stream: bytes, size: int) -> bytes:
    """Second and third part for these bytes."""
    events: list[Event] = []
    reader = Assembler()
    verdict = "accepted"
    try:
        for event in read(stream, size):
            events.append(event)
            reader.feed(event)
    except StreamIllegal as error:
        verdict = said(error)
    told = "\n".join(map(line, events))
    return DIVIDER.join([told.encode(), outcome(reader, events, verdict).encode()])


def line(event: Event) -> str:
    if isinstance(event, Unknown):
        return f"unknown {event.name} {event.data!r}"
    return data_of(altered(event)).decode()


def outcome(reader: Assembler, events: list[Event], verdict: str) -> str:
    lines = [f"reader: {verdict}", f"writer: {writer_verdict(events)}", *map(block_line, reader.blocks())]
    try:
        message = msgspec.json.format(msgspec.json.encode(reader.message())).decode()
    except StreamIllegal:
        message = "no message"
    return "\n".join([*lines, message, ""])


def writer_verdict(events: list[Event]) -> str:
    """Whether clew itself might have written these events."""
    lifecycle = Lifecycle(STRICT)
    try:
        for event in events:
            lifecycle.accept(event)
    except StreamIllegal as error:
        return said(error)
    return "accepted"


def said(error: StreamIllegal) -> str:
    name = f" [{error.name}: {error.expected}, not {error.actual}]" if isinstance(error, BlockMismatch) else ""
    return f"refused: {type(error).__name__}: {error}{name}"


def block_line(block: AssembledBlock) -> str:
    marks = ["complete" if block.complete else "incomplete"]
    marks += ["unsigned"] if block.unsigned else []
    marks += [f"unparsed {block.unparsed!r}"] if block.unparsed is not None else []
    return f"block {block.index}: {block.block['type']}, {', '.join(marks)}"


@proves("req:S0-45", "req:S0-46", "req:S0-47", "req:S0-48", "req:S0-49", "req:S0-50")
@accepts("rule:R65", "rule:R66", "rule:R67", "rule:R68", "rule:R69", "rule:R70", "rule:R71", "rule:R72")
@pytest.mark.parametrize("path", STREAMS, ids=[path.stem for path in STREAMS])
def test_the_stream_reads_as_its_transcript_says(path: Path) -> None:
    """In one read, and byte by byte."""
    stream, *expected = path.read_bytes().split(DIVIDER)
    found = transcript(stream, len(stream))
    if os.environ.get("CLEW_GOLDEN") == "write":
        path.write_bytes(stream + DIVIDER + found)
    else:
        assert found.decode() == DIVIDER.join(expected).decode()
    assert transcript(stream, 1) == found


def test_there_are_transcripts_and_each_names_its_source() -> None:
    assert len(STREAMS) >= 15
    assert [path.name for path in STREAMS if not path.read_bytes().startswith(b": ")] == []
