"""The latest assistant message must hold its thinking as the model gave it (R34).

Thinking blocks that stand in a row must be a whole row of one response, in its order: nothing left out at the front or in
between, nothing of another response joined. A row that was left out altogether is no matter of this rule, and what was cut
off at the end cannot be known, since a signature is made before what follows it. The text is compared only here (C-6): it
is what the signature was made for, or none. Whatever a client puts into a block that it got without text is ignored; since
the signature is the same for every `display` (R41), that a block was given so is in the vendor's books, not in the block.
"""

from __future__ import annotations

from collections.abc import Iterator

from clew.simulator.judge.case import Case
from clew.simulator.judge.findings import Finding
from clew.simulator.judge.signature import Imprint, hash_text
from clew.simulator.judge.thoughts import Thought, Thread
from clew.simulator.judge.values import string

__all__ = ["check_modified"]


def check_modified(case: Case, thread: Thread) -> Iterator[Finding]:
    before: Thought | None = None
    for thought in _latest(case, thread):
        if thought.imprint and _is_out_of_place(thought, thought.imprint, before):
            yield Finding("R34.modified", thought.block.path)
        if thought.imprint and _is_edited(case, thought, thought.imprint):
            yield Finding("R34.text-edited", thought.block.path)
        before = thought


def _latest(case: Case, thread: Thread) -> list[Thought]:
    last = next((run for run in reversed(case.runs) if run.role == "assistant"), None)
    places = {(block.message, block.index) for block in last.blocks} if last else set[tuple[int, int]]()
    return [thought for thought in thread.thoughts if (thought.block.message, thought.block.index) in places]


def _is_out_of_place(thought: Thought, own: Imprint, before: Thought | None) -> bool:
    """`before` is the thinking block ahead of it in this message, next to it or not."""
    other = before.imprint if before else None
    if thought.adjoins:
        return other is None or (other.answer, other.rank + 1) != (own.answer, own.rank)
    return own.rank != 0 or (other is not None and other.answer == own.answer and other.place >= own.place)


def _is_edited(case: Case, thought: Thought, own: Imprint) -> bool:
    """A text may be left out: without it the block is as `omitted` would have given it."""
    text, signature = (string(thought.block.value.get(key)) for key in ("thinking", "signature"))
    return text != "" and hash_text(text) != own.text and signature not in case.books.omitted
