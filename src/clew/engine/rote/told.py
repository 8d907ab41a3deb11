"""What is told of an exchange that went by rote, and what is kept of it: as `story` would have it."""

from __future__ import annotations

from collections.abc import Sequence

from clew.engine.over import Over
from clew.engine.rote.form import Form
from clew.engine.turns import titled
from clew.model.halves import encoded
from clew.model.json import JsonObject
from clew.model.recording import Recording
from clew.store.values import Bodies, Turn
from clew.thinking.keys import Asked, asked_of
from clew.thinking.record import recording_of_first

__all__ = ["Passed", "request_id_in", "turn_of"]

Passed = list[tuple[str, str]]
"""What of a backend's headers goes to the client."""


def request_id_in(passed: Passed) -> str:
    """The backend's own name for the call."""
    for name, value in passed:
        if name == "request-id":
            return value
    return ""


def turn_of(
    form: Form, over: Over, question: str, messages: bytes, blocks: Sequence[JsonObject], bodies: Bodies | None
) -> Turn:
    """What the store gets: the question, as it was asked, and the answer to it. `messages` is the list that holds the
    question alone."""
    asked, keeps = asked_of((question,)), form.snapshot.settings.store.content
    return Turn(
        exchange=over.exchange(),
        recording=_recording(form, over, asked, blocks) if blocks else None,
        asked=(messages.strip()[1:-1].strip(),) if keeps else (),
        title=titled(asked) if keeps else "",
        bodies=bodies,
    )


def _recording(form: Form, over: Over, asked: Asked, blocks: Sequence[JsonObject]) -> Recording:
    return recording_of_first(
        over.id,
        question=asked,
        blocks=[encoded(block) for block in blocks],
        origin=form.origin,
        context=form.context,
        thread=over.id,
    )
