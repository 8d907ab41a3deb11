"""An answer from a file becomes a recording, as if clew had relayed it.

Keys, tool ids and the place, which find a recording again, come from the blocks as the client has them. The recording keeps
what the maker said, so a seal that verifies is removed. The strand is a guess that fits the clients: they send back all
thinking of the model that they ask. An answer that is recorded already, by a gateway or by an earlier import, is found and
not recorded twice, and the answers after it go into its thread.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Final

import msgspec
from msgspec import Struct

from clew.chat.formats.format import ImportContext
from clew.errors import SealInvalid
from clew.model.blocks import FILLER, Made, is_thinking, string_of, well_made
from clew.model.json import JsonObject
from clew.model.origin import ANTHROPIC, Origin
from clew.model.recording import AnswerContent, Recording, Strand
from clew.model.request import RequestMessage
from clew.pipeline.thinking.opened import whole_block
from clew.thinking.keys import QuestionContent, answer_content, key_of, place_of, proof_of, question_content
from clew.thinking.seal import Seal, is_seal

IMPORTED: Final = "imported"
"""The backend of an answer that is known only from a file."""
_UNKNOWN: Final = "unknown"
"""The realm of thinking whose maker is not known: it goes to no backend."""

_message = msgspec.json.Decoder(RequestMessage)


class Chain(Struct, frozen=True, kw_only=True):
    """The position of a conversation after an answer. It is all that the next answer needs, and small: forks keep many."""

    first: QuestionContent
    thread: str
    last: str
    by_maker: Mapping[tuple[str, str], str]
    """The newest answer of each realm and model: the strand of the next answer continues from it."""


class FileAnswer(Struct, frozen=True, kw_only=True):
    """An answer as a file has it."""

    name: str
    """Different from the name of every other answer in the file."""
    model: str
    blocks: tuple[bytes, ...]
    asked: tuple[bytes, ...] = ()
    session: str = ""
    agent: str = ""
    thread: str
    whole: bool = True


class ImportedAnswer(Struct, frozen=True):
    """The recording, new or found, and the position of the conversation after it."""

    recording: Recording
    chain: Chain
    new: bool


def hash_of(*parts: str) -> str:
    """An id that is the same for the same parts, on every machine and each time."""
    return sha256(msgspec.json.encode(parts)).hexdigest()[:32]


def asked_in(messages: Sequence[bytes]) -> QuestionContent:
    """The question in these user messages. Raises DecodeError for anything but a message."""
    decoded = [_message.decode(raw) for raw in messages]
    return question_content(message.content for message in decoded if message.role not in ("assistant", "system"))


def import_answer(answer: FileAnswer, chain: Chain | None, context: ImportContext) -> ImportedAnswer:
    """The recording of an answer that follows `chain`. Raises the decoder's exceptions for broken blocks or questions."""
    held = [well_made(raw) for raw in answer.blocks]
    said = answer_content(held)
    if said == AnswerContent((), (FILLER,)):  # clew's own, for an answer that had only foreign thinking: nobody said it
        said = AnswerContent((), ())
    asked = asked_in(answer.asked)
    first = chain.first if chain else asked
    before = context.known.by_id(chain.last) if chain else None
    place = place_of(context.principal, first, before.said if before else None, asked, said)
    known = _find_known(held, said, place, answer, chain, context)
    recording = known or _new_recording(answer, held, said, place, chain, context)
    context.taken[recording.id] = answer.name
    makers = {**(chain.by_maker if chain else {}), (recording.origin.realm, recording.origin.model): recording.id}
    after = Chain(first=first, thread=recording.thread, last=recording.id, by_maker=makers)
    return ImportedAnswer(recording, after, known is None)


