"""Manner: where a backend, or one of its models, deviates from what its dialect says.

Quirks hold in every dialect: they say what of a projected request it can take. `wire` and `speech` are of `openai-chat`,
where every backend has its own words: what it wants to be asked, and how it answers. All three are values with a default for
each field, so that no code ever asks for a backend's name.
"""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Annotated, Literal, TypeAlias

from msgspec import Meta, Struct

from clew.dialects.openai_chat.options import ChatAnswerOptions, ChatRequestOptions
from clew.model.origin import Foreign, Missing

Dialect: TypeAlias = Literal["anthropic", "openai-chat"]

DIALECTS: tuple[Dialect, ...] = ("anthropic", "openai-chat")
"""The wire protocols of backends."""

Count: TypeAlias = Annotated[int, Meta(ge=0)]


class Quirks(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where a backend deviates from Anthropic's API. The defaults are those of a backend that nobody knows."""

    unique_tool_ids: bool = False
    """Its tool ids never repeat, so they may reach a client as they are."""
    missing: Missing = "nothing"
    """What it wants in place of thinking that is not there: nothing, an empty text, a space, or thinking off."""
    foreign: Foreign | None = None
    """What becomes of other makers' reasoning; as `thinking.foreign` if left out."""
    adaptive: bool = True
    """It takes adaptive thinking; if not, that becomes a budget."""
    adaptive_budget: Count = 0
    """That budget in tokens; 0: by the effort level that is asked for."""
    signed: bool = True
    """It wants its signatures back; if not, seals need not carry them."""
    system_messages: bool = True
    """It takes messages of role system inside the conversation."""
    effort: bool = True
    """It takes `output_config.effort`."""
    betas: bool = True
    """It takes the header `anthropic-beta`; if not, that is left out."""
    overlaps: bool = False
    """It leaves blocks open until its answer ends; they are told one after the other."""
    realm_per_account: bool = False
    """Only the account that made a block can read it."""


class Manner(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All that deviates, for a backend as a whole or for one kind of its models."""

    quirks: Quirks = Quirks()
    """Where it deviates from Anthropic's API."""
    wire: ChatRequestOptions = ChatRequestOptions()
    """What it wants to be sent, in dialect `openai-chat`."""
    speech: ChatAnswerOptions = ChatAnswerOptions()
    """How it answers, in dialect `openai-chat`."""


def fitting(by_model: Mapping[str, Manner], model: str) -> Manner | None:
    """The first whose pattern fits this model, however it is spelt: hosts differ in capitals."""
    name = model.lower()
    return next((manner for pattern, manner in by_model.items() if fnmatchcase(name, pattern)), None)
