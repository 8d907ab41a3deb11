"""Turns: what an exchange leaves in the store."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from hashlib import sha256
from operator import itemgetter

from msgspec import Struct, structs

from clew.dialects.shape import AnswerContext
from clew.errors import KeyForbidden, PinUnreadable, RequestInvalid, SettingsInvalid
from clew.exchange.backend_dialect import RememberedRequest
from clew.exchange.call import OwnTurn
from clew.exchange.inputs import BackendRoute, ReceivedRequest
from clew.model.blocks import Block, Made, made
from clew.model.bounds import MOST_TOKENS
from clew.model.json import JsonObject, JsonValue, encoded, read_json
from clew.model.origin import Origin
from clew.model.recording import AnswerContent, Recording, Strand
from clew.model.request import Request, blocks_of
from clew.model.texts import aside_in
from clew.model.tokens import OUTPUT_ESTIMATED
from clew.model.turn import Bodies, Exchange, NativeTurn, Outcome, TokenUsage, Try, TurnRecord
from clew.pipeline.stream.answer import AnswerSoFar
from clew.pipeline.stream.client_view import heard_tokens
from clew.thinking.history import first_question
from clew.thinking.keys import QuestionContent, key_of
from clew.thinking.record import recording_of
from clew.wire.requests import messages_after_last_answer

_TITLE = 80
_COUNTS = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
_all_counts: Callable[[JsonObject], tuple[JsonValue, ...]] = itemgetter(*_COUNTS)
_PREFIX_MISMATCH = "prefix_binding_mismatch"


class ReceivedAnswer(Struct, frozen=True, kw_only=True, eq=False):
    """An answer, as far as it came: what its maker said, and what the client holds of it (None: the same)."""

    answer: AnswerSoFar
    held: Sequence[Block] | None = None
    whole: bool = True


def with_late(heard: ReceivedAnswer, late: JsonObject) -> ReceivedAnswer:
    """The same, with a thinking block at its end that came too late for the client."""
    answer = heard.answer
    held = heard.held if heard.held is not None else [made(block) for block in answer.blocks]
    return structs.replace(heard, answer=structs.replace(answer, blocks=(*answer.blocks, late)), held=held)


def origin_of(route: BackendRoute) -> Origin:
    """Who made it. The model as it was asked for: what a vendor calls itself may be an alias that moves."""
    return Origin(route.target.realm, route.backend.name, route.target.model, route.target.account)


def recording_for(
    id: str, received: ReceivedRequest, route: BackendRoute, said: RememberedRequest, heard: ReceivedAnswer | None
) -> Recording | None:
    """The recording; None for an answer of which no block was complete, where its caller does not say what it followed."""
    entry = received.call.entry
    if heard is None or not heard.answer.blocks:
        return unanswered(entry, received.call.principal, origin_of(route)) if entry else None
    answer, going = heard.answer, said.request
    recording = recording_of(
        id,
        asked=received.request,
        going=going,
        blocks=[encoded(block) for block in answer.blocks],
        origin=origin_of(route),
        shelf=received.shelf,
        context=received.facts.context,
        held=heard.held,
        unread=_unread(going, answer),
        marks=said.marks,
        lighter=said.reduced,
        thread=received.thread,
        whole=heard.whole,
    )
    return recording if entry is None else structs.replace(recording, followed=entry.follows or None)


def native_turn_for(
    received: ReceivedRequest, heard: ReceivedAnswer, recording: Recording, context: AnswerContext
) -> NativeTurn | None:
    """The turn in the client's own dialect, where such clients may name it later."""
    stored = received.call.front.stored
    if stored is None:
        return None
    message = {**heard.answer.message}
    if heard.held is not None:
        message["content"] = [read_json(block.raw) for block in heard.held if isinstance(block, Made)]
    native = stored.keep_turn(message, context)
    return native and structs.replace(native, follows=recording.followed or "")


def unanswered(entry: OwnTurn, principal: str, origin: Origin) -> Recording:
    """An answer of which nothing came: it says what it would have followed, and nothing leads to it."""
    return Recording(
        id=entry.id,
        principal=principal,
        origin=origin,
        blocks=(),
        keys=(),
        said=AnswerContent(),
        place=sha256(b"unanswered " + entry.id.encode()).digest(),
        strand=Strand(),
        followed=entry.follows or None,
        session=entry.session,
        agent=entry.agent,
        thread=entry.thread,
        whole=False,
    )


