"""A history as one backend would get it next: in the backend's own dialect, with every Change."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec
from msgspec import Raw, Struct

from clew.backends.row import Backend, account_of, target_of
from clew.engine.backend_dialect import backend_dialect
from clew.engine.gathering import shelf_for
from clew.engine.snapshot import Snapshot
from clew.errors import SettingsInvalid
from clew.model.change import Change
from clew.model.json import JsonObject, JsonValue
from clew.model.origin import Target
from clew.pipeline.project import project
from clew.pipeline.step import Facts
from clew.store import Store
from clew.thinking.recognise import Context
from clew.wire.requests import parse

MAX_TOKENS: Final = 32_000
"""A request must have this field; it is not shown."""


class Projected(Struct, frozen=True, kw_only=True):
    """A conversation's messages as one backend would get them."""

    backend: str
    model: str
    asked: Sequence[JsonObject]
    """The messages as the client has them; paths in the changes lead here."""
    messages: tuple[Raw, ...]
    """In the backend's own dialect."""
    changes: tuple[Change, ...]


class _WrittenBody(Struct):
    messages: list[Raw]


class _Role(Struct):
    role: str = ""


def projection_of(
    messages: Sequence[JsonObject],
    name: str,
    model: str,
    snapshot: Snapshot,
    store: Store,
    context: Context,
) -> Projected:
    """The messages for the backend of this name, asked for this model. Raises SettingsInvalid if there is no such backend.

    A history that ends with an answer is projected as if a question followed, so that the answer is part of the history.
    """
    backend, target = _target(name, model, snapshot)
    answered = bool(messages) and messages[-1].get("role") == "assistant"
    extended: list[JsonValue] = [*messages, _next_question(messages[-1])] if answered else [*messages]
    body: JsonObject = {"model": model, "max_tokens": MAX_TOKENS, "messages": extended}
    request = parse(msgspec.json.encode(body))
    shelf = shelf_for(store, request, context)
    facts = Facts(options=snapshot.options, recordings=shelf, context=context, sealer=snapshot.sealer)
    projection = project(request, target, facts)
    written = backend_dialect(backend, target.model).write(projection.request)
    written_messages = msgspec.json.decode(written.body, type=_WrittenBody).messages
    count = _count_question(written_messages) if answered else 0
    return Projected(
        backend=name,
        model=target.model,
        asked=messages,
        messages=tuple(written_messages[:-count] if count else written_messages),
        changes=tuple(change for change in (*projection.changes, *written.changes) if change.path.startswith("messages")),
    )


def _count_question(messages: Sequence[Raw]) -> int:
    """How many messages at the end are the added question: in some dialects each result is a message."""
    roles = [msgspec.json.decode(message, type=_Role).role for message in reversed(messages)]
    return next((count for count, role in enumerate(roles) if role == "assistant"), len(roles))


def _target(name: str, model: str, snapshot: Snapshot) -> tuple[Backend, Target]:
    settings = snapshot.settings
    backend = settings.backends.get(name)
    if backend is None:
        known = ", ".join(sorted(settings.backends))
        raise SettingsInvalid(f"there is no backend {name[:100]!r}; there are: {known}", key=name)
    account = account_of(backend, backend.keys[0] if backend.keys else None)
    foreign = settings.thinking.foreign
    return backend, target_of(backend, model, overrides=settings.models, foreign=foreign, account=account)


def _next_question(last: JsonObject) -> JsonObject:
    """The next message of a client, which is not shown."""
    content = last.get("content")
    blocks = [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []
    calls = [block.get("id") for block in blocks if block.get("type") == "tool_use"]
    results: list[JsonValue] = [{"type": "tool_result", "tool_use_id": id, "content": "…"} for id in calls]
    return {"role": "user", "content": results or "…"}
