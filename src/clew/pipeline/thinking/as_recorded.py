"""A thought that the client changed, and whose signature it kept, goes as it was recorded.

Its maker refuses a changed text, or takes it in one turn and refuses it in another. The signature names the block, so the
recorded one takes its place, in every request alike. Under a seal, the seal says which text it was made for. A redacted
thought is nothing but its proof. For a client's copy that is whole, a digest over the texts says that nothing was changed
(`binding.is_whole`), and only sealed blocks are looked at here.
"""

from __future__ import annotations

from collections.abc import Iterable

from clew.model.blocks import Block, made, string_of
from clew.model.change import Change
from clew.model.origin import Target
from clew.model.request import Request, blocks_of, with_content
from clew.pipeline.step import Facts
from clew.pipeline.thinking.opened import RecordedThoughts
from clew.pipeline.thinking.outcomes import STEP, open_seal
from clew.thinking.keys import key_of, proof_of, text_hash
from clew.thinking.seal import is_seal

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