def _unread(going: Request, answer: AnswerSoFar) -> frozenset[bytes]:
    """Blocks that the vendor says it dropped because what came before them changed: they are not in the strand."""
    unread: set[bytes] = set()
    for path, reason in answer.dropped:
        words = path.split(".")
        if reason != _PREFIX_MISMATCH or len(words) != 4 or not (words[1].isdigit() and words[3].isdigit()):
            continue
        message, block = int(words[1]), int(words[3])
        blocks = blocks_of(going.messages[message]) if message < len(going.messages) else ()
        if block < len(blocks) and (key := key_of(blocks[block])):
            unread.add(key)
    return frozenset(unread)


def asked_raw(request: Request) -> tuple[bytes, ...]:
    """What the client said since the answer before, as it said it; nothing where that can be read in two ways."""
    try:
        return messages_after_last_answer(request)
    except RequestInvalid:  # a key that is there twice passes, but there is no one place to quote
        return ()


def title_of(request: Request) -> str:
    """The first words that a person said: before the first answer, and not for the model alone."""
    return titled(first_question(request.messages))


def titled(asked: QuestionContent) -> str:
    """The same, of what was asked first."""
    said = next((text for text in asked.texts if not aside_in(text)), asked.texts[0] if asked.texts else "")
    words = " ".join(said.split(maxsplit=_TITLE)[:_TITLE])
    return words if len(words) <= _TITLE else words[: _TITLE - 1] + "…"


def usage_of(answer: AnswerSoFar, outcome: Outcome) -> TokenUsage | None:
    """The vendor's counts; None where it gave none. Of an answer that was cut it counted the beginning, and what was heard
    since counts too."""
    usage = answer.usage
    if not usage:
        return None
    asked, said, read, written = counts_of(usage)
    details = usage.get("output_tokens_details")
    thought = details.get("thinking_tokens") if isinstance(details, dict) else None
    return TokenUsage(
        input=asked,
        output=max(said, heard_tokens(answer.message)) if outcome == "cut" else said,
        cache_read=read,
        cache_written=written,
        estimated=outcome != "whole" or usage.get(OUTPUT_ESTIMATED) is True,
        thinking=thought if type(thought) is int and 0 <= thought <= MOST_TOKENS else None,
    )


def counts_of(usage: JsonObject) -> Sequence[int]:
    """Of the input, of the output, read from a cache and written to it. Every exchange is counted: where all four are told,
    as nearly always, they are taken at once."""
    try:
        asked, said, read, written = counts = _all_counts(usage)
    except KeyError:
        counts = tuple(map(usage.get, _COUNTS))
    else:
        if (type(asked) is int and type(said) is int and type(read) is int and type(written) is int) and (
            min(asked, said, read, written) >= 0 and max(asked, said, read, written) <= MOST_TOKENS
        ):
            return asked, said, read, written
    return [value if type(value) is int and 0 < value <= MOST_TOKENS else 0 for value in counts]


def unasked_turn(id: str, received: ReceivedRequest, failure: SettingsInvalid | KeyForbidden, at: float) -> TurnRecord:
    """Of a request for which no backend can be asked. The backend is the chosen one, and its model is not known."""
    call, context, entry = received.call, received.facts.context, received.call.entry
    exchange = Exchange(
        id=id,
        principal=call.principal,
        thread=received.thread,
        started=at,
        ended=at,
        asked_model=received.request.body.model,
        backend=failure.key,
        model="",
        session=context.session,
        agent=context.agent,
        outcome="failed",
        status=failure.status,
        kind=received.exchange_kind,
        streamed=received.streams,
        tries=(Try(backend=failure.key, why=f"not asked: {failure}"),),
        betas=call.betas,
        dialect=call.front.name,
        client=call.program,
    )
    if exchange.kind != "messages" or isinstance(
        failure, PinUnreadable
    ):  # its words may belong to a thread that nobody can find now
        return TurnRecord(exchange=exchange)
    keeps_content = received.options.keeps_content
    return TurnRecord(
        exchange=exchange,
        recording=unanswered(entry, call.principal, Origin("", failure.key, "", "")) if entry else None,
        asked=(entry.asked if entry else asked_raw(received.request)) if keeps_content else (),
        title=title_of(received.request) if keeps_content else "",
        bodies=Bodies(asked=call.body) if received.options.keeps_bodies else None,
    )
