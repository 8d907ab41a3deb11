"""Asks for thinking by keyword or variable, for clients that leave it open.

Nothing happens unless the config or a variable asks for it. A client that sets `thinking` knows what it wants and is left
alone, and so is one that forces a tool, which does not go with manual thinking (R49). The budget is put in as the model
takes it (`thinking_modes`), with room for the answer; where none fits, thinking is off.
"""

from __future__ import annotations

import msgspec
from msgspec import UNSET, Raw, structs

from clew.model.blocks import string_of
from clew.model.change import Change
from clew.model.json import JsonObject
from clew.model.origin import Target
from clew.model.request import Request, blocks_of
from clew.pipeline.step import Facts
from clew.pipeline.thinking_modes import fit_to_model
from clew.pipeline.thinking_parameter import setting_of, with_setting
from clew.pipeline.values import object_of
from clew.thinking.budgets import ANSWER, VARIABLE, HumanInput, budget_for_inputs, human_input_of_parts

STEP = "thinking_budget"


def thinking_budget(request: Request, target: Target, facts: Facts) -> tuple[Request, tuple[Change, ...]]:
    """The step."""
    rules = facts.options.budget
    choice = (object_of(request.body.tool_choice) or {}).get("type")
    if rules is None or request.body.thinking is not UNSET or choice in ("any", "tool"):
        return request, ()
    inputs: list[HumanInput] = []  # what people wrote, message by message
    for message in request.messages:
        if message.role == "user":
            blocks = [("text", message.content)] if isinstance(message.content, str) else None
            parts = blocks or [(block.type, string_of(block.text)) for block in blocks_of(message)]
            inputs += [found] if (found := human_input_of_parts(parts)) else []
    budget = budget_for_inputs(inputs, rules)
    if budget.tokens <= 0:
        return request, ()
    thinking: JsonObject = {"type": "enabled", "budget_tokens": budget.tokens}
    why = f"{VARIABLE} is {budget.tokens}" if budget.event else f"this turn asks for {budget.tokens} tokens"
    change = Change(STEP, "thinking", "added", why)
    if target.dialect != "anthropic":  # fitted where it is written in that dialect's words
        return request.with_fields(thinking=Raw(msgspec.json.encode(thinking))), (change,)
    open_ = setting_of(request, target)
    setting = fit_to_model(structs.replace(open_, thinking=thinking, answer=ANSWER), target.profile)
    asking = with_setting(request, open_, setting)
    return asking, () if asking is request else (change, *setting.changes)
