"""Record: an answer with all that will find it again, and all that must go with it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from clew.model.blocks import Block, made
from clew.model.origin import Origin
from clew.model.recording import Recording, Recordings
from clew.model.request import Request, blocks_of
from clew.thinking.history import Answers, place_after
from clew.thinking.keys import block_key, digest_of, proof_of, said_of
from clew.thinking.recognise import Context, last_recording
from clew.thinking.strands import strand_for

__all__ = ["recording_of"]


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
    thread: str = "",
    whole: bool = True,
) -> Recording:
    """The recording of an answer.

    `asked` is what the client sent, `going` what went to the maker for it, `blocks` the maker's own bytes, as far as each
    came to its stop. `held` are the same blocks as the client gets them, where seals and safe ids were put on. `unread` are
    the keys of blocks that the vendor reported as dropped for what came before them: those are not in the strand.
    """
    shown = held if held is not None else [made(raw) for raw in blocks]
    ahead = [each for message in going.messages for each in _proved(blocks_of(message)) if each.key not in unread]
    own, keys = _proved(shown), tuple([each.key for each in ahead])
    answers, said = Answers(asked.messages), said_of(shown)
    followed = last_recording(answers, shelf, context)
    return Recording(
        id=id,
        principal=context.principal,
        origin=origin,
        blocks=tuple(blocks),
        keys=tuple([each.key for each in own]),
        said=said,
        place=place_after(context.principal, asked.messages, said, answers),
        strand=strand_for(keys, shelf.by_key(keys[-1]) if keys else None, shelf),
        digest=digest_of([each.proof for each in (*ahead, *own)]),
        followed=followed.id if followed else None,
        session=context.session,
        agent=context.agent,
        thread=thread,
        whole=whole,
    )


class _Proved(NamedTuple):
    key: bytes
    proof: str


def _proved(blocks: Sequence[Block]) -> list[_Proved]:
    """What the thinking among these blocks is known by. Worked out once: a long history has hundreds."""
    return [_Proved(block_key(block.type, proof), proof) for block in blocks if (proof := proof_of(block))]
