"""Which returned thinking the model may read (R43–R46).

A block is bound to its account (some models), to an end user (if asked for), to the models that may read its maker, and on
newer models to the conversation: all that was said before it, and the thinking block before it. The first three drop it
without a word; the last one refuses, drops or only reports, by the request and the account.

*The block before it* has two readings, since the vendor's text leaves both open: the last one that was `sent`, or the last
that the model could `read`. Whichever holds, blocks must be an unbroken piece of the row in which they were made. So each
records its predecessor, and how long the row was: a missing block shows as a wrong predecessor, one put back as a row that
is too long. What is left out at the start or at the end does not show, and is legal.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

from clew.model.facts import ModelFacts, model_facts, rules
from clew.model.facts.dated import BINDING_BETA
from clew.model.json import JsonObject
from clew.simulator.interfaces import BlockFate, Stance
from clew.simulator.judge.case import Case
from clew.simulator.judge.findings import Finding
from clew.simulator.judge.signature import Imprint, Link, hash_text
from clew.simulator.judge.thoughts import Thought, Thread
from clew.simulator.judge.values import inner, string

__all__ = ["Bound", "bind", "follow"]

Enforcement: TypeAlias = Literal["error", "drop_block", "report", "none"]
_PREFIX = "prefix_binding_mismatch"


@dataclass(frozen=True, slots=True)
class Bound:
    """What the bindings made of the thinking blocks so far."""

    fates: tuple[BlockFate, ...] = ()
    transformations: tuple[JsonObject, ...] = ()
    findings: tuple[Finding, ...] = ()
    sent: Link = field(default_factory=Link)
    read: Link = field(default_factory=Link)
    dropping: bool = False
    """The block before was dropped for its conversation: the rest of its row goes with it."""


def bind(case: Case, thread: Thread) -> Bound:
    """Judge each block in order; what stays decides about what follows."""
    bound, policy = Bound(), _enforcement(case)
    for thought in thread.thoughts:
        bound = _judge(case, thread, thought, bound, policy)
    return bound


def _enforcement(case: Case) -> Enforcement:
    """What a block of another conversation meets (R44). Either value of the setting opts in."""
    if not case.vendor.binds or not _checks_prefix(case.model, case.stance):
        return "none"
    asked = _asked_behaviour(case)
    if asked:
        return asked
    enforced = case.stance.prefix_enforcement == "on" or (
        case.stance.prefix_enforcement == "default" and case.account.created_after_binding
    )
    if not enforced:
        return "report"
    return "drop_block" if case.stance["C-4"] == "aws" else "error"


def _asked_behaviour(case: Case) -> Literal["error", "drop_block"] | None:
    binding = inner(case.thinking.get("block_binding"))
    asked = binding.get("prefix_mismatch_behavior")
    if asked is None and case.stance["C-4"] == "aws":
        asked = binding.get("mismatch_behavior")
    if asked == "error":
        return "error"
    return "drop_block" if asked == "drop_block" else None


def _checks_prefix(model: ModelFacts, stance: Stance) -> bool:
    return model.prefix_check and not (model.prefix_check_disputed and stance["C-5"] == "skip")


def _judge(case: Case, thread: Thread, thought: Thought, bound: Bound, policy: Enforcement) -> Bound:
    own = thought.imprint
    if own is None:
        return _with_fate(bound, thought, "kept", "unverified")
    if thought.epoch < thread.epoch:
        return _with_fate(bound, thought, "stripped", "before the newest compaction")
    reason = _unreadable(case, own) if case.vendor.binds else ""
    if reason:
        return _unread(bound, thought, own, reason)
    if policy != "none" and _checks_prefix(_maker(case, own), case.stance):
        return _checked(case, thought, own, bound, policy)
    return _kept(bound, thought, own)


def _maker(case: Case, own: Imprint) -> ModelFacts:
    """What is known of the model that made the block."""
    return model_facts(own.model, case.stance.models)


def _unreadable(case: Case, own: Imprint) -> str:
    """Why this request's model may not read the block, by the vendor's precedence; "" if it may."""
    elsewhere = own.account != case.account.name and case.account.name not in own.accounts
    if elsewhere and _maker(case, own).account_bound:
        return "organization_binding_mismatch"
    if own.end_user and own.end_user != hash_text(string(case.option("metadata", "user_id"))):
        return "end_user_binding_mismatch"
    if own.model != case.model.id and own.model not in case.model.reads:
        return "model_binding_mismatch"
    return ""


def _unread(bound: Bound, thought: Thought, own: Imprint, reason: str) -> Bound:
    """It was sent all the same, so it is the predecessor of what follows in that reading."""
    refused = (Finding("R43.unreadable", thought.block.path),) if reason == "model_binding_mismatch" else ()
    after = replace(
        bound, sent=follow(bound.sent, thought.id, own.sent), findings=(*bound.findings, *refused), dropping=False
    )
    return _with_fate(after, thought, "dropped", reason)


def _checked(case: Case, thought: Thought, own: Imprint, bound: Bound, policy: Enforcement) -> Bound:
    """The conversation check. A report lists the block and leaves it; a removal takes the rest of the row too."""
    row, made_after = (bound.sent, own.sent) if case.stance.predecessor == "sent" else (bound.read, own.read)
    fails = thought.prefix.digest != own.prefix or not _fits(row, made_after)
    if policy == "drop_block" and (fails or (bound.dropping and thought.adjoins)):
        return _with_fate(replace(bound, dropping=True), thought, "dropped", _PREFIX)
    if not fails:
        return _kept(bound, thought, own)
    if policy == "report":
        return _kept(_reported(bound, thought, "thinking_mismatch_allowed", _PREFIX), thought, own)
    words = "".join(_sentences(case, thought, own, row, made_after))
    refused = replace(bound, findings=(*bound.findings, Finding("R44.conversation", thought.block.path, {}, words)))
    return _kept(refused, thought, own)


def _fits(row: Link, made_after: Link) -> bool:
    """Nothing before it, or exactly its predecessor, and no more than there were."""
    return row.length == 0 or (row.last == made_after.last and row.length <= made_after.length)


def follow(row: Link, block: bytes, made_after: Link) -> Link:
    """The row with one more block; a new row begins where a predecessor is not the one it was made after."""
    linked = row.length > 0 and row.last == made_after.last
    return Link(block, row.length + 1 if linked else 1)


def _kept(bound: Bound, thought: Thought, own: Imprint) -> Bound:
    sent, read = follow(bound.sent, thought.id, own.sent), follow(bound.read, thought.id, own.read)
    return _with_fate(replace(bound, sent=sent, read=read, dropping=False), thought, "kept", "")


def _with_fate(bound: Bound, thought: Thought, fate: Literal["kept", "dropped", "stripped"], reason: str) -> Bound:
    maker = thought.imprint.model if thought.imprint else ""
    record = BlockFate(path=thought.block.path, maker=maker, fate=fate, reason=reason, whose=thought.whose)
    if fate == "dropped":
        bound = _reported(bound, thought, "thinking_dropped", reason)
    return replace(bound, fates=(*bound.fates, record))


def _reported(bound: Bound, thought: Thought, kind: str, reason: str) -> Bound:
    entry: JsonObject = {"type": kind, "path": thought.block.path, "reason": reason}
    return replace(bound, transformations=(*bound.transformations, entry))


def _sentences(case: Case, thought: Thought, own: Imprint, row: Link, made_after: Link) -> Iterator[str]:
    """What the vendor adds to its refusal, as far as it is known: for some changes it says nothing."""
    rule, now = rules()["R44.conversation"], thought.prefix
    first = "messages.0.content.0"
    if BINDING_BETA not in case.betas:
        yield rule.words("without-beta")
    if now.digest == own.prefix:
        if made_after.length and row.last != made_after.last:
            yield rule.words("thinking-missing")
    elif now.base == own.base and now.head != own.head:
        yield rule.words("content-missing" if now.count < own.count else "message-differs", where=first)