def _find_known(
    held: Sequence[Made], said: AnswerContent, place: bytes, answer: FileAnswer, chain: Chain | None, context: ImportContext
) -> Recording | None:
    """The existing recording: by its proofs, by its tool calls, or at its place in the same session.

    An answer that has no proofs and no calls is also found by its words after the same answer: a file may have lost the
    session, and some formats join the texts of a question. By its place no recording is found for two answers of a file: the
    same words may be said again and again.
    """
    known = context.known
    for key in filter(None, map(key_of, held)):
        if found := known.by_key(key):
            return found
    for call in said.ids:
        if found := next((each for each in known.by_tool(call) if each.said == said), None):
            return found
    alike = [
        each
        for each in known.by_place(place)
        if each.said == said and context.taken.get(each.id, answer.name) == answer.name
    ]
    same = [each for each in alike if answer.session and (each.session, each.agent) == (answer.session, answer.agent)]
    if same or said.ids or any(map(key_of, held)):
        return _nearest(same, chain, context)
    followed = [each for each in alike if each.followed == (chain.last if chain else None)]
    if chain is not None:
        followed += [each for each in context.followers(chain.thread, chain.last) if each.said == said]
    return next((each for each in followed if not answer.session or each.thread == answer.thread), None)


def _nearest(same: Sequence[Recording], chain: Chain | None, context: ImportContext) -> Recording | None:
    """Of recordings at one place in one session, the one that followed the answer before. Of very many the store tells
    only the newest, so its thread is looked through."""
    if len(same) < 2:
        return same[0] if same else None
    last = chain.last if chain else None
    names = {(each.said, each.session, each.agent) for each in same}
    others = context.followers(chain.thread, chain.last) if chain else ()
    followers = (
        each for each in (*same, *others) if each.followed == last and (each.said, each.session, each.agent) in names
    )
    return next(followers, same[0])


def _new_recording(
    answer: FileAnswer, held: Sequence[Made], said: AnswerContent, place: bytes, chain: Chain | None, context: ImportContext
) -> Recording:
    seals = [_open_seal(block, context) for block in held]
    origin = _origin_of(answer.model, held, seals)
    after = chain.by_maker.get((origin.realm, origin.model)) if chain else None
    # The exchange that a seal names; else a hash of the name and the words: clients copy old answers into new sessions.
    exchanges = {seal.exchange for seal in seals if seal}
    texts = (text.encode("utf-8", "replace").decode() for text in said.texts)
    # A seal that does not open proves nothing, so its block has no key.
    provable = [block for block, seal in zip(held, seals, strict=True) if seal is not None or not is_seal(proof_of(block))]
    return Recording(
        id=exchanges.pop() if len(exchanges) == 1 else hash_of(answer.name, *said.ids, *texts),
        principal=context.principal,
        origin=origin,
        blocks=tuple(map(_unsealed, answer.blocks, held, seals)),
        keys=tuple(filter(None, map(key_of, provable))),
        said=said,
        place=place,
        strand=Strand(after=after) if after else Strand(listed=()),
        followed=chain.last if chain else None,
        session=answer.session,
        agent=answer.agent,
        thread=chain.thread if chain else answer.thread,
        whole=answer.whole,
    )


def _open_seal(block: Made, context: ImportContext) -> Seal | None:
    proof = proof_of(block)
    if context.sealer is None or not is_seal(proof):
        return None
    try:
        return context.sealer.open(proof, string_of(block.thinking), principal=context.principal)
    except SealInvalid:
        return None


def _origin_of(model: str, held: Sequence[Made], seals: Sequence[Seal | None]) -> Origin:
    """The maker that a seal names. Without a seal, thinking under the name of a Claude model is Claude's; with a seal that
    does not open, it is not."""
    if seal := next(filter(None, seals), None):
        return seal.origin
    foreign = any(is_seal(proof_of(block)) for block in held) or "claude" not in model.lower()
    return Origin(_UNKNOWN if foreign else ANTHROPIC, IMPORTED, model)


def _unsealed(raw: bytes, block: Made, seal: Seal | None) -> bytes:
    """The maker's own block: its proof is the payload of the seal, or empty if there is no payload."""
    if not is_thinking(block) or not is_seal(proof_of(block)):
        return raw
    if seal is not None and seal.kind and not seal.reference:
        return whole_block(seal).raw
    field = "signature" if block.type == "thinking" else "data"
    payload = seal.payload if seal and not seal.reference else b""
    value = msgspec.json.decode(raw, type=JsonObject)
    return msgspec.json.encode({**value, field: payload.decode("utf-8", "replace")})
