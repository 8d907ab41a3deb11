"""The dialect `anthropic`: the client's own, so bytes pass as they come."""

from __future__ import annotations

from collections.abc import Container
from typing import Final

import msgspec
from msgspec import Struct, structs

from clew.backends.row import Backend
from clew.dialects.anthropic.in_order import InOrder
from clew.dialects.failures.reading import failure_in, failure_of
from clew.dialects.failures.waits import said_wait
from clew.dialects.headers import request_headers, response_headers
from clew.engine.call import Call, Kind
from clew.engine.dialects.refused import Refused, refused_for, refused_with, waiting
from clew.engine.dialects.shape import Hints, Recalled, Remembered, Repair, Written
from clew.http.client.message import Headers
from clew.model.events import StreamFailed
from clew.model.facts.failures import usual_status
from clew.model.json import JsonObject
from clew.model.lenient import read_json
from clew.model.origin import ANTHROPIC
from clew.model.request import Request
from clew.pipeline.stream.dress import Dress
from clew.pipeline.stream.relay import Relay, Relays
from clew.pipeline.stream.translated import TranslatedRelay
from clew.thinking.strands import LEFT_OUT
from clew.wire.requests import encode

__all__ = ["Messages"]

_PATHS: Final[dict[Kind, str]] = {"messages": "/v1/messages", "count_tokens": "/v1/messages/count_tokens"}
_NEEDED: Final[dict[Kind, str]] = {"messages": "content", "count_tokens": "input_tokens"}
"""What no answer is without. Some vendors say 200 to everything, and in the body that it failed."""
_WAITING: Final = frozenset({429, 503, 529})
_BETA = b"anthropic-beta"


class _Error(Struct):
    type: str
    message: str


class _Said(Struct):
    error: _Error


_said = msgspec.json.Decoder(_Said)


class Messages:
    """Its repairs are the pipeline's: they change what is said, and not how. A vendor outside the realm `anthropic` gets all
    of its thinking back, so the strand must say when some of it was refused (`thinking.repairs`)."""

    counts = True
    translates = False

    def __init__(self, backend: Backend, model: str, *, healed: bool = False) -> None:
        self._made_of, self._healed = (backend, model), healed
        self.remembers = backend.realm != ANTHROPIC
        self._betas = backend.quirks.betas
        self._overlaps = backend.quirks.overlaps

    def path(self, call: Call) -> str:
        return f"{_PATHS[call.kind]}?{call.query}" if call.query else _PATHS[call.kind]

    def headers(self, call: Call, going: Request) -> tuple[tuple[bytes, bytes], ...]:
        """What passes of the client's own; its betas as the projection left them, where the backend takes any."""
        passed = request_headers(call.headers)
        if self._betas and going.betas == call.betas:
            return passed
        rest = tuple(header for header in passed if header[0] != _BETA)
        betas = ",".join(going.betas) if self._betas else ""
        return (*rest, (_BETA, betas.encode("latin-1", "replace"))) if betas else rest

    def written(self, request: Request) -> Written:
        return Written(encode(request))

    def relay(self, dress: Dress, hints: Hints) -> Relays:
        if self._overlaps:
            return TranslatedRelay(dress, InOrder(dress.wear.model), keep=hints.keep, blocks=hints.blocks)
        return Relay(dress, keep=hints.keep, blocks=hints.blocks)

    def message(self, raw: bytes, hints: Hints, kind: Kind) -> JsonObject | Refused | None:
        try:
            message = read_json(raw)
        except (ValueError, RecursionError):
            return None
        if not isinstance(message, dict):
            return None
        if message.get("type") == "error" and isinstance(error := message.get("error"), dict):
            return refused_with(StreamFailed(error))
        if said := message.get(_NEEDED[kind]):
            return message
        if failure := failure_in(message):  # relays have shapes of their own
            return refused_with(failure.event())
        return None if said is None else message

    def told(self, refused: Refused) -> Refused:
        """As it came, with the wait that it names where only its words do: aggregators speak this dialect too. Who is not
        Anthropic has shapes, statuses and words of its own besides, which no client reads."""
        if self.remembers and not refused.is_told:
            refused = _in_clients_words(refused)
        if refused.status not in _WAITING:
            return refused
        return structs.replace(refused, headers=waiting(refused.headers, said_wait(refused.body)))

    def passed(self, headers: Headers, wall: float) -> list[tuple[str, str]]:
        return response_headers(headers)

    def repair(self, refused: Refused, going: Request, sent: bytes) -> Repair | None:
        return None

    def healed(self) -> Messages:
        return Messages(*self._made_of, healed=True) if self.remembers else self

    def recalled(self, row: Container[bytes], in_loop: bool) -> Recalled | None:
        """What is left out, and why, the projection itself says."""
        return Recalled(self.healed(), ()) if LEFT_OUT in row else None

    def remembered(self, going: Request) -> Remembered:
        return Remembered(going, (LEFT_OUT,) if self._healed else ())


def _in_clients_words(refused: Refused) -> Refused:
    """What is right already stays as it came."""
    if refused.status < 400:
        return refused
    failure = failure_of(refused.status, refused.body)
    same = failure.status in (refused.status, usual_status(refused.status))
    if same and _words_of(refused.body).startswith(failure.message):  # which may be cut
        return refused
    return refused_for(failure, refused.headers, dict(response_headers(refused.headers)).get("request-id"))


def _words_of(body: bytes) -> str:
    """The message of an error in Anthropic's shape; "" where it has none."""
    try:
        return _said.decode(body).error.message
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return ""
