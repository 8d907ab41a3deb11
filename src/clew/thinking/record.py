"""Record: an answer with all that will find it again, and all that must go with it."""

from __future__ import annotations

from collections.abc import Sequence

from clew.model.blocks import Block, made
from clew.model.origin import Origin
from clew.model.recording import Recording, Recordings
from clew.model.request import Request, blocks_of
from clew.thinking.history import answers_of, place_after
from clew.thinking.keys import digest_of, key_of, proof_of, said_of
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
    row = [block for block in _thinking_in(going) if key_of(block) not in unread]
    keys = tuple(key for block in row if (key := key_of(block)))
    answers, said = answers_of(asked.messages), said_of(shown)
    followed = last_recording(answers, shelf, context)
    return Recording(
        id=id,
        principal=context.principal,
        origin=origin,
        blocks=tuple(blocks),
        keys=tuple(key for block in shown if (key := key_of(block))),
        said=said,
        place=place_after(context.principal, asked.messages, said, answers),
        strand=strand_for(keys, shelf.by_key(keys[-1]) if keys else None, shelf),
        digest=digest_of([proof for block in (*row, *shown) if (proof := proof_of(block))]),
        followed=followed.id if followed else None,
        session=context.session,
        agent=context.agent,
        thread=thread,
        whole=whole,
    )


def _thinking_in(request: Request) -> list[Block]:
    return [block for message in request.messages for block in blocks_of(message) if proof_of(block)]
