"""The dialect `openai-chat`: requests are written in the backend's words, and its answers are translated."""

from __future__ import annotations

from collections.abc import Container
from functools import partial
from typing import Final, Self, cast

import msgspec
from msgspec import Struct, structs

from clew.backends.chat import options_of, path_of
from clew.backends.row import Backend
from clew.dialects.failures.reading import failure_of
from clew.dialects.openai_chat.answer.decoder import Asked
from clew.dialects.openai_chat.answer.headers import response_headers
from clew.dialects.openai_chat.answer.translate import Translation
from clew.dialects.openai_chat.answer.whole import translated
from clew.dialects.openai_chat.options import ChatOptions
from clew.dialects.openai_chat.payloads import reduce_thoughts, reduced_thoughts
from clew.dialects.openai_chat.repairs import REPAIRS
from clew.dialects.openai_chat.request_tools import own_name
from clew.dialects.openai_chat.requests import write_request
from clew.engine.call import Call, Kind
from clew.engine.dialects.refused import Refused, refused_for
from clew.engine.dialects.shape import Hints, Recalled, Remembered, Repair, Written
from clew.http.client.message import Headers
from clew.model.change import Change, What
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

    options: ChatOptions
    place: str
    tried: tuple[str, ...] = ()
    """Repairs that were tried."""
    before_it: tuple[str, ...] = ()
    """Repairs that an answer before remembers."""

    @classmethod
    def of(cls, backend: Backend, model: str) -> Self:
        return cls(options=options_of(backend, model), place=path_of(backend))

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
        return Written(*write_request(request, self.options))

    def relay(self, dress: Dress, hints: Hints) -> Relays:
        translation = Translation(_asked(hints), self.options.answer, own_ids=hints.own_ids)
        followed = translation if hints.tell is None else Traced(translation, hints.tell)
        return TranslatedRelay(dress, followed, eager=hints.eager, keep=hints.keep, blocks=hints.blocks)

    def message(self, raw: bytes, hints: Hints, kind: Kind) -> JsonObject | Refused | None:
        found = translated(raw, _asked(hints), self.options.answer, own_ids=hints.own_ids)
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
        words, tried = refused.body.decode("utf-8", "replace"), self.tried
        while found := REPAIRS.repair(self.options, refused.status, words, tried):
            weaker = structs.replace(self, options=found.options, tried=(*self.tried, found.name))
            if weaker.written(going).body != sent:
                return Repair(weaker, Change("heal", found.path, cast("What", found.what), found.why))
            tried = (*tried, found.name)
        return None

    def healed(self) -> OpenAIChat:
        """Its repairs are `repair`'s: what it refuses is written otherwise."""
        return self

    def recalled(self, row: Container[bytes], in_loop: bool) -> Recalled | None:
        names = repairs_in((*REPAIRS.lasting, *REPAIRS.loop_long) if in_loop else REPAIRS.lasting, row)
        repairs = REPAIRS.repeat(self.options, names)
        if not repairs:
            return None
        weaker = structs.replace(self, options=repairs[-1].options, before_it=names)
        return Recalled(weaker, tuple(Change("heal", "messages", "replaced", f"{AS_BEFORE}{each.why}") for each in repairs))

    def remembered(self, going: Request) -> Remembered:
        names = (*self.before_it, *self.tried)
        marks = tuple(repair_mark(name) for name in (*REPAIRS.lasting, *REPAIRS.loop_long) if name in names)
        said = reduce_thoughts(going) if "entries" in names else going
        return Remembered(said, marks, tuple([key for block in reduced_thoughts(said) if (key := key_of(block))]))


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
