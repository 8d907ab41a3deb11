"""Choices: what was switched while everything runs, as the store keeps it. They override the settings file until taken back.

One for all that comes (`active`), and some for a part of it: a family of models, or all sub-agents. Those for a part become
rules in front of the file's own; a rule of the file for one agent by name is narrower, and stays in front of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from clew.backends.names import FAMILIES
from clew.settings.values import RoutingRule

ACTIVE: Final = "active"
"""The setting in the store that `clew use` writes: for all, or in the scope of one gateway."""
AGENTS: Final = "active.agents"
"""The same for all sub-agents."""


def family_choice(family: str) -> str:
    """The setting for the models of one family."""
    return f"active.family.{family}"


def rules_chosen(kept: Mapping[str, str]) -> tuple[RoutingRule, ...]:
    """The choices for a part. One for a backend that is gone stays: who is meant by it is told so, and nobody else asked."""
    chosen = [RoutingRule(agent="*", backend=kept[AGENTS])] if AGENTS in kept else []
    chosen += [
        RoutingRule(family=family, backend=kept[name]) for family in FAMILIES if (name := family_choice(family)) in kept
    ]
    return tuple(chosen)


def with_rules(rules: tuple[RoutingRule, ...], own: tuple[RoutingRule, ...]) -> tuple[RoutingRule, ...]:
    """The rules of the file, with those that were chosen where they belong."""
    narrow = tuple(rule for rule in own if rule.agent and rule.agent != "*")
    return (*narrow, *rules, *(rule for rule in own if rule not in narrow))


def choice_target(*, thread: str = "", gateway: str = "", family: str = "", agents: bool = False) -> str:
    """What a choice is about, for the audit."""
    if thread:
        return f"thread:{thread}"
    if gateway:
        return f"gateway:{gateway}"
    return "sub-agents" if agents else f"family:{family}" if family else "all requests"
