"""Builds the recording of an answer: all that finds it again, and all that must go with it."""

from __future__ import annotations

from collections.abc import Sequence

from clew.model.blocks import Block, made
from clew.model.origin import ANTHROPIC, Origin
from clew.model.recording import Recording, Recordings, Strand
from clew.model.request import Request, blocks_of
from clew.thinking.history import PastAnswers, place_after, thoughts_of
from clew.thinking.keys import ProofRow, answer_content, key_of, keys_digest, keys_of, proof_half, proof_of
from clew.thinking.recognise import Context, last_recording
from clew.thinking.strands import newest_in_realm, strand_for


def recording_of(
    id: str,
    *,
    asked: Request,
    going: Request,
    blocks: Sequence[bytes],
    origin: Origin,
    shelf: Recordings,
    context: Context,
    held: Sequence[Block] | None = None,
    unread: frozenset[bytes] = frozenset(),
    marks: tuple[bytes, ...] = (),
    lighter: tuple[bytes, ...] = (),
    thread: str = "",
    whole: bool = True,
) -> Recording:
    """The recording of an answer.

    `asked` is the client's request, `going` the request that went to the maker, `blocks` the maker's own bytes, as far as
    each block was finished. `held` are the same blocks as the client gets them, with seals and safe ids. `unread` are the
    keys of blocks that the vendor reported as dropped for what came before them: those are not in the strand. `marks` name
    the repairs of `going` (`strands`), `lighter` are the keys of thoughts in it that are only the rest of one.
    """
    maker = [made(raw) for raw in blocks]
    shown = held if held is not None else maker
    answers, said = PastAnswers(asked.messages), answer_content(shown)
    followed = last_recording(answers, shelf, context)
    if origin.realm == ANTHROPIC:
        strand, digest = _strand_of_claude(going, maker, unread, marks, shelf)
    else:
        ahead = [key for key in thoughts_of(going.messages).keys if key not in unread]
        own = keys_of(maker)
        last = newest_in_realm(origin.realm, followed, shelf)
        strand, digest = _strand_of_others((*marks, *ahead), own, (*marks, *lighter), last, shelf)
    return Recording(
        id=id,
        principal=context.principal,
        origin=origin,
        blocks=tuple(blocks),
        keys=keys_of(shown),
        said=said,
        place=place_after(context.principal, asked.messages, said),
        strand=strand,
        digest=digest,
        followed=followed.id if followed else None,
        session=context.session,
        agent=context.agent,
        thread=thread,
        whole=whole,
    )


def _strand_of_claude(
    going: Request, own: Sequence[Block], unread: frozenset[bytes], marks: tuple[bytes, ...], shelf: Recordings
) -> tuple[Strand, bytes]:
    """Strand and digest in realm `anthropic`: a row of blocks as they came. Clients hold them so, or whole under seals."""
    _, ahead, row, *_ = thoughts_of(going.messages)
    if unread:
        ahead = tuple([key for key in ahead if key not in unread])
        signed = [block for message in going.messages for block in blocks_of(message) if proof_of(block)]
        row = ProofRow().extended([block for block in signed if key_of(block) not in unread])
    # A digest does not cover marks. So an answer with marks has none: a later answer must not be linked to them by it.
    digest = b"" if marks else row.extended([block for block in own if proof_of(block)]).digest()
    last = shelf.by_key(ahead[-1]) if ahead else None
    if last is not None and not marks and proof_half(last.digest) == proof_half(row.digest()):
        # Nearly always: the row of the newest answer in it, and that answer's own blocks.
        return Strand(after=last.id), digest
    return strand_for((*marks, *ahead), last, shelf), digest


def _strand_of_others(
    sent: tuple[bytes, ...], own: tuple[bytes, ...], remarks: tuple[bytes, ...], last: Recording | None, shelf: Recordings
) -> tuple[Strand, bytes]:
    """Strand and digest elsewhere, where clients hold seals, or nothing.

    The row is of the blocks under the seals, and no block of it leads to its recording. The newest answer of the realm is
    the newest in the row, or what was sent is not its row at all.
    """
    digest = keys_digest((*sent, *own))
    if sent and last is not None and last.digest == keys_digest(sent):
        return Strand(after=last.id, listed=remarks or None), digest
    return strand_for(sent, last, shelf, remarks), digest
