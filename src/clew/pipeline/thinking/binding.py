"""Thinking for a reader that may check what came before a block.

Let L be the newest answer in this history that this very reader made; if there is none, the newest whose blocks it reads,
unless the client holds signed blocks up to there that have no recording. Up to L goes the strand of L and nothing else; a
block that is not in it stays out, also if the client sends it, because the blocks after it were made without it. After L
goes what the client sends. Without an L, the client's copy goes as it came. Where nothing is to be restored, the strand
still decides what stays out, so that a repair is paid for once.

Most requests need none of this: the client's copy is whole (`is_whole`). Its newest answer is this reader's own, and all
thinking that went ahead of that answer is there, unchanged. The newest signed block names its recording, and one hash over
all of the client's proofs and texts equals the recording's digest; the hash continues from where an earlier request ended.
Without any recordings, there is nothing to compare the copy with.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from clew.model.facts.models import canonical_model, reads
from clew.model.origin import Target
from clew.model.recording import Recording, Shelf
from clew.model.request import Request, RequestMessage
from clew.pipeline.step import Facts
from clew.pipeline.thinking.outcomes import AnswerOutcome, all_thinking, without_refused_blocks
from clew.thinking.history import PastThoughts, align, is_signed_by_vendor
from clew.thinking.keys import block_key, digest_of, key_of, proof_half, proof_of
from clew.thinking.recognise import RecognisedAnswer
from clew.thinking.seal import is_seal
from clew.thinking.strands import longest_tail, strand_keys

ASIDE = "this model's last answer was given without it"
OTHERS = "made by another model, after this model's last answer"


# ── a whole copy


def is_whole(messages: Sequence[RequestMessage], thoughts: PastThoughts, target: Target, facts: Facts) -> bool:
    """Whether nothing of the client's copy has to be restored or held back but the strays. `thoughts` are the copy's."""
    if isinstance(facts.recordings, Shelf) and facts.recordings.is_empty:
        return True
    if thoughts.newest is None:
        return False
    index, block = thoughts.newest
    if any(message.role == "assistant" for message in messages[index + 1 :]):
        return False
    recording = facts.recordings.by_key(block_key(block.type, proof_of(block)))
    if recording is None or recording.principal != facts.context.principal or not made_here(recording, target):
        return False
    return thoughts.signed.digest() == recording.digest


def made_here(recording: Recording, target: Target) -> bool:
    """Whether the reader that the request goes to made this answer."""
    origin = recording.origin
    if origin.realm != target.realm or canonical_model(origin.model) != target.profile.id:
        return False
    return not target.profile.account_bound or origin.account == target.account


# ── any other copy


def for_binding(request: Request, found: Sequence[RecognisedAnswer], target: Target, facts: Facts) -> list[AnswerOutcome]:
    """For a reader that binds its blocks to what went before: the thinking that each answer of the history goes with."""
    last = last_answer(found, target)
    if last is None:
        return [_as_sent(request, each, target, facts) for each in found]
    early, late = found[: last + 1], found[last + 1 :]
    leave = target.profile.others_after_last == "leave"
    return _up_to_last(request, early, target, facts) + [_as_sent(request, each, target, facts, leave) for each in late]


def last_answer(found: Sequence[RecognisedAnswer], target: Target) -> int | None:
    """L, as an index into `found`."""
    read_by: int | None = None
    for index in range(len(found) - 1, -1, -1):
        recording = found[index].recording
        if recording and made_here(recording, target):
            return index
        if recording and read_by is None:
            origin = recording.origin
            read_by = index if origin.realm == target.realm and reads(target.profile, origin.model) else None
    if read_by is None:
        return None
    # Signed blocks without a recording may be this reader's own, and another model's strand does not decide about them.
    unknown = [each for each in found[: read_by + 1] if each.recording is None]
    return None if native_proofs(unknown) else read_by


def _up_to_last(request: Request, found: Sequence[RecognisedAnswer], target: Target, facts: Facts) -> list[AnswerOutcome]:
    newest = found[-1].recording
    assert newest is not None, "L is a recording"
    if newest.digest and digest_of(native_proofs(found)) == proof_half(newest.digest):
        # The client's copy is the strand of L: it goes as it is, less what no maker of this realm made.
        return [without_refused_blocks(request, each, target, facts) for each in found]
    # The thinking of L that the client got: all of it, or its beginning where the client stopped the answer.
    own = _client_keys(found[-1])
    is_beginning = 0 < len(own) < len(newest.keys) and own == newest.keys[: len(own)]
    got = own if is_beginning and align(found[-1].pieces, newest) is None else newest.keys
    row = strand_keys(newest, facts.recordings) + got
    keys = longest_tail(_groups(found, row), partial(_can_place, found)) if facts.options.restore else frozenset(row)
    outcomes: list[AnswerOutcome] = []
    for each in found:
        # All of its thinking if the strand has it, else the part that the strand has and the client sends.
        recording = each.recording
        if facts.options.restore and recording and recording.keys and keys.issuperset(recording.keys):
            outcomes.append(all_thinking(request, each, recording))
        else:
            outcomes.append(
                without_refused_blocks(request, each, target, facts, lambda block: "" if key_of(block) in keys else ASIDE)
            )
    return outcomes


def native_proofs(found: Sequence[RecognisedAnswer]) -> list[str]:
    """The proofs in the client's copy that are a vendor's own, in order."""
    return [proof_of(piece.block) for each in found for piece in each.pieces if is_signed_by_vendor(piece.block)]


def _groups(found: Sequence[RecognisedAnswer], keys: Sequence[bytes]) -> list[tuple[int | None, tuple[bytes, ...]]]:
    """The strand, cut where one answer ends and the next begins, with the index of the answer that holds each part."""
    owner: dict[bytes, int] = {}
    for index, each in enumerate(found):
        for key in (*(each.recording.keys if each.recording else ()), *_client_keys(each)):
            owner[key] = index
    groups: list[tuple[int | None, tuple[bytes, ...]]] = []
    for key in keys:
        at = owner.get(key)
        if groups and groups[-1][0] == at:
            groups[-1] = (at, (*groups[-1][1], key))
        else:
            groups.append((at, (key,)))
    return groups


def _client_keys(each: RecognisedAnswer) -> tuple[bytes, ...]:
    """Of the blocks that the client's copy can give. One under a seal it cannot: the seals that open are open by now."""
    return tuple(key for piece in each.pieces if not is_seal(proof_of(piece.block)) and (key := key_of(piece.block)))


def _can_place(found: Sequence[RecognisedAnswer], index: int, group: tuple[bytes, ...]) -> bool:
    """Whether an answer can take exactly these blocks: from the client's copy, or from its recording, whole."""
    each = found[index]
    client_keys = iter(_client_keys(each))
    if all(key in client_keys for key in group):  # all of them, in this order
        return True  # also a part: a client that stopped an answer never saw its end, or a repair left a block out
    return bool(each.recording and group == each.recording.keys and align(each.pieces, each.recording) is not None)


def _as_sent(
    request: Request, each: RecognisedAnswer, target: Target, facts: Facts, leave_others: bool = False
) -> AnswerOutcome:
    """The blocks that the client sends go, if they are this realm's; if it sends a part of a recording, all of it goes."""
    recording = each.recording
    if recording and leave_others and not made_here(recording, target):
        return without_refused_blocks(request, each, target, facts, lambda block: OTHERS)
    may_restore = facts.options.restore and recording is not None and recording.origin.realm == target.realm
    if recording and may_restore and 0 < len(_client_keys(each)) < len(recording.keys):
        return all_thinking(request, each, recording)
    return without_refused_blocks(request, each, target, facts)
