"""Weaving: an answer that somebody else wrote down becomes a recording, as if clew had heard it.

What finds a recording again (keys, tool ids, place) comes from the blocks as the client holds them; what is kept is what the
maker said, so a seal that verifies comes off. A strand is a guess that fits the clients: they send back all thinking of the
model that they ask. Where an answer is recorded already, heard by a gateway or imported before, it is found and not made
twice, and what follows it goes on in its thread.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Final

import msgspec
from msgspec import Struct

from clew.chat.formats.shape import Reading
from clew.errors import SealInvalid
from clew.model.blocks import FILLER, Made, is_thinking, string_of, well_made
from clew.model.json import JsonObject
from clew.model.origin import ANTHROPIC, Origin
from clew.model.recording import Recording, Said, Strand
from clew.model.request import Message
from clew.thinking.keys import Asked, asked_of, key_of, place_of, proof_of, said_of
from clew.thinking.seal import Seal, is_seal

__all__ = ["IMPORTED", "Chain", "Given", "Woven", "asked_in", "id_of", "title_of", "weave"]

IMPORTED: Final = "imported"
"""The backend of an answer of which only a file tells."""
UNKNOWN: Final = "unknown"
"""The realm of thinking that somebody signed, and nobody says who: it goes to no backend."""

_TITLE: Final = 80
_message = msgspec.json.Decoder(Message)


class Chain(Struct, frozen=True, kw_only=True):
    """Where a conversation stands after an answer: enough to weave the next one, and small, since forks keep many."""

    first: Asked
    thread: str
    last: str
    by_maker: Mapping[tuple[str, str], str]
    """The newest answer of each realm and model: the strand of the next one goes on from there."""


class Given(Struct, frozen=True, kw_only=True):
    """An answer as a file has it."""

    name: str
    """What tells it from every other answer of its file."""
    model: str
    blocks: tuple[bytes, ...]
    asked: tuple[bytes, ...] = ()
    session: str = ""
    agent: str = ""
    thread: str
    whole: bool = True


class Woven(Struct, frozen=True):
    """The recording, new or found, and where the conversation stands after it."""

    recording: Recording
    chain: Chain
    new: bool


def id_of(*parts: str) -> str:
    """A name that is the same for the same parts, on every machine and each time."""
    return sha256(msgspec.json.encode(parts)).hexdigest()[:32]


def asked_in(messages: Sequence[bytes]) -> Asked:
    """What these user messages ask. Raises DecodeError for what is no message."""
    read = [_message.decode(raw) for raw in messages]
    return asked_of(message.content for message in read if message.role not in ("assistant", "system"))


def title_of(asked: Asked) -> str:
    words = " ".join(asked.texts[0].split()) if asked.texts else ""
    return words if len(words) <= _TITLE else words[: _TITLE - 1] + "…"


def weave(given: Given, chain: Chain | None, reading: Reading) -> Woven:
    """Raises what a decoder raises for blocks or questions that cannot be read."""
    held = [well_made(raw) for raw in given.blocks]
    asked, said = asked_in(given.asked), _said(held)
    first = chain.first if chain else asked
    before = reading.known.by_id(chain.last) if chain else None
    place = place_of(reading.principal, first, before.said if before else None, asked, said)
    known = _known(held, said, place, given, chain, reading)
    recording = known or _recording(given, held, said, place, chain, reading)
    return Woven(recording, _chain(recording, first, chain), known is None)


def _chain(recording: Recording, first: Asked, chain: Chain | None) -> Chain:
    by_maker = {**(chain.by_maker if chain else {}), _maker(recording.origin): recording.id}
    return Chain(first=first, thread=recording.thread, last=recording.id, by_maker=by_maker)


def _maker(origin: Origin) -> tuple[str, str]:
    return origin.realm, origin.model


def _said(held: Sequence[Made]) -> Said:
    """What stands in place of an answer that had nothing but foreign thinking is nobody's words."""
    said = said_of(held)
    return Said((), ()) if said == Said((), (FILLER,)) else said


