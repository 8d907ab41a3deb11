"""Plan: what an agent is, apart from any conversation; and how a conversation is asked for it."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct, structs

from clew.chat.agent.approval import Approval
from clew.chat.agent.limits import Limits
from clew.chat.agent.structured import Form
from clew.chat.agent.tools import Tool
from clew.chat.conversation import AsyncConversation, OnOverflow
from clew.chat.request import Wishes
from clew.model.json import JsonObject

__all__ = ["Plan", "hold_to_form", "prepare"]


class Plan(Struct, frozen=True, kw_only=True, eq=False):
    """What an agent is."""

    name: str = "agent"
    description: str = ""
    system: str | Sequence[JsonObject] = ""
    tools: tuple[Tool, ...] = ()
    model: str = ""
    backend: str = ""
    max_tokens: int = 16_000
    thinking: JsonObject | None = None
    effort: str = ""
    on_overflow: OnOverflow = "error"
    limits: Limits = Limits()
    approve: Approval | None = None
    retries: int = 2
    """How many times more a model call that failed is tried, and an answer of the wrong type is asked for."""
    form: Form | None = None
    """The type that its answers are of; None for text."""

    @property
    def prompt(self) -> str | Sequence[JsonObject]:
        """The system prompt, with what the answer has to be."""
        if self.form is None:
            return self.system
        if isinstance(self.system, str):
            return f"{self.system}\n\n{self.form.words}" if self.system else self.form.words
        return [*self.system, {"type": "text", "text": self.form.words}]


def prepare(plan: Plan, conversation: AsyncConversation) -> None:
    """Let a conversation be asked as this agent asks."""
    before = conversation.wishes
    conversation.wishes = Wishes(
        model=plan.model or before.model,
        system=plan.prompt or before.system,
        tools=[tool.definition for tool in plan.tools],
        max_tokens=plan.max_tokens,
        thinking=plan.thinking or before.thinking,
        effort=plan.effort or before.effort,
    )


def hold_to_form(form: Form | None, conversation: AsyncConversation, able: bool) -> None:
    """Ask for the schema where the model can be held to it, and for none elsewhere."""
    schema = form.strict if form is not None and able else None
    if conversation.wishes.schema != schema:
        conversation.wishes = structs.replace(conversation.wishes, schema=schema)
