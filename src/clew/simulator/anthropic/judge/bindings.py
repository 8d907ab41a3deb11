"""Which returned thinking the model may read (R43–R46).

A block is bound to its account (some models), to an end user (on request), to the models that may read its maker, and on
newer models to the conversation: all content before it, and the thinking block before it. A block that breaks one of the
first three bindings is dropped silently. The conversation binding refuses, drops or only reports, by the request and the
account.

*The block before it* has two readings, since the vendor's text allows both: the last one that was `sent`, or the last that
the model could `read`. In both, the blocks must be an unbroken piece of the row in which they were made. So each records its
predecessor and the length of the row: a missing block shows as a wrong predecessor, one put back as a row that is too long.
Blocks missing at the start or at the end do not show, and are legal.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from clew.model.facts import ModelFacts, model_facts, rules
from clew.model.facts.shapes import BINDING_BETA
from clew.model.json import JsonObject
from clew.simulator.anthropic.judge.case import BrokenRule, Case
from clew.simulator.anthropic.judge.signatures import Imprint, Link, hash_text
from clew.simulator.anthropic.judge.thinking import ReturnedThinking, ThinkingHistory
from clew.simulator.interfaces import BlockFate, Stance
from clew.simulator.values import as_dict, as_str

Enforcement: TypeAlias = Literal["error", "drop_block", "report", "none"]
_PREFIX = "prefix_binding_mismatch"


@dataclass(slots=True)
class BindingResult:
    """What the bindings decided about the thinking blocks so far; it grows block by block."""

    fates: list[BlockFate] = field(default_factory=list[BlockFate])
    transformations: list[JsonObject] = field(default_factory=list[JsonObject])
    broken: list[BrokenRule] = field(default_factory=list[BrokenRule])
    sent: Link = field(default_factory=Link)
    read: Link = field(default_factory=Link)
    dropping: bool = False
    """The previous block was dropped for its conversation: the rest of its row is dropped, too."""

    def keep(self, returned: ReturnedThinking, own: Imprint) -> None:
        self.sent = self.sent.followed_by(returned.id, own.sent)
        self.read = self.read.followed_by(returned.id, own.read)
        self.dropping = False
        self.decide(returned, "kept", "")

    def decide(self, returned: ReturnedThinking, fate: Literal["kept", "dropped", "stripped"], reason: str) -> None:
        maker = returned.imprint.model if returned.imprint else ""
        if fate == "dropped":
            self.report(returned, "thinking_dropped", reason)
        self.fates.append(BlockFate(path=returned.block.path, maker=maker, fate=fate, reason=reason, whose=returned.whose))

    def report(self, returned: ReturnedThinking, kind: str, reason: str) -> None:
        self.transformations.append({"type": kind, "path": returned.block.path, "reason": reason})


def check_bindings(case: Case, history: ThinkingHistory) -> BindingResult:
    """Judge the blocks in order: each decision depends on the blocks that were kept before."""
    result, policy = BindingResult(), _enforcement(case)
    for returned in history.blocks:
        own = returned.imprint
        if own is None:
            result.decide(returned, "kept", "unverified")
        elif returned.epoch < history.epoch:
            result.decide(returned, "stripped", "before the newest compaction")
        elif case.vendor.binds and (reason := _unreadable(case, own)):
            _drop_unreadable(result, returned, own, reason)
        elif policy != "none" and _checks_prefix(_maker(case, own), case.stance):
            _check_conversation(case, result, returned, own, policy)
        else:
            result.keep(returned, own)
    return result


def _enforcement(case: Case) -> Enforcement:
    """What happens to a block of another conversation (R44). The request's setting, either value, opts in."""
    stance = case.stance
    if not case.vendor.binds or not _checks_prefix(case.model, stance):
        return "none"
    binding = as_dict(case.thinking.get("block_binding"))
    asked = binding.get("prefix_mismatch_behavior")
    if asked is None and stance["C-4"] == "aws":
        asked = binding.get("mismatch_behavior")
    if asked in ("error", "drop_block"):
        return asked
    by_account = stance.prefix_enforcement == "default" and case.account.created_after_binding
    if stance.prefix_enforcement != "on" and not by_account:
        return "report"
    return "drop_block" if stance["C-4"] == "aws" else "error"


def _checks_prefix(model: ModelFacts, stance: Stance) -> bool:
    return model.prefix_check and not (model.prefix_check_disputed and stance["C-5"] == "skip")


def _maker(case: Case, own: Imprint) -> ModelFacts:
    """The facts about the model that made the block."""
    return model_facts(own.model, case.stance.models)


def _unreadable(case: Case, own: Imprint) -> str:
    """Why this request's model may not read the block, by the vendor's precedence; "" if it may."""
    elsewhere = own.account != case.account.name and case.account.name not in own.accounts
    if elsewhere and _maker(case, own).account_bound:
        return "organization_binding_mismatch"
    if own.end_user and own.end_user != hash_text(as_str(case.option("metadata", "user_id"))):
        return "end_user_binding_mismatch"
    if own.model != case.model.id and own.model not in case.model.reads:
        return "model_binding_mismatch"
    return ""


def _drop_unreadable(result: BindingResult, returned: ReturnedThinking, own: Imprint, reason: str) -> None:
    """The model does not read the block, but it was sent: in that reading it precedes the next block."""
    if reason == "model_binding_mismatch":
        result.broken.append(BrokenRule("R43.unreadable", returned.block.path))
    result.sent = result.sent.followed_by(returned.id, own.sent)
    result.dropping = False
    result.decide(returned, "dropped", reason)


def _check_conversation(
    case: Case, result: BindingResult, returned: ReturnedThinking, own: Imprint, policy: Enforcement
) -> None:
    """A report lists the block and keeps it. A removal drops the rest of the row, too."""
    row, made_after = (result.sent, own.sent) if case.stance.predecessor == "sent" else (result.read, own.read)
    fails = returned.prefix.digest != own.prefix or not row.fits(made_after)
    if policy == "drop_block" and (fails or (result.dropping and returned.adjoins)):
        result.dropping = True
        result.decide(returned, "dropped", _PREFIX)
        return
    if fails and policy == "report":
        result.report(returned, "thinking_mismatch_allowed", _PREFIX)
    elif fails:
        after = "".join(_explanations(case, returned, own, row, made_after))
        result.broken.append(BrokenRule("R44.conversation", returned.block.path, {}, after))
    result.keep(returned, own)


def _explanations(case: Case, returned: ReturnedThinking, own: Imprint, row: Link, made_after: Link) -> Iterator[str]:
    """The sentences that the vendor adds to its refusal, as far as they are known: for some changes there are none."""
    rule, now = rules()["R44.conversation"], returned.prefix
    if BINDING_BETA not in case.betas:
        yield rule.words("without-beta")
    if now.digest == own.prefix:
        if made_after.length and row.last != made_after.last:
            yield rule.words("thinking-missing")
    elif now.base == own.base and now.head != own.head:
        which = "content-missing" if now.count < own.count else "message-differs"
        yield rule.words(which, where="messages.0.content.0")
