"""Drives what a scene says through the code: a backend's bytes to canonical events, and on to the client's bytes.

The client's side is the gateway's own: a `Translation` in the relay that seals thoughts and gives calls safe ids.
Only the sealer is special: its seals can be read, and written by hand.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import msgspec

from clew.backends.row import Backend, Quirks
from clew.dialects.failures.reading import failure_of
from clew.dialects.openai_chat.answers import read_message
from clew.dialects.openai_chat.options import ChatAnswerOptions, ChatOptions
from clew.dialects.openai_chat.streams import ChatStreamReader
from clew.dialects.shape import AnswerContext
from clew.errors import StreamIllegal
from clew.exchange.backend_dialect import backend_dialect
from clew.exchange.call import Call
from clew.model.events import Event
from clew.model.failure import Failure
from clew.model.lifecycle import STRICT, Lifecycle
from clew.model.origin import Origin
from clew.pipeline.stream.answer_stream import AnswerStream
from clew.pipeline.stream.client_view import ClientView, ViewOptions
from clew.pipeline.stream.translation import TranslatedAnswer, WholeAnswerReader
from clew.thinking.seal import PREFIX, Seal, Sealer
from tests.dialects.openai_chat.chat import ReadStream
from tests.golden.cases import Scene
from tests.golden.shorthand import lines_of, opening
from tests.model.streams import joined
from tests.pipeline.stream.wearing import translated_answer

__all__ = [
    "MODEL",
    "ORIGIN",
    "PlainSealer",
    "asked_of",
    "client_of",
    "client_of_body",
    "client_of_messages",
    "client_of_refusal",
    "events_of",
    "options_of",
    "relay_of",
    "speech_of",
    "wear",
]

MODEL = "claude-x"
ORIGIN = Origin(realm="open", backend="golden", model="m", account="me")


class PlainSealer(Sealer):
    """Its seals are their payload, behind the prefix that every seal has."""

    def __init__(self) -> None:
        super().__init__({"k": bytes(32)}, "k")

    def mint(self, seal: Seal, text: str = "") -> str:
        return PREFIX + seal.payload.decode()


def wear(**more: Any) -> ViewOptions:
    """What an answer of a backend with untrusted ids wears."""
    fields: dict[str, Any] = {"model": MODEL, "exchange": "x1", "origin": ORIGIN, "safe_ids": True}
    return ViewOptions(**{**fields, "sealer": PlainSealer(), **more})


def asked_of(scene: Scene) -> AnswerContext:
    fields: dict[str, Any] = {"model": MODEL, "message_id": "msg_1", "input_tokens": 7, **scene.table("asked")}
    document = {"stop_sequences": fields.pop("stops", []), **({"tools": fields.pop("tools")} if "tools" in fields else {})}
    return AnswerContext(document=json.dumps(document).encode(), **fields)


def speech_of(scene: Scene) -> ChatAnswerOptions:
    return msgspec.convert(scene.table("speech"), ChatAnswerOptions)


def options_of(scene: Scene) -> ChatOptions:
    return ChatOptions(answer=speech_of(scene))


def events_of(scene: Scene, pieces: Iterable[bytes], *, join: bool = False) -> str:
    """What the decoder tells, as lines; each event is held to the strict grammar on the way. With `join`, neighbouring
    deltas are one."""
    asked = asked_of(scene)
    stream = ReadStream(asked, speech_of(scene))
    events: list[Event] = [event for piece in pieces for event in stream.feed(piece)]
    events += stream.flush()
    lifecycle = Lifecycle(STRICT)
    for event in events:
        lifecycle.accept(event)
    return lines_of(joined(events) if join else events, stream, opening(asked.model, asked.message_id, asked.input_tokens))


def client_of(scene: Scene, pieces: Iterable[bytes]) -> bytes:
    """What the client gets: a stream, or the status and body of a failure that came before one."""
    translation = ChatStreamReader(asked_of(scene), options_of(scene))
    relay = translated_answer(ClientView(wear()), translation)
    out = _said_by(relay, pieces)
    failed = relay.failure
    if relay.begun or failed is None:
        return out
    return _failed(Failure(failed.status, str(failed.error["type"]), str(failed.error["message"])))


def relay_of(scene: Scene) -> TranslatedAnswer:
    return translated_answer(ClientView(wear()), ChatStreamReader(asked_of(scene), options_of(scene)))


def client_of_body(scene: Scene) -> bytes:
    """The same for a body that came in one piece, though a stream was asked for."""
    body = scene.sections["body"]
    found = read_message(body, asked_of(scene), options_of(scene))
    return (
        _failed(found)
        if isinstance(found, Failure)
        else _said_by(translated_answer(ClientView(wear()), WholeAnswerReader(found, MODEL)), [body])
    )


def client_of_refusal(scene: Scene) -> bytes:
    """The same for a response that is an error: its status in the first line, then its body."""
    status, _, body = scene.sections["refusal"].removeprefix(b"HTTP ").partition(b"\n")
    return _failed(failure_of(int(status), body))


def client_of_messages(scene: Scene, pieces: Iterable[bytes]) -> tuple[bytes, str]:
    """What passes of a stream that is Messages already, and the event that was refused in it."""
    relay = _messages_relay(**scene.table("wear"))
    out: list[bytes] = []
    try:
        for piece in pieces:  # event by event, so that what came before a refused one is seen
            for event in piece.splitlines(keepends=True):
                out.append(relay.feed(event))
        out.append(relay.flush())
    except StreamIllegal as error:
        return b"".join(out), error.event
    return b"".join([*out, *relay.held]), ""


def _messages_relay(*, sealed: bool = True, overlaps: bool = False) -> AnswerStream:
    """As the engine makes it for a backend that speaks Messages."""
    backend = Backend(name="own", url="http://127.0.0.1:1", realm="own", quirks=Quirks(overlaps=overlaps))
    view = ClientView(wear() if sealed else wear(sealer=None, safe_ids=False))
    context = AnswerContext(model=MODEL, message_id="msg_x1")
    return backend_dialect(backend, "m").answer_stream(Call(body=b"{}"), view, context, keep=True, blocks=True)


def _said_by(relay: AnswerStream, pieces: Iterable[bytes]) -> bytes:
    return b"".join([relay.feed(piece) for piece in pieces]) + relay.flush() + b"".join(relay.held)


def _failed(failure: Failure) -> bytes:
    error = json.dumps({"type": "error", "error": failure.error()}, ensure_ascii=False, separators=(",", ":"))
    return f"HTTP {failure.status}\n{error}".encode()
