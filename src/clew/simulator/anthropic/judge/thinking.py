"""The thinking that came back: whether it is the model's own, and whether the model may read it (R33, R34, R43–R46).

Signatures are verified in every turn, also where the model will not see the block. A block that proves nothing is refused;
only a stance without that rule lets one pass, and then nothing is known about it.

The latest assistant message must hold its thinking as the model gave it (R34). Thinking blocks in a row must be a whole row
of one response, in its order: none missing at the front or between, none from another response. A row that is missing
altogether does not break this rule, and blocks cut off at the end cannot be noticed, since a signature is made before what
follows it. The text is compared only here (C-6). It may be the signed text, or empty. Text in a block that was given
without its text is ignored: the signature is the same for every `display` (R41), so the simulator's books keep which blocks
these are.

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

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Final, Literal, TypeAlias

from clew.model.facts import ModelFacts, profile_for, rules
from clew.model.facts.shapes import BINDING_BETA
from clew.model.json import JsonObject
from clew.simulator.anthropic.judge.case import BrokenRule, Case, RequestBlock
from clew.simulator.anthropic.judge.prefix import ConversationPrefix, deferred_tools, is_summary, opening_prefix
from clew.simulator.anthropic.judge.signatures import Imprint, Link, hash_text, read_signature
from clew.simulator.interfaces import BlockFate, Books, Stance
from clew.simulator.values import as_dict, as_str

_OUTSIDE_BASE64: Final = re.compile(r"[^A-Za-z0-9+/=_-]")
_SHOWS_ITSELF: Final = 64
"""Characters after which a signature that is none has shown it (R33.foreign-signature)."""


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


def check_foreign_signatures(case: Case) -> Iterator[BrokenRule]:
    """Signatures that cannot be Claude's: seen without knowing what Claude made."""
    for message in case.messages:
        for block in message.blocks if message.role == "assistant" else ():
            if block.type == "thinking" and _is_foreign(block):
                yield BrokenRule("R33.foreign-signature", block.path)


def _is_foreign(block: RequestBlock) -> bool:
    return _OUTSIDE_BASE64.search(as_str(block.value.get("signature"))[:_SHOWS_ITSELF]) is not None


def check_signatures(history: ThinkingHistory) -> Iterator[BrokenRule]:
    for returned in history.blocks:
        if returned.imprint is not None or _is_unsigned(returned.block):
            continue
        if returned.block.type == "redacted_thinking":
            rule = "R33.invalid-data"
        elif _is_foreign(returned.block):
            rule = "R33.foreign-signature"
        else:
            rule = "R33.invalid-signature"
        yield BrokenRule(rule, returned.block.path)


def check_modified(case: Case, history: ThinkingHistory) -> Iterator[BrokenRule]:
    last = case.last_answer
    places = {(block.message, block.index) for block in last.blocks} if last else set[tuple[int, int]]()
    before: ReturnedThinking | None = None
    for returned in history.blocks:
        if (returned.block.message, returned.block.index) not in places:
            continue
        if returned.imprint and _is_out_of_place(returned, returned.imprint, before):
            yield BrokenRule("R34.modified", returned.block.path)
        # A text may be missing: without it the block is as `omitted` would have given it.
        text, signature = (as_str(returned.block.value.get(key)) for key in ("thinking", "signature"))
        if returned.imprint and text and hash_text(text) != returned.imprint.text and signature not in case.books.omitted:
            yield BrokenRule("R34.text-edited", returned.block.path)
        before = returned


def _is_out_of_place(returned: ReturnedThinking, own: Imprint, before: ReturnedThinking | None) -> bool:
    """`before` is the previous thinking block of the message, adjoining or not."""
    other = before.imprint if before else None
    if returned.adjoins:
        return other is None or (other.answer, other.rank + 1) != (own.answer, own.rank)
    return own.rank != 0 or (other is not None and other.answer == own.answer and other.place >= own.place)


# Bindings.

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
            self.transformations.append({"type": "thinking_dropped", "path": returned.block.path, "reason": reason})
        self.fates.append(BlockFate(path=returned.block.path, maker=maker, fate=fate, reason=reason, whose=returned.whose))


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
            # The model does not read the block, but it was sent: in that reading it precedes the next block.
            if reason == "model_binding_mismatch":
                result.broken.append(BrokenRule("R43.unreadable", returned.block.path))
            result.sent = result.sent.followed_by(returned.id, own.sent)
            result.dropping = False
            result.decide(returned, "dropped", reason)
        elif policy != "none" and _checks_prefix(profile_for(own.model, case.stance.models), case.stance):
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


def _unreadable(case: Case, own: Imprint) -> str:
    """Why this request's model may not read the block, by the vendor's precedence; "" if it may."""
    elsewhere = own.account != case.account.name and case.account.name not in own.accounts
    if elsewhere and profile_for(own.model, case.stance.models).account_bound:
        return "organization_binding_mismatch"
    if own.end_user and own.end_user != hash_text(as_str(case.option("metadata", "user_id"))):
        return "end_user_binding_mismatch"
    if own.model != case.model.id and own.model not in case.model.reads:
        return "model_binding_mismatch"
    return ""


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
        allowed: JsonObject = {"type": "thinking_mismatch_allowed", "path": returned.block.path, "reason": _PREFIX}
        result.transformations.append(allowed)
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
