"""Thoughts as their makers said them, before anything is decided: those under whole seals, and those that a client changed.

Clients of other dialects hold a thought as one opaque value, a seal that brings the whole block; the text beside it is what
they made of it. Each such thought is put as a client of the Messages API would hold it: from the recording that its seal
names, or from the seal itself where there is none. Claude's are then signed blocks like any other. Another maker's keep
their seals, which come off on the way to it (`open`). A seal that does not open, or refers to what is lost, is left as it
is: for every step after this one it proves nothing, and it goes nowhere.

Some dialects also lose where a thought stood (Chat has them all in front of the text). The recording knows, or else the
index in the seals.

A thought that the client changed, and whose signature it kept, goes as it was recorded. Its maker refuses a changed text, or
takes it in one turn and refuses it in another. The signature names the block, so the recorded one takes its place, in every
request alike. Under a seal, the seal says which text it was made for. A redacted thought is nothing but its proof. For a
client's copy that is whole, a digest over the texts says that nothing was changed (`binding.is_whole`), and only sealed
blocks are looked at here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from clew.model.blocks import Block, Made, is_thinking, made, string_of
from clew.model.change import Change
from clew.model.json import JsonObject
from clew.model.origin import ANTHROPIC, Target
from clew.model.recording import Recording
from clew.model.request import Request, blocks_of, with_blocks, with_content
from clew.pipeline.step import Facts
from clew.pipeline.thinking.outcomes import STEP, open_seal
from clew.thinking.history import AnswerPiece, align, holds_all
from clew.thinking.keys import key_of, proof_of, text_hash
from clew.thinking.seal import Seal, is_seal, named_key


class OpenedThought(NamedTuple):
    """A thought as its maker said it, and what says so."""

    block: Made
    recording: Recording | None
    seal: Seal | None

    @property
    def realm(self) -> str:
        origin = self.recording.origin if self.recording else self.seal.origin if self.seal else None
        return origin.realm if origin else ""


def with_opened(request: Request, sealed: Sequence[int], facts: Facts) -> Request:
    """The request with every thought that can be opened; `sealed` are the messages with such seals."""
    messages, thoughts = list(request.messages), RecordedThoughts(facts)
    for index in sealed:
        blocks = blocks_of(messages[index])
        opened = {id(block): found for block in blocks if (found := thoughts.opened(block))}
        now = [_held(block, opened[id(block)]) if id(block) in opened else block for block in blocks]
        placed = _placed(now, list(opened.values()))
        messages[index] = with_blocks(messages[index], tuple(placed))
    return request.with_messages(tuple(messages))


class RecordedThoughts:
    """The recorded thoughts by the keys of the client's. Each recording is read once, however many thoughts it has."""

    def __init__(self, facts: Facts) -> None:
        self._facts = facts
        self._read: dict[str, dict[bytes | None, Made]] = {}

    def recording(self, key: bytes | None) -> Recording | None:
        """The recording with this key, if this principal has one."""
        recording = self._facts.recordings.by_key(key) if key else None
        return recording if recording and recording.principal == self._facts.context.principal else None

    def thought(self, recording: Recording, key: bytes | None) -> Made | None:
        """The thought of this recording with this key."""
        if recording.id not in self._read:
            # By their own keys, and by the keys of what the client holds in the same order.
            thoughts = [thought for raw in recording.blocks if is_thinking(thought := made(raw))]
            held = dict[bytes | None, Made](zip(recording.keys, thoughts, strict=False))
            self._read[recording.id] = held | {key_of(thought): thought for thought in thoughts}
        return self._read[recording.id].get(key)

    def opened(self, block: Block) -> OpenedThought | None:
        """The thought under a seal of the whole block; None for any other block, and for a seal that does not open."""
        key = named_key(proof_of(block)) if is_thinking(block) else None
        if key is None:
            return None
        if (recording := self.recording(key)) and (thought := self.thought(recording, key)):
            return OpenedThought(thought, recording, None)
        seal = open_seal(block, self._facts)
        return OpenedThought(whole_block(seal), None, seal) if seal and seal.kind and not seal.reference else None


