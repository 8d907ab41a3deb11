"""The most frequent edit, without a second reading of the document: thinking blocks that only have to go.

A thinking block's text is a view of the document, so its place is known at once (`offset_of`); and if the bytes around it
are the block as nearly everyone writes it, the whole block's are too. Anything else (other edits, other spellings, a message
that would be left empty) returns None, and the encoder reads the document again.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from msgspec import UNSET

from clew.model.blocks import Block
from clew.model.request import Edited, Request, RequestMessage
from clew.wire.spans import offset_of
from clew.wire.splice import Edit

_HEAD = b'{"type":"thinking","thinking":'


def cuts(request: Request) -> list[Edit] | None:
    """The edits of the messages, if all that happened to them is that thinking blocks were left out."""
    given, now = request.source.body.messages, request.messages
    if len(given) != len(now):
        return None
    edits: list[Edit] = []
    for before, after in zip(given, now, strict=True):
        if before is not after:
            cut = _cut_message(request.source.raw, before, after)
            if cut is None:
                return None
            edits += cut
    return edits


def _cut_message(raw: bytes, before: RequestMessage, after: RequestMessage) -> list[Edit] | None:
    if not isinstance(after, Edited) or after.given is not before or after.role != before.role:
        return None
    if after.output_config is not before.output_config:
        return None
    if not isinstance(before.content, tuple) or not isinstance(after.content, tuple):
        return None
    gone = _left_out(before.content, after.content)
    if gone is None:
        return None
    found = [_cut_block(raw, block) for block in gone]
    edits = [edit for edit in found if edit is not None]
    return edits if len(edits) == len(found) and _are_apart(edits) else None


def _left_out(before: Sequence[Block], after: Sequence[Block]) -> list[Block] | None:
    """The blocks that are gone; None if anything else happened, or nothing would be left."""
    kept = {id(block) for block in after}
    rest = [block for block in before if id(block) in kept]
    same = len(rest) == len(after) and all(a is b for a, b in zip(rest, after, strict=True))
    return [block for block in before if id(block) not in kept] if same and rest else None


def _cut_block(raw: bytes, block: Block) -> Edit | None:
    """The block and one comma beside it."""
    if block.type != "thinking" or block.thinking is UNSET or not isinstance(block.signature, str):
        return None
    at = offset_of(block.thinking, raw)
    whole = b'%b%b,"signature":"%b"}' % (_HEAD, bytes(block.thinking), block.signature.encode("utf-8", "replace"))
    start = (at or 0) - len(_HEAD)
    # `{"` can only open an object: inside a string, that quote would end the string in the middle of a word.
    if at is None or start < 0 or not raw.startswith(whole, start):
        return None
    end = start + len(whole)
    if raw[end : end + 1] == b",":
        return Edit(start, end + 1, b"")
    return Edit(start - 1, end, b"") if raw[start - 2 : start] == b"}," else None


def _are_apart(edits: Sequence[Edit]) -> bool:
    """No two cuts share a comma."""
    return all(a.end <= b.start for a, b in itertools.pairwise(edits))
