"""The request that a conversation sends: its parameters, and its line of turns as messages.

The line is sent as the client has it: a backend's needs are the engine's task. What the store keeps is what the makers said;
seals and safe tool ids are added again exactly as the client got them, since they are a pure function of the recording. So a
projection of these messages finds its recordings by their own keys, and its changes are those of a real request. One thing
is added: after an answer that was cut, the next message says so, because the model must not take the fragment for its whole
answer. The reminder is always in the same place, so that the messages of later requests begin with the same bytes.

`projection_of` shows a history as one backend would get it next, with every Change.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import msgspec
from msgspec import Raw, Struct

from clew.backends.row import Backend, account_of, target_of
from clew.chat.messages import blocks_in
from clew.chat.turns import StoredTurn
from clew.engine.gathering import shelf_for
from clew.engine.snapshot import Snapshot
from clew.errors import SettingsInvalid
from clew.exchange.backend_dialect import backend_dialect
from clew.model.blocks import made
from clew.model.change import Change
from clew.model.json import JsonObject, JsonValue, text_of
from clew.model.origin import ANTHROPIC, Target
from clew.model.recording import Recording
from clew.pipeline.parameters import needed_betas
from clew.pipeline.project import project
from clew.pipeline.step import Facts, Options
from clew.pipeline.stream.client_view import ClientView, ViewOptions
from clew.store import Store
from clew.store.values import Passage
from clew.thinking.keys import keys_of
from clew.thinking.recognise import Context
from clew.thinking.seal import Sealer
from clew.wire.requests import parse

CUT: Final = "<system-reminder>The answer before this message was interrupted: it is not whole.</system-reminder>"
"""In the tag that recognition ignores, so that it does not count as the user's words."""


class Wishes(Struct, frozen=True, kw_only=True):
    """The parameters of a conversation's requests."""

    model: str = ""
    max_tokens: int = 16_000
    system: str | Sequence[JsonObject] = ""
    tools: Sequence[JsonObject] = ()
    thinking: JsonObject | None = None
    effort: str = ""
    schema: JsonObject | None = None
    """The JSON Schema that the text of an answer must fit."""
    tool_choice: JsonObject | None = None
    """Which tools may be called, if there are any."""

    def fields(self) -> dict[str, object]:
        """The fields of a request's body that are set."""
        form = {"type": "json_schema", "schema": self.schema} if self.schema else None
        output: dict[str, object] = {"effort": self.effort, "format": form}
        given: dict[str, object] = {
            "system": self.system,
            "tools": self.tools,
            "tool_choice": self.tool_choice if self.tools else None,
            "thinking": self.thinking,
            "output_config": {name: value for name, value in output.items() if value},
        }
        return {name: value for name, value in given.items() if value}


def request_of(
    model: str, wishes: Wishes, line: Sequence[StoredTurn], asked: tuple[bytes, ...], sealer: Sealer
) -> tuple[bytes, tuple[str, ...]]:
    """The whole request for an answer to `asked`, after this line: its body, and its betas."""
    messages = [*history_of(line, sealer), *_question(asked, line[-1] if line else None)]
    fixed = {"model": model, "max_tokens": wishes.max_tokens, "stream": True}
    body = msgspec.json.encode({**fixed, **wishes.fields(), "messages": messages})
    # The betas of the line's newest request: it held the whole line, so they allow all of it.
    sent = next(filter(None, (stored.exchange.betas for stored in reversed(line) if stored.exchange is not None)), ())
    return body, (*sent, *needed_betas(messages, sent))


def history_of(line: Iterable[StoredTurn], sealer: Sealer) -> Iterator[Raw]:
    """The messages of a line, as its client has them."""
    before: StoredTurn | None = None
    for stored in line:
        yield from _question(stored.passage.asked, before)
        if stored.answer is not None:
            yield Raw(msgspec.json.encode({"role": "assistant", "content": held_blocks_of(stored.answer, sealer)}))
        before = stored


def _question(asked: tuple[bytes, ...], before: StoredTurn | None) -> Iterator[Raw]:
    """The messages of a question; after an answer that was cut, with a reminder of that."""
    cut = before is not None and before.answer is not None and not before.answer.whole
    for index, raw in enumerate(asked):
        if not cut or index > 0:
            yield Raw(raw)
            continue
        message = msgspec.json.decode(raw, type=JsonObject)
        content = message.get("content")
        blocks: list[JsonValue] = content if isinstance(content, list) else [{"type": "text", "text": content}]
        results = [block for block in blocks if isinstance(block, dict) and block.get("type") == "tool_result"]
        others = [block for block in blocks if block not in results]
        yield Raw(msgspec.json.encode({**message, "content": [*results, {"type": "text", "text": CUT}, *others]}))


def messages_of(passage: Passage, sealer: Sealer) -> Iterator[JsonObject]:
    """The messages of a question, and the answer if there is one."""
    for raw in passage.asked:
        yield msgspec.json.decode(raw, type=JsonObject)
    if passage.recording is not None and passage.recording.blocks:
        yield {"role": "assistant", "content": [*held_blocks_of(passage.recording, sealer)]}


