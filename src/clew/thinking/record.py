"""Record: an answer with all that will find it again, and all that must go with it."""

from __future__ import annotations

from collections.abc import Sequence

from clew.model.blocks import Block, made
from clew.model.origin import Origin
from clew.model.past import Fold, each_of, folded
from clew.model.recording import Recording, Recordings, Strand
from clew.model.request import Message, Request, blocks_of
from clew.thinking.history import Answers, place_after
from clew.thinking.keys import Asked, Row, digest_of, key_of, place_of, proof_of, said_of
from clew.thinking.recognise import Context, last_recording
from clew.thinking.strands import strand_for

__all__ = ["recording_of", "recording_of_first"]


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
    thread: str = "",
    whole: bool = True,
) -> Recording:
    """The recording of an answer.

    `asked` is what the client sent, `going` what went to the maker for it, `blocks` the maker's own bytes, as far as each
    came to its stop. `held` are the same blocks as the client gets them, where seals and safe ids were put on. `unread` are
    the keys of blocks that the vendor reported as dropped for what came before them: those are not in the strand.
    `marks` tell of the form of `going` (`repairs`). No digest knows of them, so an answer with marks has none: whoever goes
    on from it in another form would be linked to them.
    """
    shown = held if held is not None else [made(raw) for raw in blocks]
    ahead = folded(going.messages, _SIGNED)
    if unread:
        ahead = tuple([block for block in ahead if key_of(block) not in unread])
    row = Row().longer([proof_of(block) for block in ahead]) if unread else folded(going.messages, _ROW)
    answers, said = Answers(asked.messages), said_of(shown)
    followed = last_recording(answers, shelf, context)
    return Recording(
        id=id,
        principal=context.principal,
        origin=origin,
        blocks=tuple(blocks),
        keys=tuple([key for block in shown if (key := key_of(block))]),
        said=said,
        place=place_after(context.principal, asked.messages, said, answers),
        strand=_strand(ahead, row, shelf, marks),
        digest=b"" if marks else row.longer([proof for block in shown if (proof := proof_of(block))]).digest(),
        followed=followed.id if followed else None,
        session=context.session,
        agent=context.agent,
        thread=thread,
        whole=whole,
    )


def _signed(messages: Sequence[Message]) -> list[Block]:
    return [block for message in messages for block in blocks_of(message) if proof_of(block)]


def _longer(row: Row, messages: Sequence[Message], at: int) -> Row:
    return row.longer([proof_of(block) for block in _signed(messages)])


_SIGNED = each_of(_signed)
_ROW = Fold(Row(), _longer)


def recording_of_first(
    id: str, *, question: Asked, blocks: Sequence[bytes], origin: Origin, context: Context, thread: str
) -> Recording:
    """The same for the answer to a question that nothing went before, and that the client gets as it came: there is nothing
    to find."""
    shown = [made(raw) for raw in blocks]
    said = said_of(shown)
    return Recording(
        id=id,
        principal=context.principal,
        origin=origin,
        blocks=tuple(blocks),
        keys=tuple([key for block in shown if (key := key_of(block))]),
        said=said,
        place=place_of(context.principal, question, None, question, said),
        strand=Strand(listed=()),
        digest=digest_of([proof for block in shown if (proof := proof_of(block))]),
        session=context.session,
        agent=context.agent,
        thread=thread,
    )


def _strand(ahead: Sequence[Block], row: Row, shelf: Recordings, marks: tuple[bytes, ...]) -> Strand:
    """The row that was sent. Nearly always it is that of the newest answer in it and that answer's own, which its digest
    says at once; else it is worked out key by key."""
    last = shelf.by_key(key_of(ahead[-1]) or b"") if ahead else None
    if last is not None and not marks and last.digest == row.digest():
        return Strand(after=last.id)
    return strand_for((*marks, *[key for block in ahead if (key := key_of(block))]), last, shelf)
