"""The dialect `openai-chat`: requests are written in the backend's words, and its answers are translated."""

from __future__ import annotations

from collections.abc import Container
from functools import partial
from typing import Final, Self, cast

import msgspec
from msgspec import Struct, structs

from clew.backends.chat import path_of, speech_of, wire_of
from clew.backends.manner import Speech, Wire
from clew.backends.row import Backend
from clew.dialects.failures.reading import failure_of
from clew.dialects.openai_chat.answer.decoder import Asked
from clew.dialects.openai_chat.answer.headers import response_headers
from clew.dialects.openai_chat.answer.translate import Translation
from clew.dialects.openai_chat.answer.whole import translated
from clew.dialects.openai_chat.heals import LASTING, LOOP_LONG, Heal, Rung, heal, held
from clew.dialects.openai_chat.request.lighter import all_lighter, lighter_in
from clew.dialects.openai_chat.request.requests import encode
from clew.dialects.openai_chat.request.tool_names import own_name
from clew.engine.call import Call, Kind
from clew.engine.dialects.refused import Refused, refused_for
from clew.engine.dialects.shape import Hints, Recalled, Remembered, Repair, Written
from clew.http.client.message import Headers
from clew.model.change import Change
from clew.model.failure import Failure
from clew.model.json import JsonObject
from clew.model.request import Request
from clew.pipeline.stream.dress import Dress
from clew.pipeline.stream.relay import Relays
from clew.pipeline.stream.traced import Traced
from clew.pipeline.stream.translated import TranslatedRelay
from clew.thinking.keys import key_of
from clew.thinking.strands import repair_mark, repairs_in

__all__ = ["OpenAIChat"]

AS_BEFORE = "as for its last answer here, which it first "
_HEADERS: Final = ((b"user-agent", b"clew"),)


class _Stops(Struct):
    stop_sequences: list[str] | None = None


class OpenAIChat(Struct, frozen=True, kw_only=True, eq=False):
    """For one backend and one model: what it wants to be sent, and how it answers."""

    wire: Wire
    speech: Speech
    place: str
    rungs: tuple[Rung, ...] = ()
    """Repairs that were tried."""
    before_it: tuple[Rung, ...] = ()
    """Repairs that an answer before remembers."""

    @classmethod
    def of(cls, backend: Backend, model: str) -> Self:
        return cls(wire=wire_of(backend, model), speech=speech_of(backend, model), place=path_of(backend))

    @property
    def counts(self) -> bool:
        return False

    @property
    def translates(self) -> bool:
        return True

    @property
    def remembers(self) -> bool:
        return True

    def path(self, call: Call) -> str:
        """The client's query is meant for Anthropic."""
        return self.place

    def headers(self, call: Call, going: Request) -> tuple[tuple[bytes, bytes], ...]:
        """None of the client's: they speak of Anthropic's versions and betas."""
        return _HEADERS

    def written(self, request: Request) -> Written:
        encoded = encode(request, self.wire)
        return Written(encoded.body, encoded.changes)

    def relay(self, dress: Dress, hints: Hints) -> Relays:
        translation = Translation(_asked(hints), self.speech, own_ids=hints.own_ids)
        followed = translation if hints.tell is None else Traced(translation, hints.tell)
        return TranslatedRelay(dress, followed, eager=hints.eager, keep=hints.keep, blocks=hints.blocks)

    def message(self, raw: bytes, hints: Hints, kind: Kind) -> JsonObject | Refused | None:
        found = translated(raw, _asked(hints), self.speech, own_ids=hints.own_ids)
        if isinstance(found, Failure):
            return None if found.broken else _refused(found)
        return found

    def told(self, refused: Refused) -> Refused:
        """An error in Anthropic's words. Who sends us elsewhere has said nothing that could be told."""
        if refused.is_told or refused.status < 400:
            return refused
        return _refused(failure_of(refused.status, refused.body), refused)

    def passed(self, headers: Headers, wall: float) -> list[tuple[str, str]]:
        return response_headers(headers, wall=wall)

    def repair(self, refused: Refused, going: Request, sent: bytes) -> Repair | None:
        """What changes nothing here would be refused again, and is nothing to remember."""
        words, tried = refused.body.decode("utf-8", "replace"), self.rungs
        while found := heal(self.wire, refused.status, words, tried):
            weaker = structs.replace(self, wire=found.wire, rungs=(*self.rungs, found.rung))
            if weaker.written(going).body != sent:
                return Repair(weaker, _told_of(found))
            tried = (*tried, found.rung)
        return None

    def healed(self) -> OpenAIChat:
        """Its repairs are `repair`'s: what it refuses is written otherwise."""
        return self

    def recalled(self, row: Container[bytes], in_loop: bool) -> Recalled | None:
        rungs = cast("tuple[Rung, ...]", repairs_in((*LASTING, *LOOP_LONG) if in_loop else LASTING, row))
        heals = held(self.wire, rungs)
        if not heals:
            return None
        weaker = structs.replace(self, wire=heals[-1].wire, before_it=rungs)
        return Recalled(weaker, tuple(Change("heal", "messages", "replaced", f"{AS_BEFORE}{each.why}") for each in heals))

    def remembered(self, going: Request) -> Remembered:
        rungs = (*self.before_it, *self.rungs)
        marks = tuple(repair_mark(rung) for rung in (*LASTING, *LOOP_LONG) if rung in rungs)
        said = all_lighter(going) if "entries" in rungs else going
        return Remembered(said, marks, tuple([key for block in lighter_in(said) if (key := key_of(block))]))


def _told_of(found: Heal) -> Change:
    """A shorter answer is no matter of thinking, nor is an image or a role."""
    if found.rung == "less":
        return Change("heal", "max_tokens", "replaced", found.why)
    if found.rung in ("images", "roles"):
        return Change("heal", "messages", "replaced", found.why)
    return Change("heal", "messages", "healed", found.why)


def _refused(failure: Failure, given: Refused | None = None) -> Refused:
    headers = given.headers if given else ()
    return refused_for(failure, headers, dict(response_headers(headers, wall=0)).get("request-id"))


def _asked(hints: Hints) -> Asked:
    return Asked(
        model=hints.model,
        message_id=f"msg_{hints.exchange}",
        input_tokens=hints.input_tokens,
        stops=_stops(hints.call.body),
        called=partial(own_name, body=hints.call.body),
        unsaid=hints.unsaid,
    )


def _stops(body: bytes) -> tuple[str, ...]:
    """The stop sequences that were asked for; nearly always none."""
    if b'"stop_sequences"' not in body:
        return ()
    try:
        return tuple(msgspec.json.decode(body, type=_Stops).stop_sequences or ())
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return ()