_SEALS: Final = ((False, True), (False, False), (True, True))
"""Whether the seals bring the whole block, and whether they carry what the maker needs back: each front and backend has its
way, and the first is the usual one."""


def held_blocks_of(recording: Recording, sealer: Sealer) -> list[JsonObject]:
    """The blocks of an answer as its client has them: under the seals by whose keys it is found."""
    blocks = [msgspec.json.decode(raw, type=JsonObject) for raw in recording.blocks]
    calls = [
        index for index, block in enumerate(blocks) if text_of(block.get("type")).endswith("tool_use") and block.get("id")
    ]
    if len(calls) == len(recording.said.ids):
        for index, id in zip(calls, recording.said.ids, strict=True):
            blocks[index]["id"] = id
    if recording.origin.realm == ANTHROPIC:
        return blocks
    ways = [_sealed(blocks, recording, sealer, *way) for way in _SEALS]
    return next((held for held in ways if _keys_in(held) == recording.keys), ways[0])


def _sealed(
    blocks: Sequence[JsonObject], recording: Recording, sealer: Sealer, whole: bool, carries: bool
) -> list[JsonObject]:
    view = ClientView(
        ViewOptions(
            model=recording.origin.model,
            exchange=recording.id,
            principal=recording.principal,
            origin=recording.origin,
            sealer=sealer,
            whole=whole,
            carries=carries,
            hide=not recording.keys,
        )
    )
    return [view.show_block(index, block) for index, block in enumerate(blocks) if not view.is_hidden(block)]


def _keys_in(blocks: Iterable[JsonObject]) -> tuple[bytes, ...]:
    return keys_of(map(made, blocks))


# What a backend would get

MAX_TOKENS: Final = 32_000
"""A request must have this field; it is not shown."""


class Projected(Struct, frozen=True, kw_only=True):
    """A conversation's messages as one backend would get them."""

    backend: str
    model: str
    asked: Sequence[JsonObject]
    """The messages as the client has them; paths in the changes lead here."""
    messages: tuple[JsonObject, ...]
    """In the backend's own dialect; of the Responses API the items."""
    changes: tuple[Change, ...]


class _WrittenBody(Struct):
    messages: list[JsonObject] = []
    input: list[JsonObject] = []
    """The items, in the Responses API."""


def is_answer(message: JsonObject) -> bool:
    """Whether a model said it: a message, or an item of the Responses API, of which only messages have roles."""
    kind = text_of(message.get("type"))
    return message.get("role") == "assistant" or kind == "reasoning" or kind.endswith("_call")


def projection_of(
    messages: Sequence[JsonObject],
    name: str,
    model: str,
    snapshot: Snapshot,
    store: Store,
    context: Context,
    options: Options,
) -> Projected:
    """The messages for the backend of this name, asked for this model. Raises SettingsInvalid if there is no such backend.

    A history that ends with an answer is projected as if a question followed, so that the answer is part of the history.
    """
    backend, target = _target(name, model, snapshot)
    answered = bool(messages) and messages[-1].get("role") == "assistant"
    extended: list[JsonValue] = [*messages]
    if answered:
        calls = [block.get("id") for block in blocks_in(messages[-1]) if block.get("type") == "tool_use"]
        results: list[JsonValue] = [{"type": "tool_result", "tool_use_id": id, "content": "…"} for id in calls]
        extended.append({"role": "user", "content": results or "…"})
    body: JsonObject = {"model": model, "max_tokens": MAX_TOKENS, "messages": extended}
    request = parse(msgspec.json.encode(body))
    shelf = shelf_for(store, request, context)
    facts = Facts(options=options, recordings=shelf, context=context, sealer=snapshot.sealer)
    projection = project(request, target, facts)
    written = backend_dialect(backend, target.model).write(projection.request)
    body_sent = msgspec.json.decode(written.body, type=_WrittenBody)
    sent = body_sent.messages or body_sent.input
    if answered:  # without the added question: in some dialects each result of it is a message
        while sent and not is_answer(sent[-1]):
            sent.pop()
    return Projected(
        backend=name,
        model=target.model,
        asked=messages,
        messages=tuple(sent),
        changes=tuple(change for change in (*projection.changes, *written.changes) if change.path.startswith("messages")),
    )


def _target(name: str, model: str, snapshot: Snapshot) -> tuple[Backend, Target]:
    settings = snapshot.settings
    backend = settings.backends.get(name)
    if backend is None:
        known = ", ".join(sorted(settings.backends))
        raise SettingsInvalid(f"there is no backend {name[:100]!r}; there are: {known}", key=name)
    account = account_of(backend, backend.keys[0] if backend.keys else None)
    foreign = settings.thinking.foreign
    return backend, target_of(backend, model, overrides=settings.models, foreign=foreign, account=account)
