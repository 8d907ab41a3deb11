"""The page about the simulator's kinds: who they are, what the chat vendors refuse, and in which words."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from clew.simulator.anthropic.vendors import vendors
from clew.simulator.openai_chat.judge.case import ChatRule, chat_rules, rule_of
from clew.simulator.openai_chat.vendors import ChatVendor, chat_vendors

Table = Callable[[Sequence[str], Iterable[Sequence[str]]], str]


def simulator_page(table: Table) -> str:
    """The whole page; `table` writes one."""
    chat = chat_vendors()
    kinds = [
        (f"`{name}`", "Chat Completions" if name in chat else "Anthropic", row.about, row.source, row.date)
        for name, row in {**vendors(), **chat}.items()
    ]
    parts = [
        "# Simulator kinds\n",
        "`clew sim --kind KIND`, or `simulators(kind=…)` in pytest. Each is a row of facts over one judge of its dialect;",
        "the rows are in `src/clew/simulator/anthropic/vendors.toml` and `src/clew/simulator/openai_chat/vendors.toml`.",
        "[Test an agent without a key](../howto/test-an-agent-without-a-key.md) shows how to use them.\n",
        table(("kind", "dialect", "what it is", "source", "as of"), kinds),
        "## Rules of the chat kinds\n",
        "What they refuse, in the order of checking, with the words of the OpenAI API. Grades as in [Rules](rules.md);",
        "words marked † were never seen; they are ours.\n",
        table(("rule", "grade", "when", "the API says"), map(_chat_rule_row, chat_rules().values())),
        "## Their own words\n",
        "Where a vendor is known to say it otherwise.\n",
    ]
    rows = [row for name, vendor in chat.items() for row in _own_words(name, vendor)]
    return "\n".join([*parts, table(("kind", "rule", "it says"), rows)])


def _chat_rule_row(rule: ChatRule) -> tuple[str, ...]:
    return f"`{rule.id}`", rule.grade, rule.means, _said(rule)


def _own_words(kind: str, vendor: ChatVendor) -> Iterator[tuple[str, ...]]:
    for name in vendor.words:
        yield f"`{kind}`", f"`chat.{name}`", _said(rule_of(vendor, f"chat.{name}"))


def _said(rule: ChatRule) -> str:
    words = f"{rule.status} `{rule.text}`" if "`" not in rule.text else f"{rule.status} `` {rule.text} ``"
    return words + ("" if rule.verified else " †")
