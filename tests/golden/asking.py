"""Drives what a scene says through the code, towards a backend: the client's request, and the bytes that go out for it.

The row is a preset with its real quirks, so a golden also says what a row must say. The client's history may hold seals, in
the readable form `clew1.REALM/MODEL {what the maker needs back}`, or `clew2.KEY REALM/MODEL KIND "text" PROOF` for a whole block. What the gateway has recorded of earlier answers is in the
section `recorded`: who said what after which messages, and, where the client held it otherwise, how.
"""

from __future__ import annotations

import json
import re
from typing import Any

import msgspec

from clew.backends.presets import presets
from clew.backends.row import Backend, facts_of, target_of
from clew.dialects import DIALECTS
from clew.errors import RequestInvalid, SealInvalid, Unrepresentable
from clew.model.blocks import made
from clew.model.change import Change
from clew.model.origin import Origin
from clew.model.recording import Shelf
from clew.model.request import ALWAYS, Request
from clew.pipeline.project import project
from clew.pipeline.step import Facts, Options
from clew.thinking.recognise import Context
from clew.thinking.record import recording_of
from clew.thinking.seal import Seal, named_key
from tests.build import request, target
from tests.golden.cases import Scene
from tests.golden.driving import PlainSealer

__all__ = ["Sent", "canonical_for", "fields_for", "sent_for"]

_SEALED = re.compile(r"clew1\.([\w@-]+)/([\w./-]+) (.*)", re.S)
"""A realm of one account is written `realm@account`."""
_SEALED_WHOLE = re.compile(r'clew2\.[\w-]{44} ([\w@-]+)/([\w./-]+) (\w*thinking) ("(?:[^"\\]|\\.)*") (.*)', re.S)
_QUESTION = ("model", "messages", "max_tokens", "max_completion_tokens")


class ReadableSealer(PlainSealer):
    """Opens what a golden writes. A forged one does not open."""

    def open(self, token: str, text: str, *, principal: str) -> Seal:
        if whole := _SEALED_WHOLE.fullmatch(token):
            kind = "thinking" if whole[3] == "thinking" else "redacted_thinking"
            block: Any = {"kind": kind, "text": json.loads(whole[4]), "key": named_key(token)}
            return Seal(principal, _origin(f"{whole[1]}/{whole[2]}"), "x0", 0, whole[5].encode(), **block)
        found = _SEALED.fullmatch(token)
        if found is None:
            raise SealInvalid("it does not fit this block, or a byte was changed")
        return Seal(principal, _origin(f"{found[1]}/{found[2]}"), "x0", 0, found[3].encode())


class Sent:
    """What became of a request: a body with changes, or the error that the client gets instead."""

    def __init__(self, scene: Scene) -> None:
        self.error = ""
        self.body: Any = None
        self.changes: tuple[Change, ...] = ()
        try:
            self.body, self.changes = _sent(scene)
        except (RequestInvalid, Unrepresentable) as error:
            self.error = str(error)

    @property
    def lines(self) -> str:
        """The changes: path and what was done, one to a line."""
        return "\n".join(f"{change.path}: {change.what}" for change in self.changes)


def sent_for(scene: Scene) -> Sent:
    return Sent(scene)


def _sent(scene: Scene) -> tuple[Any, tuple[Change, ...]]:
    row = scene.table("row")
    backend = _backend(row)
    asked = _asked(scene)
    reader = target_of(backend, row.get("model") or asked.body.model, foreign=row.get("foreign", "drop"), account="me")
    context = Context(**scene.table("context"))
    options = msgspec.convert(scene.table("options"), Options)
    facts = Facts(sealer=ReadableSealer(), recordings=_shelf(scene), context=context, options=options)
    projected = project(asked, reader, facts)
    if backend.dialect == "anthropic":
        return json.loads(projected.body), projected.changes
    options = _options(backend, reader.model, scene.sections.get("after", b"").decode())
    encoded = DIALECTS[backend.dialect].write_request(projected.request, options)
    return json.loads(encoded.body), (*projected.changes, *encoded.changes)


def _asked(scene: Scene) -> Request:
    """The request, in the dialect of the section `front`; a canonical one without it."""
    front = DIALECTS[scene.sections.get("front", b"anthropic").decode()]
    return front.read_request(scene.sections["asks"], {}, ALWAYS)


def canonical_for(scene: Scene) -> tuple[Any, str]:
    """The canonical request that a client's bytes become, and what it has no place for, one change to a line."""
    asked = _asked(scene)
    changes = asked.source.native.changes if asked.source.native else ()
    return json.loads(asked.source.raw), "\n".join(f"{change.path}: {change.what}" for change in changes)


def _options(backend: Backend, model: str, refusals: str) -> Any:
    """What the backend wants, after these refusals, one to a line."""
    dialect = DIALECTS[backend.dialect]
    options = dialect.options_of(facts_of(backend, model))
    tried: list[str] = []
    for words in refusals.splitlines():
        repair = dialect.repairs.repair(options, 400, words, tried) if dialect.repairs else None
        assert repair is not None, f"nobody knows what to do after {words!r}"
        options, tried = repair.options, [*tried, repair.name]
    return options


def _backend(row: dict[str, Any]) -> Backend:
    """A preset's endpoint in one dialect; without a preset, a server that nobody knows."""
    dialect = row.get("dialect", "openai-chat")
    name = row.get("preset", "")
    fields: dict[str, Any] = {"name": name or "own", "url": "http://127.0.0.1:1", "realm": "own", "dialect": dialect}
    if name:
        preset = presets()[name].speaking(dialect)
        assert preset is not None, f"{name} does not speak {dialect}"
        fields |= {name: getattr(preset, name) for name in ("realm", "quirks", "wire", "responses", "by_model")}
    return Backend(**fields, model=row.get("model", ""))


def _shelf(scene: Scene) -> Shelf:
    """The recordings, in the order in which they were made."""
    shelf = Shelf()
    for number, each in enumerate(json.loads(scene.sections.get("recorded", b"[]"))):
        asked, origin = request(*each["after"]), _origin(each["by"])
        facts = Facts(sealer=ReadableSealer(), recordings=shelf, context=Context(**each.get("context", {})))
        recording = recording_of(
            f"r{number}",
            asked=asked,
            going=project(asked, target(origin), facts).request,
            blocks=tuple(json.dumps(block).encode() for block in each["said"]),
            held=[made(block) for block in each.get("held", each["said"])],
            origin=origin,
            shelf=shelf,
            context=facts.context,
        )
        shelf.add(recording)
    return shelf


def _origin(by: str) -> Origin:
    realm, _, model = by.partition("/")
    realm = realm.replace("@", "/")
    return Origin(realm=realm, backend=realm, model=model, account="me" if realm == "anthropic" else "")


def fields_for(scene: Scene, asks: dict[str, Any]) -> dict[str, Any]:
    """The fields that a backend gets when a client asks one question in this way, besides the question itself."""
    body = {"model": "claude-x", "max_tokens": 64000, "messages": [{"role": "user", "content": "Hi."}], **asks}
    spoken = Scene(scene.case, scene.title, {**scene.sections, "asks": json.dumps(body).encode()})
    sent = Sent(spoken).body or {}
    return {name: value for name, value in sent.items() if name not in _QUESTION}
