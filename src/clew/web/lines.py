"""Which line of a thread a page shows, and what leads away from it.

A thread that was rewound has several lines; a page shows one, in the order in which it was said, and marks where others
begin. A question that nobody answered is shown where it was asked. The line is the one that ends with the newest answer, or
the newest that goes through a turn which is asked for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
from msgspec import Struct

from clew.store.text import texts_asked
from clew.store.values import Branch, Passage
from clew.web.reading import read

__all__ = ["Stretch", "first_words", "line_through", "stretches"]

_SUMMARY = "<conversation-summary "
"""What a line begins with that goes on from a summary: nobody's first words."""


def line_through(passages: Sequence[Passage], at: str = "") -> list[Passage]:
    """Oldest first: what was answered on the way to the newest turn that goes through `at`, and vain questions there."""
    tip = _newest_through(passages, at)
    before: dict[str, str] = {each.exchange: _follows(each) for each in passages if each.recording}
    by_answer = {each.recording.id: each.exchange for each in passages if each.recording}
    on: set[str] = set()
    while tip and tip not in on:
        on.add(tip)
        tip = by_answer.get(before.get(tip, ""), "")
    answers = {each.recording.id for each in passages if each.recording and each.exchange in on}
    return [each for each in passages if each.exchange in on or _is_vain(each, answers)]


def _follows(passage: Passage) -> str:
    return (passage.recording.followed or "") if passage.recording else ""


def _is_answered(passage: Passage) -> bool:
    return passage.recording is not None and bool(passage.recording.blocks)


def _is_vain(passage: Passage, answers: set[str]) -> bool:
    """Nobody answered, and it was asked on this line, or nobody knows where."""
    return not _is_answered(passage) and (not _follows(passage) or _follows(passage) in answers)


def _newest_through(passages: Sequence[Passage], at: str) -> str:
    """The exchange of the newest answer that goes back to `at`; of the newest of all if there is no such turn."""
    known = any(each.exchange == at and _is_answered(each) for each in passages)
    below: set[str] = set()
    newest = ""
    for each in passages:
        if each.recording and _is_answered(each) and (not known or each.exchange == at or _follows(each) in below):
            below.add(each.recording.id)
            newest = each.exchange
    return newest


class Stretch(Struct, frozen=True, kw_only=True):
    """A branch as the page lists it. `thread` is "" for this one."""

    number: int
    thread: str
    agent: str
    after: int
    """The number of the branch that it goes on from; 0 for a beginning."""
    depth: int
    turns: int
    ended: float
    begins: str
    """The first words that were asked in it."""
    last: str
    """Its last exchange, to go there."""
    shown: bool


def stretches(branches: Sequence[Branch], words: Mapping[str, str], thread: str, line: Sequence[Passage]) -> list[Stretch]:
    """Every branch and sub-agent; nothing for a thread that has no more than one. `words` are the first of each turn."""
    if len(branches) < 2:
        return []
    numbers = {exchange: number for number, branch in enumerate(branches, 1) for exchange in branch.exchanges}
    on = {passage.exchange for passage in line}
    depths: dict[int, int] = {0: -1}
    made: list[Stretch] = []
    for number, branch in enumerate(branches, 1):
        after = numbers.get(branch.after, 0)
        depths[number] = depths.get(after, -1) + 1
        made.append(_stretch(number, branch, after, depths[number], thread, words, on))
    return made


def _stretch(
    number: int, branch: Branch, after: int, depth: int, thread: str, words: Mapping[str, str], on: set[str]
) -> Stretch:
    return Stretch(
        number=number,
        thread=branch.thread if branch.thread != thread else "",
        agent=branch.agent,
        after=after,
        depth=min(depth, 4),
        turns=len(branch.exchanges),
        ended=branch.ended,
        begins=words.get(branch.exchanges[0], ""),
        last=branch.exchanges[-1],
        shown=branch.exchanges[-1] in on,
    )


def first_words(passage: Passage) -> str:
    """What was asked, as far as it is words."""
    try:
        texts = [*texts_asked(msgspec.json.encode(read(raw)) for raw in passage.asked)]
    except msgspec.MsgspecError:
        return ""
    own = [text for text in texts if not text.startswith(_SUMMARY)] or texts
    return " ".join(" ".join(own).split())[:80].strip()
