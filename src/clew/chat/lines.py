"""Lines: a stored thread as the messages of a conversation, the way a client holds them.

What the store keeps is what the makers said; a seal and a safe tool id are put on again exactly as they were put on for the
client, since minting is a pure function of what the recording knows. So a projection of these messages finds its recordings
by their own keys, and its Changes are those of a real request.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from clew.model.json import JsonObject
from clew.model.origin import ANTHROPIC
from clew.model.recording import Recording
from clew.pipeline.stream.client_view import ClientView, ViewOptions
from clew.store.values import Passage
from clew.thinking.seal import Sealer

__all__ = ["held", "line_of", "messages_of"]


def line_of(passages: Sequence[Passage]) -> list[Passage]:
    """The newest answer and what it followed, oldest first: a thread that was rewound has other branches besides."""
    by_id = {passage.recording.id: passage for passage in passages if passage.recording and passage.recording.blocks}
    at = next((passage.recording for passage in reversed(passages) if passage.recording and passage.recording.blocks), None)
    line: list[Passage] = []
    while at is not None and at.id in by_id:
        passage = by_id.pop(at.id)
        line.append(passage)
        before = by_id.get(at.followed or "")
        at = before.recording if before else None
    return line[::-1]


def messages_of(passage: Passage, sealer: Sealer) -> Iterator[JsonObject]:
    """What was asked, and the answer if there is one."""
    for raw in passage.asked:
        yield msgspec.json.decode(raw, type=JsonObject)
    if passage.recording is not None and passage.recording.blocks:
        yield {"role": "assistant", "content": [*held(passage.recording, sealer)]}


def held(recording: Recording, sealer: Sealer) -> list[JsonObject]:
    """The answer as its client holds it."""
    foreign = recording.origin.realm != ANTHROPIC
    blocks = [msgspec.json.decode(raw, type=JsonObject) for raw in recording.blocks]
    ids = tuple(block.get("id") for block in blocks if block.get("type") == "tool_use")
    view = ClientView(
        ViewOptions(
            model=recording.origin.model,
            exchange=recording.id,
            principal=recording.principal,
            origin=recording.origin,
            sealer=sealer if foreign else None,
            safe_ids=ids != recording.said.ids,
            hide=foreign and not recording.keys,
        )
    )
    return [view.show_block(index, block) for index, block in enumerate(blocks) if not view.is_hidden(block)]
