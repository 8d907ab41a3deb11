"""Align: put an answer's thinking back between the visible blocks where it stood.

The recording's thinking is the truth, its visible part is not: what the client sends is what the vendor saw last time, so
that stays, whatever the model once said. The two line up by type, and id or trimmed text, in order; empty texts, which
clients add and drop at will, count for nothing. If they do not line up, nothing is put anywhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from clew.model.blocks import Block, Made, is_signed, is_thinking, made, string_of
from clew.model.recording import AnswerContent, Recording
from clew.thinking.history import AnswerPiece
from clew.thinking.keys import key_of

__all__ = ["align", "holds_all"]


def holds_all(pieces: Sequence[AnswerPiece], recording: Recording) -> bool:
    """Whether the client's copy has exactly the recording's thinking, in its order."""
    own = tuple(key_of(piece.block) for piece in pieces if is_thinking(piece.block))
    return own == recording.keys


def align(pieces: Sequence[AnswerPiece], recording: Recording) -> tuple[AnswerPiece, ...] | None:
    """The client's visible blocks with the recording's thinking, verbatim, between them; None if they do not line up."""
    recorded = [made(raw) for raw in recording.blocks]
    visible = [piece for piece in pieces if not is_thinking(piece.block)]
    if not visible or _as_held(_tokens(recorded), recording.said) != _tokens([piece.block for piece in visible]):
        return None
    held = {key: piece.message for piece in pieces if (key := key_of(piece.block))}
    out = _merge(recorded, visible, [held.get(key) for key in recording.keys])
    ends_in_thinking = is_thinking(out[-1].block) and not is_thinking(recorded[-1])
    return None if ends_in_thinking else tuple(out)


def _merge(recorded: Sequence[Made], visible: Sequence[AnswerPiece], homes: Sequence[int | None]) -> list[AnswerPiece]:
    """`homes` are the messages in which the client holds each thought: one that it split off stays by itself."""
    out: list[AnswerPiece] = []
    rest, home = iter(visible), iter(homes)
    waiting: list[tuple[Made, int | None]] = []
    for block in recorded:
        if is_thinking(block):
            waiting.append((block, next(home, None)))
        elif _token(block):
            first = out[-1].message if out else 0
            piece = _next_meaningful(rest, out)
            out[len(out) :] = [*_between(waiting, first, piece.message), piece]
            waiting.clear()
    out.extend(rest)
    last = out[-1].message
    out.extend(AnswerPiece(max(last, at or 0), each) for each, at in waiting)
    return out


def _between(waiting: Sequence[tuple[Made, int | None]], first: int, last: int) -> Iterator[AnswerPiece]:
    """Each where the client holds it, if the order allows it; else beside what follows it."""
    for block, home in waiting:
        first = home if home is not None and first <= home <= last else last
        yield AnswerPiece(first, block)


def _next_meaningful(rest: Iterator[AnswerPiece], out: list[AnswerPiece]) -> AnswerPiece:
    """The next visible block that counts; empty texts on the way stay where the client has them."""
    for piece in rest:
        if _token(piece.block):
            return piece
        out.append(piece)
    raise AssertionError("the tokens were compared before")


def _tokens(blocks: Sequence[Block]) -> list[tuple[str, str]]:
    return [token for block in blocks if not is_thinking(block) and (token := _token(block))]


def _as_held(tokens: list[tuple[str, str]], said: AnswerContent) -> list[tuple[str, str]]:
    """The maker's tool ids as the client got them (a safe id may stand for each), in order."""
    ids = iter(said.ids)
    return [(type, next(ids, id)) if type.endswith("tool_use") else (type, id) for type, id in tokens]


def _token(block: Block) -> tuple[str, str] | None:
    """What a visible block is known by; None for an empty text."""
    if block.type == "text":
        text = string_of(block.text).strip()
        return ("text", text) if text else None
    id = block.id if is_signed(block.id) else block.tool_use_id
    return (block.type, id if is_signed(id) else "")
