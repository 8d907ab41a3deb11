"""Edits values inside JSON bytes and leaves every other byte alone.

An edit replaces a span of the original bytes; `apply` puts all edits of a document into effect in one pass. To know
the spans, one level is decoded with msgspec into raw values: that skips nested values at C speed and tells how long
each is, so only the white space and punctuation between them is walked in Python. (`spans` does that reading; this
module the writing.)

What happens to the bytes around, exactly. Entries are the elements of an array, or the members of an object:

- a replaced entry: only its value changes;
- dropped entries with a kept one after them: everything from the first dropped entry up to that kept one goes, so it
  takes their place, and the white space before them stays;
- dropped entries at the end: everything from the end of the last kept one to the end of the last dropped one goes, so
  the white space before the closing bracket stays;
- all dropped: the white space next to both brackets stays;
- an inserted entry goes directly before the kept entry that follows (`new,`), else directly after the last kept one
  (`,new`), else directly after the opening bracket.

An object that holds a key twice means different things to different readers, so clew passes it as it came but refuses
to edit that key, or to look behind it.
"""

from __future__ import annotations

import itertools
from bisect import bisect_left
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

import msgspec
from msgspec import UNSET

from clew.errors import RequestInvalid
from clew.model.blocks import Block
from clew.model.request import Edited, Request, RequestMessage
from clew.wire.spans import Member, Span, duplicate_keys, elements, members, offset_of

__all__ = [
    "Edit",
    "Member",
    "Span",
    "apply",
    "drop_key",
    "duplicate_keys",
    "edit_array",
    "edit_object",
    "elements",
    "locate",
    "members",
    "set_key",
    "shift",
]


class Edit(NamedTuple):
    """`new` instead of the bytes from `start` to `end`; an insertion where both are the same."""

    start: int
    end: int
    new: bytes


def apply(raw: bytes, edits: Iterable[Edit]) -> bytes:
    """All edits at once; their positions are those of `raw`. Edits may touch, in the order given, but not overlap."""
    view = memoryview(raw)  # the document is copied once, into the result
    pieces: list[bytes | memoryview] = []
    done = 0
    for edit in sorted(edits, key=lambda edit: (edit.start, edit.end)):
        assert edit.start >= done, f"edits overlap at byte {edit.start}"
        pieces += (view[done : edit.start], edit.new)
        done = edit.end
    return b"".join((*pieces, view[done:])) if pieces else raw


def shift(edits: Iterable[Edit], by: int) -> list[Edit]:
    """Edits of a value as edits of the document in which it stands at byte `by`."""
    return [Edit(edit.start + by, edit.end + by, edit.new) for edit in edits]


def edit_array(
    raw: bytes,
    *,
    drop: Collection[int] = (),
    insert: Mapping[int, Sequence[bytes]] | None = None,
    replace: Mapping[int, bytes] | None = None,
) -> list[Edit]:
    """Edits of an array, by index into what it holds now; `insert` puts values before an index (its length: the end)."""
    slots = elements(raw)
    replaced = [Edit(slots[i].start, slots[i].end, new) for i, new in (replace or {}).items() if i not in drop]
    return [*_rearranged(raw, slots, frozenset(drop), insert or {}), *replaced]


def edit_object(
    raw: bytes, *, put: Mapping[str, bytes] | None = None, drop: Collection[str] = (), path: str = ""
) -> list[Edit]:
    """Edits of an object: `put` replaces the value of a key or adds the key at the end, `drop` removes keys that are there.

    Raises RequestInvalid if one of these keys is there twice.
    """
    found = members(raw)
    place = {key: _only(found, key, path) for key in (*(put or {}), *drop)}
    replaced = [
        Edit(found[i].value_start, found[i].value_end, new) for key, new in (put or {}).items() if (i := place[key]) >= 0
    ]
    added = [msgspec.json.encode(key) + b":" + new for key, new in (put or {}).items() if place[key] < 0]
    gone = frozenset(place[key] for key in drop if place[key] >= 0)
    slots = [Span(member.key_start, member.value_end) for member in found]
    return [*_rearranged(raw, slots, gone, {len(slots): added} if added else {}), *replaced]


