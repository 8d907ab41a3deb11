"""Drives what a scene says through the code: backend bytes to canonical events, and on to the client's bytes.

The client's side is the gateway's own: a `Translation` in the relay that seals thoughts and gives calls safe ids.
Only the sealer is special: its seals can be read, and written by hand.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import msgspec

from clew.dialects.openai_chat.decoder import Asked
from clew.dialects.openai_chat.quirks import Quirks
from clew.dialects.openai_chat.stream import ChatStream
from clew.dialects.openai_chat.translate import Translation
from clew.model.events import Event
from clew.model.lifecycle import STRICT, Lifecycle
from clew.model.origin import Origin
from clew.pipeline.stream.dress import Dress, Wear
from clew.pipeline.stream.translated import TranslatedRelay
from clew.thinking.seal import PREFIX, Seal, Sealer
from tests.golden.cases import Scene
from tests.golden.shorthand import lines_of, opening

__all__ = ["MODEL", "PlainSealer", "asked_of", "client_of", "events_of", "wear"]

MODEL = "claude-x"
ORIGIN = Origin(realm="open", backend="golden", model="m", account="me")


class PlainSealer(Sealer):
    """Its seals are their payload, behind the prefix that every seal has."""

    def __init__(self) -> None:
        super().__init__({"k": bytes(32)}, "k")

    def mint(self, seal: Seal, text: str) -> str:
        return PREFIX + seal.payload.decode()


def wear(**more: Any) -> Wear:
    """What an answer of a backend with untrusted ids wears."""
    fields: dict[str, Any] = {"model": MODEL, "exchange": "x1", "origin": ORIGIN, "safe_ids": True}
    return Wear(**{**fields, "sealer": PlainSealer(), **more})


def asked_of(scene: Scene) -> Asked:
    fields: dict[str, Any] = {"model": MODEL, "message_id": "msg_1", "input_tokens": 7, **scene.table("asked")}
    return msgspec.convert(fields, Asked)


def quirks_of(scene: Scene) -> Quirks:
    return msgspec.convert(scene.table("speech"), Quirks)


def events_of(scene: Scene, pieces: Iterable[bytes]) -> str:
    """What the decoder tells, as lines; each event is held to the strict grammar on the way."""
    asked = asked_of(scene)
    stream = ChatStream(asked, quirks_of(scene))
    events: list[Event] = [event for piece in pieces for event in stream.feed(piece)]
    events += stream.flush()
    lifecycle = Lifecycle(STRICT)
    for event in events:
        lifecycle.accept(event)
    return lines_of(events, stream, opening(asked.model, asked.message_id, asked.input_tokens))


def client_of(scene: Scene, pieces: Iterable[bytes]) -> bytes:
    """What the client gets: a stream, or the status and body of a failure that came before one."""
    translation = Translation(asked_of(scene), quirks_of(scene))
    relay = TranslatedRelay(Dress(wear()), translation)
    out = b"".join([relay.feed(piece) for piece in pieces]) + relay.flush() + b"".join(relay.held)
    if relay.begun or translation.failure is None:
        return out
    error = {"type": "error", "error": relay.failure}
    return f"HTTP {translation.failure.status}\n{json.dumps(error, ensure_ascii=False, separators=(',', ':'))}".encode()
