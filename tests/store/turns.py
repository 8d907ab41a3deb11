"""Turns to record: answers whose keys, strands and digests are right, as `verify` demands."""

from __future__ import annotations

import json
from hashlib import sha256
from typing import Any

import msgspec

from clew.model.change import Change
from clew.model.origin import Origin
from clew.model.recording import AnswerContent, Recording, Shelf, Strand
from clew.model.turn import Bodies, Exchange, TokenUsage, TurnRecord
from clew.store import Store
from clew.store.values import Lookup
from clew.thinking.keys import block_key, digest_of
from tests.build import GLM, OPUS, text, thinking, tool_use

NOON = 1_800_000_000.0


def recorded(
    id: str,
    *,
    before: tuple[Recording, ...] = (),
    thread: str = "t",
    principal: str = "local",
    origin: Origin = OPUS,
    words: str | None = None,
    **more: Any,
) -> Recording:
    """The answer `id`, which followed the last of `before` and came after the thinking of all of them."""
    signatures = [f"signature of {each.id}" for each in (*before,)] + [f"signature of {id}"]
    said = AnswerContent((f"toolu_{id}",), (words or f"Answer {id}.",))
    fields: dict[str, Any] = {
        "principal": principal,
        "origin": origin,
        "blocks": tuple(
            json.dumps(block).encode()
            for block in (
                thinking(f"Thought {id}.", signatures[-1]),
                text(said.texts[0]),
                tool_use(said.ids[0], command=f"secret input of {id}"),
            )
        ),
        "keys": (block_key("thinking", signatures[-1]),),
        "said": said,
        "place": sha256(f"{principal} {said.texts[0]}".encode()).digest(),
        "strand": Strand(after=before[-1].id) if before else Strand(listed=()),
        "digest": digest_of(signatures),
        "followed": before[-1].id if before else None,
        "thread": thread,
    }
    return Recording(id=id, **(fields | more))


def turn(
    recording: Recording | None = None, *, at: float = NOON, exchange: str = "", bodies: Bodies | None = None, **more: Any
) -> TurnRecord:
    """The turn that made this recording; without one, a turn that was refused."""
    fields: dict[str, Any] = {
        "id": exchange or f"x-{recording.id if recording else at}",
        "principal": recording.principal if recording else "local",
        "thread": recording.thread if recording else "t",
        "started": at - 2.5,
        "ended": at,
        "asked_model": "claude-opus-5-5",
        "backend": recording.origin.backend if recording else "claude",
        "model": recording.origin.model if recording else OPUS.model,
        "session": recording.session if recording else "",
        "agent": recording.agent if recording else "",
        "first_byte": 0.5,
        "outcome": "whole" if recording else "refused",
        "status": 200 if recording else 400,
        "changes": (Change("thinking", "messages.1.content.0", "left out", "made by glm"),),
        "usage": TokenUsage(input=10, output=20, cache_read=30, cache_written=40) if recording else None,
    }
    asked = (b'{"role":"user","content":"secret question"}',)
    return TurnRecord(exchange=Exchange(**(fields | more)), recording=recording, asked=asked, title="A title", bodies=bodies)


def conversation(length: int, prefix: str = "r", **more: Any) -> list[Recording]:
    """Answers, each following the one before."""
    answers: list[Recording] = []
    for number in range(length):
        answers.append(recorded(f"{prefix}{number}", before=tuple(answers), **more))
    return answers


def gathered(store: Store, principal: str, **wanted: Any) -> Shelf:
    """What one look-up gives, with all links."""
    named = {name: tuple(values) for name, values in wanted.items()}
    return Shelf(store.gather(Lookup(principal=principal, links=1000, **named)).recordings)


def bare(recording: Recording) -> Recording:
    """As it is kept without content: the thinking as it came, of the rest what recognition compares."""
    kept: list[bytes] = []
    for raw in recording.blocks:
        block = json.loads(raw)
        block |= {"input": {}} if "input" in block else {}
        kept.append(raw if block["type"] == "thinking" else msgspec.json.encode(block))
    return msgspec.structs.replace(recording, blocks=tuple(kept))


__all__ = ["GLM", "NOON", "OPUS", "bare", "conversation", "gathered", "recorded", "turn"]
