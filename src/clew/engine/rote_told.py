"""What is told of an exchange that went by rote, and what is kept of it: as `story` would have it."""

from __future__ import annotations

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from clew.engine.form import Form
from clew.engine.turns import titled, usage_of
from clew.model.json import JsonObject, JsonValue
from clew.model.recording import Recording
from clew.pipeline.stream.answer import answer_of_message
from clew.store.values import Bodies, Exchange, Try, Turn
from clew.thinking.keys import Asked, asked_of
from clew.thinking.record import recording_of_first

__all__ = ["Over", "Passed", "request_id_in", "turn_of"]

Passed = list[tuple[str, str]]
"""What of a backend's headers goes to the client."""


class Over(Struct, frozen=True, eq=False):
    """An exchange that is over: all that is its own."""

    form: Form
    id: str
    started: float
    ended: float
    seconds: float
    """Until the first content was here."""
    usage: JsonValue
    stop_reason: JsonValue
    request_id: str

    def exchange(self) -> Exchange:
        like, seconds = self.form.told, round(self.seconds, 6)
        return replace(
            like,
            id=self.id,
            thread=self.id,
            started=self.started,
            ended=self.ended,
            status=200,
            first_byte=seconds,
            usage=usage_of(self.usage, estimated=False) if isinstance(self.usage, dict) else None,
            stop_reason=self.stop_reason if isinstance(self.stop_reason, str) else "",
            request_id=self.request_id,
            tries=(Try(backend=like.backend, status=200, seconds=seconds),),
        )


def request_id_in(passed: Passed) -> str:
    """The backend's own name for the call."""
    for name, value in passed:
        if name == "request-id":
            return value
    return ""


def turn_of(over: Over, question: str, messages: bytes, answer: JsonObject, bodies: Bodies | None) -> Turn:
    """What the store gets: the question, as it was asked, and the answer to it. `messages` is the list that holds the
    question alone."""
    asked, keeps = asked_of((question,)), over.form.snapshot.settings.store.content
    return Turn(
        exchange=over.exchange(),
        recording=_recording(over, asked, answer),
        asked=(messages.strip()[1:-1].strip(),) if keeps else (),
        title=titled(asked) if keeps else "",
        bodies=bodies,
    )


def _recording(over: Over, asked: Asked, answer: JsonObject) -> Recording | None:
    blocks = answer_of_message(answer).blocks
    if not blocks:
        return None
    return recording_of_first(
        over.id,
        question=asked,
        blocks=[msgspec.json.encode(block) for block in blocks],
        origin=over.form.origin,
        context=over.form.context,
        thread=over.id,
    )