def _known(
    held: Sequence[Made], said: Said, place: bytes, given: Given, chain: Chain | None, reading: Reading
) -> Recording | None:
    """The recording that is there already: by its proofs, by its calls, at its place in the same session; or, of an answer
    that had nothing else, at its place behind the same answer: a file that lost the session is of that conversation."""
    known = reading.known
    for key in filter(None, map(key_of, held)):
        if found := known.by_key(key):
            return found
    for call in said.ids:
        if found := next((each for each in known.by_tool(call) if each.said == said), None):
            return found
    alike = [each for each in known.by_place(place) if each.said == said]
    same = [each for each in alike if given.session and (each.session, each.agent) == (given.session, given.agent)]
    if same or said.ids or any(map(key_of, held)):  # what could prove it was looked for
        return same[0] if same else None
    return _behind(alike, said, given, chain, reading)


def _behind(alike: Sequence[Recording], said: Said, given: Given, chain: Chain | None, reading: Reading) -> Recording | None:
    """The answer with these words that followed the same answer: a file may have lost the session, and some formats join the
    texts of a question."""
    followed = [each for each in alike if each.followed == (chain.last if chain else None)]
    if chain is not None:
        followed += [each for each in reading.followers(chain.thread, chain.last) if each.said == said]
    return next((each for each in followed if not given.session or each.thread == given.thread), None)


def _recording(
    given: Given, held: Sequence[Made], said: Said, place: bytes, chain: Chain | None, reading: Reading
) -> Recording:
    seals = [_opened(block, reading) for block in held]
    origin = _origin(given.model, held, seals)
    after = chain.by_maker.get(_maker(origin)) if chain else None
    return Recording(
        id=_id(given, said, seals),
        principal=reading.principal,
        origin=origin,
        blocks=tuple(map(_own_form, given.blocks, held, seals)),
        keys=tuple(key for block, seal in zip(held, seals, strict=True) if (key := _key(block, seal))),
        said=said,
        place=place,
        strand=Strand(after=after) if after else Strand(listed=()),
        followed=chain.last if chain else None,
        session=given.session,
        agent=given.agent,
        thread=chain.thread if chain else given.thread,
        whole=given.whole,
    )


def _opened(block: Made, reading: Reading) -> Seal | None:
    proof = proof_of(block)
    if reading.sealer is None or not is_seal(proof):
        return None
    try:
        return reading.sealer.open(proof, string_of(block.thinking), principal=reading.principal)
    except SealInvalid:
        return None


def _id(given: Given, said: Said, seals: Sequence[Seal | None]) -> str:
    """A seal says which exchange it was. Else the name in the file, and what was said: a client copies old answers into the
    files of new sessions."""
    exchanges = {seal.exchange for seal in seals if seal}
    return exchanges.pop() if len(exchanges) == 1 else id_of(given.name, *said.ids, *map(_sound, said.texts))


def _sound(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def _origin(model: str, held: Sequence[Made], seals: Sequence[Seal | None]) -> Origin:
    """Whom a seal names. Without one, thinking in the name of a Claude model is Claude's; a seal that does not open says
    that it is not."""
    if seal := next(filter(None, seals), None):
        return seal.origin
    foreign = any(is_seal(proof_of(block)) for block in held) or "claude" not in model.lower()
    return Origin(UNKNOWN if foreign else ANTHROPIC, IMPORTED, model)


def _key(block: Made, seal: Seal | None) -> bytes | None:
    """A seal that does not open proves nothing."""
    return None if seal is None and is_seal(proof_of(block)) else key_of(block)


def _own_form(raw: bytes, block: Made, seal: Seal | None) -> bytes:
    """The maker's own block: what the seal carried is its proof; without a payload at hand it has none."""
    if not is_thinking(block) or not is_seal(proof_of(block)):
        return raw
    field = "signature" if block.type == "thinking" else "data"
    carried = seal.payload if seal and not seal.reference else b""
    value = msgspec.json.decode(raw, type=JsonObject)
    return msgspec.json.encode({**value, field: carried.decode("utf-8", "replace")})
