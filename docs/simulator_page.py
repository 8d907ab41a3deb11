"""The page about the simulator's kinds: who they are, what the others refuse, and in which words."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from clew.simulator.anthropic.vendors import vendors
from clew.simulator.openai_chat.judge.case import CHAT_RULES
from clew.simulator.openai_chat.vendors import chat_vendors
from clew.simulator.openai_responses.judge.case import RESPONSES_RULES
from clew.simulator.openai_responses.vendors import responses_vendors
from clew.simulator.rule_book import OpenaiVendor, RuleBook, VendorRule

Table = Callable[[Sequence[str], Iterable[Sequence[str]]], str]


def simulator_page(table: Table) -> str:
    """The whole page; `table` writes one."""
    dialects = (("Anthropic", vendors()), ("Chat Completions", chat_vendors()), ("Responses", responses_vendors()))
    kinds = [
        (f"`{name}`", dialect, row.about, row.source, row.date) for dialect, rows in dialects for name, row in rows.items()
    ]
    parts = [
        "# Simulator kinds\n",
        "`clew sim --kind KIND`, or `simulators(kind=…)` in pytest. The facts about each kind are in the tables",
        "`vendors.toml` of `src/clew/simulator/anthropic`, `openai_chat` and `openai_responses`.",
        "[Test an agent without a key](../howto/test-an-agent-without-a-key.md) shows how to use them.\n",
        table(("kind", "dialect", "what it is", "source", "as of"), kinds),
        *_rules("the chat kinds", CHAT_RULES, chat_vendors(), table),
        *_rules("the Responses kinds", RESPONSES_RULES, responses_vendors(), table),
    ]
    return "\n".join(parts)


def _rules(kinds: str, book: RuleBook, rows: Mapping[str, OpenaiVendor], table: Table) -> Iterator[str]:
    """What the kinds of a dialect refuse, and where a vendor has words of its own."""
    yield f"## Rules of {kinds}\n"
    yield "What these kinds refuse, with the messages of the OpenAI API. The grades are those of [Rules](rules.md)."
    yield "Nobody has seen the messages that are marked †; clew's authors wrote them.\n"
    yield table(("rule", "grade", "when", "the API says"), map(_rule_row, book.rules.values()))
    yield f"### Other messages of {kinds}\n"
    yield "Vendors that are known to use another message.\n"
    own = [row for name, vendor in rows.items() for row in _own_words(name, vendor, book)]
    yield table(("kind", "rule", "it says"), own)


def _rule_row(rule: VendorRule) -> tuple[str, ...]:
    return f"`{rule.id}`", rule.grade, rule.means, _said(rule)


def _own_words(kind: str, vendor: OpenaiVendor, book: RuleBook) -> Iterator[tuple[str, ...]]:
    for name in vendor.words:
        rule = f"{book.dialect}.{name}"
        yield f"`{kind}`", f"`{rule}`", _said(book.rule_of(vendor, rule))


def _said(rule: VendorRule) -> str:
    words = f"{rule.status} `{rule.text}`" if "`" not in rule.text else f"{rule.status} `` {rule.text} ``"
    return words + ("" if rule.verified else " †")