def whole_block(seal: Seal) -> Made:
    """The block that a seal brings."""
    payload = seal.payload.decode("utf-8", "surrogatepass")
    if seal.kind == "redacted_thinking":
        return made({"type": "redacted_thinking", "data": payload})
    return made({"type": "thinking", "thinking": seal.text, "signature": payload})


def _held(block: Block, opened: OpenedThought) -> Made:
    """As a client of the Messages API holds it: Claude's as it came, another maker's text under the seal."""
    if opened.realm == ANTHROPIC:
        return opened.block
    value: JsonObject = {"type": opened.block.type, "data": proof_of(block)}
    if opened.block.type == "thinking":
        value = {"type": "thinking", "thinking": string_of(opened.block.thinking), "signature": proof_of(block)}
    return made(value)


def _placed(blocks: list[Block], opened: Sequence[OpenedThought]) -> list[Block]:
    """Claude's thoughts at their places between the visible blocks. Other makers' thoughts have no places."""
    if any(each.realm != ANTHROPIC for each in opened) or not opened:
        return blocks
    recordings = {each.recording.id: each.recording for each in opened if each.recording}
    seals = [each.seal for each in opened if each.seal]
    if len(recordings) == 1 and not seals:
        pieces, (recording,) = [AnswerPiece(0, block) for block in blocks], recordings.values()
        aligned = align(pieces, recording) if holds_all(pieces, recording) else None
        return [piece.block for piece in aligned] if aligned else blocks
    if not recordings and len({seal.exchange for seal in seals}) == 1:
        # The leading thoughts go to these places, and the other blocks to those that are left, if that is possible.
        indices = [seal.index for seal in seals]
        thoughts, visible = blocks[: len(indices)], blocks[len(indices) :]
        is_in_front = all(map(is_thinking, thoughts)) and not any(map(is_thinking, visible))
        if not is_in_front or not visible or max(indices) >= len(blocks) - 1 or len({*indices}) < len(indices):
            return blocks
        at = dict(zip(indices, thoughts, strict=True))
        rest = iter(visible)
        return [at.get(index) or next(rest) for index in range(len(blocks))]
    return blocks


CHANGED = "the client had changed its text, and kept its signature"


def as_recorded(
    request: Request, target: Target, facts: Facts, among: Iterable[int] | None = None
) -> tuple[Request, tuple[Change, ...]]:
    """The request with the recorded thought for each that was changed; `among` are the messages to look at, if not all."""
    thoughts = RecordedThoughts(facts)
    messages, changes = list(request.messages), list[Change]()
    for index in range(len(messages)) if among is None else among:
        message = messages[index]
        if message.role != "assistant":
            continue
        own = blocks_of(message)
        blocks = tuple([_instead_of(block, target, facts, thoughts) if block.type == "thinking" else block for block in own])
        changed = [at for at, block in enumerate(blocks) if block is not own[at]]
        changes += [Change(STEP, f"messages.{index}.content.{at}", "restored", CHANGED) for at in changed]
        messages[index] = with_content(message, blocks) if changed else message
    return request.with_messages(tuple(messages)), tuple(changes)


def changes_that_stay(restored: Iterable[Change], decided: Iterable[Change]) -> tuple[Change, ...]:
    """The changes of restored blocks, without those of blocks that are left out or handed over after all."""
    gone = {change.path for change in decided if change.what in ("left out", "handed over")}
    return tuple([change for change in restored if change.path not in gone])


def _instead_of(block: Block, target: Target, facts: Facts, thoughts: RecordedThoughts) -> Block:
    """The recorded thought, if the client's differs from it; else the client's."""
    key = key_of(block)
    recording = thoughts.recording(key)
    if recording is None or (recording.origin.realm != target.realm and target.foreign == "drop"):
        return block  # unknown, or its thoughts do not go to this reader in any form
    own = thoughts.thought(recording, key)
    if own is None or text_hash(own) == text_hash(block):
        return block
    if not is_seal(proof_of(block)):
        return own
    # The recorded text under the client's seal, if the seal was made for it.
    sealed = made({"type": "thinking", "thinking": string_of(own.thinking), "signature": proof_of(block)})
    return sealed if open_seal(sealed, facts) is not None else block
