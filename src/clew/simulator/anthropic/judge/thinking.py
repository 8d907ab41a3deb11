"""The thinking that came back: each block with the proof of its signature and the content before it (R33, R34).

Signatures are verified in every turn, also where the model will not see the block. A block that proves nothing is refused;
only a stance without that rule lets one pass, and then nothing is known about it.

The latest assistant message must hold its thinking as the model gave it (R34). Thinking blocks in a row must be a whole row
of one response, in its order: none missing at the front or between, none from another response. A row that is missing
altogether does not break this rule, and blocks cut off at the end cannot be noticed, since a signature is made before what
follows it. The text is compared only here (C-6). It may be the signed text, or empty. Text in a block that was given
without its text is ignored: the signature is the same for every `display` (R41), so the simulator's books keep which blocks
these are.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from clew.simulator.anthropic.judge.case import BrokenRule, Case, RequestBlock
from clew.simulator.anthropic.judge.prefix import ConversationPrefix, deferred_tools, is_summary, opening_prefix
from clew.simulator.anthropic.judge.signatures import Imprint, hash_text, read_signature
from clew.simulator.interfaces import Books
from clew.simulator.values import as_str


@dataclass(frozen=True, slots=True)
class ReturnedThinking:
    """A thinking block of the request."""

    block: RequestBlock
    prefix: ConversationPrefix
    """The content before it in this request."""
    epoch: int
    """The number of summaries before it: the model reads only the newest epoch."""
    adjoins: bool
    """The block directly before it in its run is thinking, too."""
    id: bytes = b""
    imprint: Imprint | None = None
    """None if the signature was not made with this simulator's key."""
    whose: Literal["own", "foreign", "unknown"] = "unknown"


@dataclass(frozen=True, slots=True)
class ThinkingHistory:
    """The thinking blocks of a request, and the state of the conversation at its end."""

    blocks: tuple[ReturnedThinking, ...]
    end: ConversationPrefix
    epoch: int


def read_thinking(case: Case, key: bytes) -> ThinkingHistory:
    """All thinking blocks, in one pass over the messages."""
    found: list[ReturnedThinking] = []
    prefix, tools, epoch = opening_prefix(case.body), deferred_tools(case.body), 0
    before: tuple[str, bool] = ("", False)
    for message in case.messages:
        for block in message.blocks:
            thinks = block.is_thinking and message.role == "assistant"
            if thinks:
                returned = ReturnedThinking(block, prefix, epoch, adjoins=before == ("assistant", True))
                found.append(_with_proof(returned, case.books, key))
            else:
                prefix = prefix.after(message.role, block.value, tools)
                epoch += is_summary(block.value)
            if message.role != "system":
                before = (message.role, thinks)
    return ThinkingHistory(tuple(found), prefix, epoch)


def _with_proof(returned: ReturnedThinking, books: Books, key: bytes) -> ReturnedThinking:
    redacted = returned.block.type == "redacted_thinking"
    given = as_str(returned.block.value.get("data" if redacted else "signature"))
    proof = read_signature(key, given, redacted=redacted)
    if proof is not None:
        return replace(returned, id=proof[0], imprint=proof[1], whose="own")
    if (given or as_str(returned.block.value.get("thinking"))) in books.given:
        return replace(returned, whose="own")
    return replace(returned, whose="foreign" if given else "unknown")


def check_empty_signatures(case: Case) -> Iterator[BrokenRule]:
    """Blocks without a signature: refused without knowing the key."""
    for message in case.messages:
        for block in message.blocks if message.role == "assistant" else ():
            if _is_unsigned(block) and block.value.get("thinking") == "":
                yield BrokenRule("R33.empty-block", f"{block.path}.thinking")
            elif _is_unsigned(block):
                yield BrokenRule("R33.empty-signature", block.path)


def _is_unsigned(block: RequestBlock) -> bool:
    return block.type == "thinking" and block.value.get("signature") == ""


def check_signatures(history: ThinkingHistory) -> Iterator[BrokenRule]:
    for returned in history.blocks:
        if returned.imprint is None and not _is_unsigned(returned.block):
            redacted = returned.block.type == "redacted_thinking"
            yield BrokenRule("R33.invalid-data" if redacted else "R33.invalid-signature", returned.block.path)


def check_modified(case: Case, history: ThinkingHistory) -> Iterator[BrokenRule]:
    last = case.last_answer
    places = {(block.message, block.index) for block in last.blocks} if last else set[tuple[int, int]]()
    before: ReturnedThinking | None = None
    for returned in history.blocks:
        if (returned.block.message, returned.block.index) not in places:
            continue
        if returned.imprint and _is_out_of_place(returned, returned.imprint, before):
            yield BrokenRule("R34.modified", returned.block.path)
        if returned.imprint and _is_edited(case, returned, returned.imprint):
            yield BrokenRule("R34.text-edited", returned.block.path)
        before = returned


def _is_out_of_place(returned: ReturnedThinking, own: Imprint, before: ReturnedThinking | None) -> bool:
    """`before` is the previous thinking block of the message, adjoining or not."""
    other = before.imprint if before else None
    if returned.adjoins:
        return other is None or (other.answer, other.rank + 1) != (own.answer, own.rank)
    return own.rank != 0 or (other is not None and other.answer == own.answer and other.place >= own.place)


def _is_edited(case: Case, returned: ReturnedThinking, own: Imprint) -> bool:
    """A text may be missing: without it the block is as `omitted` would have given it."""
    text, signature = (as_str(returned.block.value.get(key)) for key in ("thinking", "signature"))
    return text != "" and hash_text(text) != own.text and signature not in case.books.omitted
