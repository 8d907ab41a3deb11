"""Thinking by keyword or variable, for clients that do not ask for it themselves.

Off unless the config asks. A client that sets `thinking` knows what it wants and is left alone. What is put in is the plain
budget; the thinking parameter then says it in the model's own words.
"""

from __future__ import annotations

import msgspec
from msgspec import UNSET, Raw

from clew.model.blocks import string_of
from clew.model.change import Change
from clew.model.request import Message, Request, blocks_of
from clew.model.target import Target
from clew.pipeline.step import Facts
from clew.thinking.budgets import VARIABLE, HumanInput, budget_for, human_input_of_parts

__all__ = ["thinking_budget"]

STEP = "thinking_budget"


def thinking_budget(request: Request, target: Target, facts: Facts) -> tuple[Request, tuple[Change, ...]]:
    """The step."""
    rules = facts.options.budget
    if rules is None or request.body.thinking is not UNSET:
        return request, ()
    said = [spoken for message in request.messages if (spoken := _spoken(message))]
    budget = budget_for(said, rules)
    if budget.tokens <= 0:
        return request, ()
    thinking = Raw(msgspec.json.encode({"type": "enabled", "budget_tokens": budget.tokens}))
    why = f"{VARIABLE} is {budget.tokens}" if budget.event else f"this turn asks for {budget.tokens} tokens"
    return request.with_fields(thinking=thinking), (Change(STEP, "thinking", "added", why),)


def _spoken(message: Message) -> HumanInput | None:
    if message.role != "user":
        return None
    if isinstance(message.content, str):
        return human_input_of_parts([("text", message.content)])
    return human_input_of_parts([(block.type, string_of(block.text)) for block in blocks_of(message)])
