"""A thread for people to look at: as it was said, or as a backend would get it.

The projection needs the history as the client holds it. What the store keeps is what the makers said; a seal and a safe tool
id are put on again exactly as they were put on for the client, since minting is a pure function of what the recording knows.
So the projection finds its recordings by their own keys, and its Changes are those of a real request.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec
from msgspec import Raw, Struct

from clew.admin.problem import Problem
from clew.backends.row import Backend, account_of, target_of
from clew.dialects.anthropic.requests import parse
from clew.engine.dialects import dialect_of
from clew.engine.snapshot import Snapshot
from clew.model.change import Change
from clew.model.json import JsonObject, JsonValue
from clew.model.origin import ANTHROPIC, Origin
from clew.model.recording import Recording
from clew.model.target import Target
from clew.pipeline.project import project
from clew.pipeline.step import Facts
from clew.pipeline.stream.dress import Dress, Wear
from clew.store import Store
from clew.store.values import Passage
from clew.thinking.recognise import Context
from clew.thinking.seal import Sealer

__all__ = ["Projected", "Spoken", "projected", "spoken"]

MAX_TOKENS: Final = 32_000
"""Requests must name one; it is not shown."""


class Spoken(Struct, frozen=True, kw_only=True):
    """One turn as it was said."""

    exchange: str
    at: float
    asked: tuple[Raw, ...]
    answer: tuple[Raw, ...] | None
    """The maker's own blocks; None if the answer is not recorded, or not any more."""
    origin: Origin | None = None
    whole: bool = True
    followed: str | None = None


class Projected(Struct, frozen=True, kw_only=True):
    """The thread's last line as one backend would get it next."""

    backend: str
    model: str
    asked: Sequence[JsonObject]
    """The messages as the client holds them; paths in the changes lead here."""
    messages: tuple[Raw, ...]
    changes: tuple[Change, ...]


def spoken(passages: Iterable[Passage]) -> list[Spoken]:
    return [_spoken(passage) for passage in passages]


def _spoken(passage: Passage) -> Spoken:
    recording = passage.recording
    return Spoken(
        exchange=passage.exchange,
        at=passage.at,
        asked=tuple(map(Raw, passage.asked)),
        answer=None if recording is None else tuple(map(Raw, recording.blocks)),
        origin=recording.origin if recording else None,
        whole=recording.whole if recording else False,
        followed=recording.followed if recording else None,
    )


def projected(passages: Sequence[Passage], name: str, snapshot: Snapshot, store: Store, principal: str) -> Projected:
    """The line that ends with the newest answer, projected. Raises Problem if there is nothing to project."""
    line = _line(passages)
    newest = line[-1].recording if line else None
    if newest is None:
        raise Problem(409, "nothing of this thread is recorded", "it has no answers, or they were forgotten")
    asked = store.exchange(principal, line[-1].exchange)
    model = asked.asked_model if asked else newest.origin.model
    backend, target = _target(name, model, snapshot)
    messages = [message for passage in line for message in _messages(passage, snapshot.sealer)]
    body: JsonObject = {"model": model, "max_tokens": MAX_TOKENS, "messages": [*messages, _next(messages[-1])]}
    projection = project(parse(msgspec.json.encode(body)), target, _facts(newest, snapshot, store, principal))
    written = dialect_of(backend, target.model).written(projection.request)
    going = msgspec.json.decode(written.body, type=_Going)
    return Projected(
        backend=name,
        model=target.model,
        asked=messages,
        messages=tuple(going.messages[: -_asked_last(going.messages)]),
        changes=tuple(change for change in (*projection.changes, *written.changes) if change.path.startswith("messages")),
    )


class _Going(Struct):
    messages: list[Raw]


class _Role(Struct):
    role: str = ""


def _asked_last(messages: Sequence[Raw]) -> int:
    """How many messages at the end are what the client would say next: in some dialects each result is one."""
    roles = [msgspec.json.decode(message, type=_Role).role for message in reversed(messages)]
    return next((count for count, role in enumerate(roles) if role == "assistant"), len(roles))


def _target(name: str, model: str, snapshot: Snapshot) -> tuple[Backend, Target]:
    settings = snapshot.settings
    backend = settings.backends.get(name)
    if backend is None:
        raise Problem(404, f"there is no backend {name[:100]!r}", f"there are: {', '.join(sorted(settings.backends))}")
    account = account_of(backend, backend.keys[0] if backend.keys else None)
    foreign = settings.thinking.foreign
    return backend, target_of(backend, model, overrides=settings.models, foreign=foreign, account=account)


def _facts(newest: Recording, snapshot: Snapshot, store: Store, principal: str) -> Facts:
    return Facts(
        options=snapshot.options,
        recordings=store.recordings(principal),
        context=Context(principal=principal, session=newest.session, agent=newest.agent),
        sealer=snapshot.sealer,
    )


def _next(last: JsonObject) -> JsonObject:
    """What a client would say next, so that the last answer is one of the history. It is not shown."""
    content = last.get("content")
    blocks = [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []
    calls = [block.get("id") for block in blocks if block.get("type") == "tool_use"]
    results: list[JsonValue] = [{"type": "tool_result", "tool_use_id": id, "content": "…"} for id in calls]
    return {"role": "user", "content": results or "…"}


def _line(passages: Sequence[Passage]) -> list[Passage]:
    """The newest answer and what it followed, oldest first: a thread that was rewound has other branches besides."""
    by_id = {passage.recording.id: passage for passage in passages if passage.recording}
    at = next((passage.recording for passage in reversed(passages) if passage.recording), None)
    line: list[Passage] = []
    while at is not None and at.id in by_id:
        passage = by_id.pop(at.id)
        line.append(passage)
        before = by_id.get(at.followed or "")
        at = before.recording if before else None
    return line[::-1]


def _messages(passage: Passage, sealer: Sealer) -> Iterable[JsonObject]:
    for raw in passage.asked:
        yield msgspec.json.decode(raw, type=JsonObject)
    if passage.recording is not None:
        yield {"role": "assistant", "content": [*_held(passage.recording, sealer)]}


def _held(recording: Recording, sealer: Sealer) -> list[JsonObject]:
    """The answer as its client holds it."""
    foreign = recording.origin.realm != ANTHROPIC
    blocks = [msgspec.json.decode(raw, type=JsonObject) for raw in recording.blocks]
    ids = tuple(block.get("id") for block in blocks if block.get("type") == "tool_use")
    wear = Wear(
        model=recording.origin.model,
        exchange=recording.id,
        principal=recording.principal,
        origin=recording.origin,
        sealer=sealer if foreign else None,
        safe_ids=ids != recording.said.ids,
        hide=foreign and not recording.keys,
    )
    dress = Dress(wear)
    return [dress.block(index, block) for index, block in enumerate(blocks) if not dress.is_hidden(block)]
