"""Origin and target: who made a block, who reads it, and the one endpoint and model that a request is projected for."""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import Struct

from clew.model.facts import ModelFacts

ANTHROPIC = "anthropic"
"""The realm of all first-party Claude hosts: they accept each other's signatures."""


class Origin(Struct, frozen=True):
    """The maker of a block: its realm (who can read its proof), its endpoint, model and account.

    >>> Origin("anthropic", "claude", "claude-opus-5-5").realm
    'anthropic'
    """

    realm: str
    backend: str
    model: str
    account: str = ""


class Reader(Struct, frozen=True):
    """A target as the reader of thinking. `account` is set only where the model's profile is account-bound."""

    realm: str
    model: str
    account: str = ""


Foreign: TypeAlias = Literal["drop", "text", "native"]
"""What becomes of reasoning from another realm: left out, said as text, or put into the target's own reasoning field."""

Missing: TypeAlias = Literal["nothing", "empty", "space", "off"]
"""What an open reader accepts for an answer that has no reasoning of its own."""


class Target(Struct, frozen=True, kw_only=True):
    """The backend, realm, model and account of a request, with the facts about them that the steps need.

    >>> from clew.model.facts import profile_for
    >>> Target(backend="claude", model="claude-opus-5-5", profile=profile_for("claude-opus-5-5")).realm
    'anthropic'
    """

    backend: str
    model: str
    """As the backend names it; the reader's model is the canonical one."""
    profile: ModelFacts
    realm: str = ANTHROPIC
    account: str = ""
    dialect: str = "anthropic"
    foreign: Foreign = "drop"
    missing: Missing = "nothing"
    signed: bool = True
    """Whether a thought without a signature may be refused, in Anthropic's dialect."""
    adaptive_budget: int = 0
    """What adaptive thinking is worth in tokens where it has to be said as a budget; 0: by the effort that is asked for."""

    @property
    def reader(self) -> Reader:
        """Who reads thinking there: realm, model, and the account where blocks are bound to it."""
        account = self.account if self.profile.account_bound else ""
        return Reader(self.realm, self.profile.id, account)

    @property
    def takes_unsigned(self) -> bool:
        """Whether a thought can be given to it that has no signature of its own."""
        return self.dialect != "anthropic" or not (self.signed or self.binding)

    @property
    def binding(self) -> bool:
        """Whether this reader may check what came before a block. Every model of realm `anthropic` is treated as if."""
        return self.realm == ANTHROPIC
