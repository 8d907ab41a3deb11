"""A reader that may check what came before a block.

Let L be the newest answer in this history that this very reader made; if there is none, the newest whose blocks it reads,
unless the client holds signed blocks up to there that nobody recorded.
Up to L goes the strand of L and nothing else; a block that is not in it stays out, also if the client sends it, because
what followed was made without it. After L goes what the client sends. No L: the client's copy goes as it came.
Where nothing is to be restored, the strand still says what stays out, so that a repair is paid for once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from clew.model.blocks import Block
from clew.model.origin import Origin
from clew.model.recording import Recording
from clew.model.request import Request
from clew.model.target import Target
from clew.pipeline.step import Facts
from clew.pipeline.thinking.copies import made_here
from clew.pipeline.thinking.pieces import Outcome, filtered, refusal, whole
from clew.thinking.history import align
from clew.thinking.keys import digest_of, key_of, proof_half, proof_of
from clew.thinking.profiles import reads
from clew.thinking.recognise import RecognisedAnswer
from clew.thinking.seal import is_seal
from clew.thinking.strands import longest_tail, strand_keys

__all__ = ["for_binding", "last_answer", "native_proofs"]

ASIDE = "not in the strand of this model's last answer"
OTHERS = "another model's, after this model's last answer"


def for_binding(request: Request, found: Sequence[RecognisedAnswer], target: Target, facts: Facts) -> list[Outcome]:
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
        if recording and read_by is None and _reads(recording.origin, target):
            read_by = index
    return None if read_by is None or _holds_unknown(found[: read_by + 1]) else read_by


def _holds_unknown(found: Sequence[RecognisedAnswer]) -> bool:
    """Signed blocks that nobody recorded: they may be this reader's own, and another model's strand has no say in them."""
    return bool(native_proofs([each for each in found if each.recording is None]))


def _reads(origin: Origin, target: Target) -> bool:
    return origin.realm == target.realm and reads(target.profile, origin.model)


def _up_to_last(request: Request, found: Sequence[RecognisedAnswer], target: Target, facts: Facts) -> list[Outcome]:
    newest = found[-1].recording
    assert newest is not None, "L is a recording"
    if newest.digest and digest_of(native_proofs(found)) == proof_half(newest.digest):
        # The client's copy is the strand of L: it goes as it is, less what no maker of this realm made.
        return [filtered(request, each, _refusal(each, target, facts), target=target, facts=facts) for each in found]
    row = strand_keys(newest, facts.recordings) + _heard_of(found[-1], newest)
    keys = longest_tail(_groups(found, row), _placeable(found)) if facts.options.restore else frozenset(row)
    return [_by_strand(request, each, keys, target, facts) for each in found]


def _heard_of(last: RecognisedAnswer, newest: Recording) -> tuple[bytes, ...]:
    """The thinking of L that the client heard: all of it, or its beginning where the client stopped the answer."""
    own = _client_keys(last)
    is_beginning = 0 < len(own) < len(newest.keys) and own == newest.keys[: len(own)]
    return own if is_beginning and align(last.pieces, newest) is None else newest.keys


def native_proofs(found: Sequence[RecognisedAnswer]) -> list[str]:
    """The proofs in the client's copy that are a vendor's own, in order."""
    proofs = (proof_of(piece.block) for each in found for piece in each.pieces)
    return [proof for proof in proofs if proof and not is_seal(proof)]


def _refusal(each: RecognisedAnswer, target: Target, facts: Facts) -> Callable[[Block], str]:
    return lambda block: refusal(block, each, target, facts)


def _groups(found: Sequence[RecognisedAnswer], keys: Sequence[bytes]) -> list[tuple[int | None, tuple[bytes, ...]]]:
    """The strand, cut where one answer ends and the next begins, with the index of the answer that holds each part."""
    owner = _owners(found)
    groups: list[tuple[int | None, tuple[bytes, ...]]] = []
    for key in keys:
        at = owner.get(key)
        if groups and groups[-1][0] == at:
            groups[-1] = (at, (*groups[-1][1], key))
        else:
            groups.append((at, (key,)))
    return groups


def _owners(found: Sequence[RecognisedAnswer]) -> dict[bytes, int]:
    owner: dict[bytes, int] = {}
    for index, each in enumerate(found):
        for key in (*(each.recording.keys if each.recording else ()), *_client_keys(each)):
            owner[key] = index
    return owner


def _client_keys(each: RecognisedAnswer) -> tuple[bytes, ...]:
    return tuple(key for piece in each.pieces if (key := key_of(piece.block)))


def _placeable(found: Sequence[RecognisedAnswer]) -> Callable[[int, tuple[bytes, ...]], bool]:
    """Whether an answer can take exactly these blocks: from the client's copy, or from its recording, whole."""

    def placeable(index: int, group: tuple[bytes, ...]) -> bool:
        each = found[index]
        if _are_in_order(group, _client_keys(each)):
            return True  # also a part: a client that stopped an answer never saw its end, or a repair left a block out
        return bool(each.recording and group == each.recording.keys and align(each.pieces, each.recording) is not None)

    return placeable


def _are_in_order(group: tuple[bytes, ...], keys: tuple[bytes, ...]) -> bool:
    """Whether all of the group are among the keys, one behind the other."""
    rest = iter(keys)
    return all(key in rest for key in group)


def _by_strand(request: Request, each: RecognisedAnswer, keys: frozenset[bytes], target: Target, facts: Facts) -> Outcome:
    """An answer up to L: all of its thinking if the strand has it, else what of it the strand has and the client sends."""
    recording = each.recording
    if facts.options.restore and recording and recording.keys and keys.issuperset(recording.keys):
        return whole(request, each, recording)
    refused = _refusal(each, target, facts)
    return filtered(
        request,
        each,
        lambda block: refused(block) or ("" if key_of(block) in keys else ASIDE),
        target=target,
        facts=facts,
    )


def _as_sent(request: Request, each: RecognisedAnswer, target: Target, facts: Facts, leave_others: bool = False) -> Outcome:
    """What the client sends goes, if it is this realm's; of a recording of which it sends a part, all."""
    recording = each.recording
    refused = _refusal(each, target, facts)
    if recording and leave_others and not made_here(recording, target):
        return filtered(request, each, lambda block: refused(block) or OTHERS, target=target, facts=facts)
    if recording and facts.options.restore and _sends_a_part(each, recording, target):
        return whole(request, each, recording)
    return filtered(request, each, refused, target=target, facts=facts)


def _sends_a_part(each: RecognisedAnswer, recording: Recording, target: Target) -> bool:
    return recording.origin.realm == target.realm and 0 < len(_client_keys(each)) < len(recording.keys)
