"""Turns: what an exchange leaves in the store."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from hashlib import sha256
from operator import itemgetter

from msgspec import Struct, structs

from clew.engine.backend_dialect import RememberedRequest
from clew.engine.call import OwnTurn
from clew.engine.received_request import ReceivedRequest
from clew.engine.route import BackendRoute
from clew.errors import RequestInvalid
from clew.model.blocks import Block, made
from clew.model.bounds import MOST_TOKENS
from clew.model.json import JsonObject, JsonValue, encoded
from clew.model.origin import Origin
from clew.model.recording import AnswerContent, Recording, Strand
from clew.model.request import Request, blocks_of
from clew.model.turn import TokenUsage
from clew.pipeline.stream.answer import AnswerSoFar
from clew.thinking.keys import QuestionContent, key_of, question_content
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
    recording = _recording(id, received, route, said, heard)
    return recording if entry is None else structs.replace(recording, followed=entry.follows or None)


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


def _recording(
    id: str, received: ReceivedRequest, route: BackendRoute, said: RememberedRequest, heard: ReceivedAnswer
) -> Recording:
    answer, going = heard.answer, said.request
    return recording_of(
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


def _unread(going: Request, answer: AnswerSoFar) -> frozenset[bytes]:
    """Blocks that the vendor says it dropped because what came before them changed: they are not in the strand."""
    paths = [path for path, reason in answer.dropped if reason == _PREFIX_MISMATCH]
    return frozenset(key for path in paths if (block := _at(going, path)) and (key := key_of(block)))


def _at(going: Request, path: str) -> Block | None:
    words = path.split(".")
    if len(words) != 4 or not (words[1].isdigit() and words[3].isdigit()):
        return None
    message, block = int(words[1]), int(words[3])
    if message >= len(going.messages):
        return None
    blocks = blocks_of(going.messages[message])
    return blocks[block] if block < len(blocks) else None


def asked_raw(request: Request) -> tuple[bytes, ...]:
    """What the client said since the answer before, as it said it; nothing where that can be read in two ways."""
    try:
        return messages_after_last_answer(request)
    except RequestInvalid:  # a key that is there twice passes, but there is no one place to quote
        return ()


def title_of(request: Request) -> str:
    """The first words that a person said."""
    return titled(question_content(message.content for message in request.messages[:1]))


def titled(asked: QuestionContent) -> str:
    """The same, of what was asked first."""
    words = " ".join(asked.texts[0].split(maxsplit=_TITLE)[:_TITLE]) if asked.texts else ""
    return words if len(words) <= _TITLE else words[: _TITLE - 1] + "…"


def usage_of(usage: JsonObject, *, estimated: bool) -> TokenUsage | None:
    """The vendor's counts; None where it gave none."""
    if not usage:
        return None
    counts = counts_of(usage)
    read, written = counts[2:]
    thought = _thought(usage.get("output_tokens_details"))
    return TokenUsage(
        input=counts[0], output=counts[1], cache_read=read, cache_written=written, estimated=estimated, thinking=thought
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


def _thought(details: JsonValue) -> int | None:
    value = details.get("thinking_tokens") if isinstance(details, dict) else None
    return value if type(value) is int and 0 <= value <= MOST_TOKENS else None
