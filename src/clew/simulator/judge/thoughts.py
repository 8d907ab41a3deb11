"""The thinking that came back: each block with what its signature says and what stands before it now (R33).

Signatures are verified in every turn, also where the model will not see the block. A block that proves nothing is refused;
only whoever switches that rule off gets one past, and then nothing is known of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from clew.simulator.interfaces import Books
from clew.simulator.judge.canonical import Prefix, is_summary, opening, tools_of
from clew.simulator.judge.case import Case
from clew.simulator.judge.findings import Finding
from clew.simulator.judge.history import Block
from clew.simulator.judge.signature import Imprint, verify
from clew.simulator.judge.values import string

__all__ = ["Thought", "Thread", "check_empty_signatures", "check_signatures", "read_thread"]


@dataclass(frozen=True, slots=True)
class Thought:
    """A thinking block of the request."""

    block: Block
    prefix: Prefix
    """What stands before it in this request."""
    epoch: int
    """How many summaries stand before it: only the newest epoch is read."""
    adjoins: bool
    """The block right before it in its run is thinking too."""
    id: bytes = b""
    imprint: Imprint | None = None
    """None if the signature is not ours."""
    whose: Literal["own", "foreign", "unknown"] = "unknown"


@dataclass(frozen=True, slots=True)
class Thread:
    """The conversation up to the answer that is asked for."""

    thoughts: tuple[Thought, ...]
    end: Prefix
    epoch: int


def read_thread(case: Case, key: bytes) -> Thread:
    """One pass over the messages, carrying what was said so far."""
    thoughts: list[Thought] = []
    prefix, tools, epoch = opening(case.body), tools_of(case.body), 0
    before: tuple[str, bool] = ("", False)
    for message in case.messages:
        for block in message.blocks:
            thinks = block.is_thinking and message.role == "assistant"
            if thinks:
                thought = Thought(block, prefix, epoch, adjoins=before == ("assistant", True))
                thoughts.append(_proven(thought, case.books, key))
            else:
                prefix = prefix.after(message.role, block.value, tools)
                epoch += is_summary(block.value)
            if message.role != "system":
                before = (message.role, thinks)
    return Thread(tuple(thoughts), prefix, epoch)


def _proven(thought: Thought, books: Books, key: bytes) -> Thought:
    redacted = thought.block.type == "redacted_thinking"
    given = string(thought.block.value.get("data" if redacted else "signature"))
    proof = verify(key, given, redacted=redacted)
    if proof is not None:
        return replace(thought, id=proof[0], imprint=proof[1], whose="own")
    if (given or string(thought.block.value.get("thinking"))) in books.given:
        return replace(thought, whose="own")
    return replace(thought, whose="foreign" if given else "unknown")


def check_empty_signatures(case: Case) -> Iterator[Finding]:
    """What needs no secret."""
    for message in case.messages:
        if message.role == "assistant":
            yield from (_empty(block) for block in message.blocks if _is_unsigned(block))


def _is_unsigned(block: Block) -> bool:
    return block.type == "thinking" and block.value.get("signature") == ""


def _empty(block: Block) -> Finding:
    if block.value.get("thinking") == "":
        return Finding("R33.empty-block", f"{block.path}.thinking")
    return Finding("R33.empty-signature", block.path)


def check_signatures(thread: Thread) -> Iterator[Finding]:
    for thought in thread.thoughts:
        if thought.imprint is None and not _is_unsigned(thought.block):
            redacted = thought.block.type == "redacted_thinking"
            yield Finding("R33.invalid-data" if redacted else "R33.invalid-signature", thought.block.path)