def set_key(raw: bytes, key: str, value: bytes, *, path: str = "") -> bytes:
    """The object with that key's value replaced, or added as its last member."""
    return apply(raw, edit_object(raw, put={key: value}, path=path))


def drop_key(raw: bytes, key: str, *, path: str = "") -> bytes:
    """The object without that key; the very same bytes if it has none."""
    return apply(raw, edit_object(raw, drop=(key,), path=path))


def locate(raw: bytes, path: Sequence[str | int]) -> tuple[int, int]:
    """Where the value at that path begins and ends. Raises RequestInvalid if there is none, or a key is doubled."""
    if not path:
        inner = raw.strip(b" \t\n\r")
        start = raw.find(inner)
        return start, start + len(inner)
    start, end = 0, len(raw)
    for depth, step in enumerate(path):
        above = path[:depth]
        if isinstance(step, int):
            spans = elements(raw[start:end])
            if not 0 <= step < len(spans):
                raise RequestInvalid(f"there is no element {step} among {len(spans)}", path=_joined(*above, step))
            first, last = spans[step]
        else:
            found = members(raw[start:end])
            place = _only(found, step, _joined(*above))
            if place < 0:
                raise RequestInvalid(f"there is no key {step!r}", path=_joined(*above, step))
            first, last = found[place].value_start, found[place].value_end
        start, end = start + first, start + last
    return start, end


def _rearranged(
    raw: bytes, slots: Sequence[Span], drop: frozenset[int], insert: Mapping[int, Sequence[bytes]]
) -> list[Edit]:
    """The edits that leave out and put in whole entries, with the right commas."""
    kept = [i for i in range(len(slots)) if i not in drop]
    if kept:
        # One cut for each run of dropped entries.
        ahead = [-1, *kept[:-1]]
        edits = [
            Edit(slots[last + 1].start, slots[i].start, b"") for last, i in zip(ahead, kept, strict=True) if i > last + 1
        ]
        if kept[-1] + 1 < len(slots):
            edits.append(Edit(slots[kept[-1]].end, slots[-1].end, b""))
        for index, news in sorted(insert.items()):
            assert 0 <= index <= len(slots), f"no place {index} among {len(slots)} entries"
            place = bisect_left(kept, index)
            is_last = place == len(kept)
            at = slots[kept[-1]].end if is_last else slots[kept[place]].start
            edits += [Edit(at, at, b"," + new if is_last else new + b",") for new in news]
        return edits
    news = [new for _, news in sorted(insert.items()) for new in news]
    if slots:
        return [Edit(slots[0].start, slots[-1].end, b",".join(news))]
    inside = next(i for i, byte in enumerate(raw) if byte in b"[{") + 1
    return [Edit(inside, inside, b",".join(news))] if news else []


def _only(found: Sequence[Member], key: str, path: str) -> int:
    """The index of the member with that key; -1 if there is none."""
    places = [i for i, member in enumerate(found) if member.key == key]
    if len(places) > 1:
        raise RequestInvalid(f"duplicate key {key!r} cannot be edited safely; send it once", path=_joined(path, key))
    return places[0] if places else -1


def _joined(*steps: str | int) -> str:
    return ".".join(str(step) for step in steps if step != "")


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
    kept = {id(block) for block in after.content}
    rest = [block for block in before.content if id(block) in kept]
    if not rest or len(rest) != len(after.content) or any(a is not b for a, b in zip(rest, after.content, strict=True)):
        return None  # anything else happened, or nothing would be left
    gone = [block for block in before.content if id(block) not in kept]
    found = [_cut_block(raw, block) for block in gone]
    edits = [edit for edit in found if edit is not None]
    are_apart = all(a.end <= b.start for a, b in itertools.pairwise(edits))  # no two cuts share a comma
    return edits if len(edits) == len(found) and are_apart else None


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
