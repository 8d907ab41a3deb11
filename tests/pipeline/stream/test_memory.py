"""A block in very many small deltas takes memory for its text, and not for each of them."""

from collections.abc import Callable, Iterable
from functools import partial

import pytest

from clew.chat.ui.messages import StepParts
from clew.chat.ui.parts import MessageFold
from clew.model.assemble import Assembler
from clew.pipeline.stream.client_view import ClientView, ViewOptions
from clew.wire.events import decode_event
from clew.wire.sse import SseReader
from tests.growth.streams import BLOCKS, DELTAS, END, PING, START, delta, start, stop
from tests.memory import most_of
from tests.pipeline.stream.wearing import HIDDEN, PLAIN, SEALED, answer_of, passed_answer

MANY = 12_000
MOST = 8 * MANY + 900_000
"""Bytes: some for each letter, and what is read at once. The deltas as they came are twice as much, as events six times."""

pytestmark = pytest.mark.slow

KINDS = {
    "text": ("text", b"text_delta", b"text"),
    "thinking": ("thinking", b"thinking_delta", b"thinking"),
    "input": ("tool_use", b"input_json_delta", b"partial_json"),
}
SPELLED = {
    "as the vendor does": b'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"%b","%b":" "}}\n\n',
    "with spaces": b'event: content_block_delta\ndata: {"type": "content_block_delta", "index": 0, "delta": {"type": "%b", "%b": " "}}\n\n',
}
READS = {"alone": 1, "together": 500}


def opening(block: str) -> bytes:
    return START + start(0, BLOCKS[block])


ENDING = stop(0) + b"".join(END)


def takes_little(block: str, reads: Iterable[bytes], wear: ViewOptions) -> bool:
    """Whether a relay of these reads, and the answer that it tells, take no more than they may."""

    def relayed() -> object:
        relay = passed_answer(ClientView(wear), keep=False)
        relay.feed(opening(block))
        for each in reads:
            relay.feed(each)
        relay.feed(ENDING)
        assert len(relay.answer().blocks) == 1
        return relay

    return most_of(lambda: relayed, enough=MOST) < MOST


@pytest.mark.parametrize("spelled", SPELLED)
@pytest.mark.parametrize(("kind", "read"), [("text", "alone"), *((kind, "together") for kind in KINDS)])
def test_a_relay_takes_memory_for_the_text(kind: str, spelled: str, read: str) -> None:
    block, *words = KINDS[kind]
    one = SPELLED[spelled] % tuple(words)
    assert takes_little(block, [one * READS[read]] * (MANY // READS[read]), PLAIN)


@pytest.mark.parametrize("wear", [SEALED, HIDDEN], ids=["sealed", "hidden"])
@pytest.mark.parametrize("read", READS)
def test_so_does_one_that_seals_or_hides(wear: ViewOptions, read: str) -> None:
    block = "thinking" if wear is SEALED else "text"
    one = delta(0, DELTAS[f"{block} deltas"][1] | {block: " "})
    assert takes_little(block, [one * READS[read]] * (MANY // READS[read]), wear)


@pytest.mark.parametrize("between", [PING, b'event: news\ndata: {"type":"news"}\n\n', delta(0, DELTAS["signatures"][1])])
def test_what_says_nothing_between_deltas_changes_nothing(between: bytes) -> None:
    """Nor does a signature: the last one counts."""
    block = "thinking"
    pair = delta(0, {"type": "thinking_delta", "thinking": " "}) + between
    assert takes_little(block, [pair * 250] * (MANY // 500), PLAIN)


def test_an_answer_takes_memory_for_the_text() -> None:
    raw = opening("text") + delta(0, {"type": "text_delta", "text": " "}) * MANY + ENDING
    most = MOST + 2 * len(raw)  # the run is a copy
    assert most_of(lambda: partial(answer_of, raw), enough=most) < most


def assembled(reads: Iterable[bytes]) -> object:
    reader, assembler = SseReader(), Assembler()
    for each in reads:
        for sse in reader.feed(each):
            assembler.feed(decode_event(sse))
    return assembler


def shown(reads: Iterable[bytes]) -> object:
    """In a chat's page."""
    reader, step, fold = SseReader(), StepParts("s"), MessageFold()
    for each in reads:
        for sse in reader.feed(each):
            fold.feed_all(step.feed(decode_event(sse)))
    return step, fold, fold.message


@pytest.mark.parametrize("read", [assembled, shown])
def test_an_assembler_and_a_page_take_memory_for_the_text(read: Callable[[Iterable[bytes]], object]) -> None:
    words = delta(0, {"type": "thinking_delta", "thinking": "ab"}) * 100
    assert most_of(lambda: partial(read, [opening("thinking"), *[words] * 200, ENDING]), enough=600_000) < 600_000
