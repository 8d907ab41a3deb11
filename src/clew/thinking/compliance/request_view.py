"""A request as the checks read it, and their findings.

Findings are reported in the order of the rules, in the vendor's words, with a remedy.

Checks run on any value that a client can send, also where a schema rule is switched off, so nothing here trusts a type: a
value of the wrong kind reads as absent. Messages keep the caller's indices. String content is one text block. *Runs* are
neighbouring messages of one role; system messages do not interrupt them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, groupby
from operator import attrgetter
from typing import NamedTuple, TypeAlias

from msgspec import Struct

from clew.model.blocks import THINKING_TYPES
from clew.model.facts import BlockFacts, ModelFacts, blocks, path_order, rules
from clew.model.json import JsonArray, JsonObject, JsonValue, object_of, text_of

MOST = 1_000
"""Findings of each rule. More than anyone reads; a hostile body can break a rule a million times."""


class Defect(NamedTuple):
    """Where a rule is broken, and the names that the vendor's words need."""

    path: str
    names: Mapping[str, object]


def at(path: str, **names: object) -> Defect:
    return Defect(path, names)


class RuleFinding(NamedTuple):
    """A broken rule, where, and the names that the vendor's words need."""

    rule: str
    path: str
    names: Mapping[str, object]


class Violation(Struct, frozen=True):
    """One broken rule.

    >>> from clew import check
    >>> [violation] = check({"model": "claude-opus-5-5", "max_tokens": 100, "messages": []})
    >>> violation.rule, violation.path, violation.right
    ('R18.no-messages', 'messages', 'Send at least one user message.')
    """

    rule: str
    """`R33.empty-signature`: a row of rules.toml."""
    path: str
    """Where, as the vendor names it: `messages.3.content.0.thinking.signature`; "" for the whole request."""
    words: str
    """What the vendor answers."""
    right: str
    """What would be right."""


def in_order(findings: Iterable[RuleFinding]) -> tuple[Violation, ...]:
    """The violations, by the order of checking, then by place; of each rule the first ones."""
    table, counts, kept = rules(), Counter[str](), list[RuleFinding]()
    for each in findings:
        counts[each.rule] += 1
        if counts[each.rule] <= MOST:
            kept.append(each)
    kept.sort(key=lambda each: (table[each.rule].order, path_order(each.path)))
    violations: list[Violation] = []
    for each in kept:
        rule = table[each.rule]
        violations.append(Violation(rule.id, each.path, rule.words(path=each.path, **each.names), rule.right))
    return tuple(violations)


ROLES = frozenset({"user", "assistant", "system"})
MOST_MESSAGES = 100_000
"""R17. The entries of a longer list are not looked at, in any phase."""


def list_in(value: JsonValue) -> JsonArray:
    """The list, or an empty one."""
    return value if isinstance(value, list) else []


def number_in(value: JsonValue) -> int | float | None:
    """The number; JSON's true and false are none."""
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


class BlockView(NamedTuple):
    """One block, at its place in the caller's request."""

    message: int
    place: int
    type: str
    value: JsonObject

    @property
    def path(self) -> str:
        return f"messages.{self.message}.content.{self.place}"

    @property
    def is_thinking(self) -> bool:
        return self.type in THINKING_TYPES

    @property
    def facts(self) -> BlockFacts | None:
        return blocks().get(self.type)

    @property
    def answers(self) -> str:
        """The type of block that this one answers, if it is a server tool's result."""
        return self.facts.answers if self.facts else ""

    def text(self, key: str) -> str:
        return text_of(self.value.get(key))


@dataclass(frozen=True, slots=True)
class MessageView:
    """One message with a known role."""

    index: int
    role: str
    value: JsonObject
    blocks: tuple[BlockView, ...]

    @property
    def path(self) -> str:
        return f"messages.{self.index}"

    @property
    def content(self) -> JsonValue:
        return self.value.get("content")

    @property
    def effort(self) -> str:
        return text_of(object_of(self.value.get("output_config")).get("effort"))

    @property
    def configures(self) -> bool:
        """Whether this is a system message whose `output_config` sets anything."""
        return any(value is not None for value in object_of(self.value.get("output_config")).values())

    @property
    def directs_only(self) -> bool:
        """The form that may stand anywhere: no content, only `output_config`."""
        return self.content == [] and self.configures

    def holds(self, kind: str) -> bool:
        return any(block.type == kind for block in self.blocks)


@dataclass(frozen=True, slots=True)
class RunView:
    """Neighbouring messages of one role."""

    role: str
    messages: tuple[MessageView, ...]
    blocks: tuple[BlockView, ...]

    def of(self, *kinds: str) -> Iterator[BlockView]:
        return (block for block in self.blocks if block.type in kinds)


@dataclass(frozen=True)
class RequestView:
    """Body, headers, profile and stance, with the questions that most checks ask of them."""

    body: JsonObject
    profile: ModelFacts
    version: str = ""
    betas: frozenset[str] = frozenset()
    stance: Mapping[str, str] = field(default_factory=dict[str, str])

    @cached_property
    def messages(self) -> tuple[MessageView, ...]:
        entries = list_in(self.body.get("messages"))
        found: list[MessageView] = []
        for index, message in enumerate(entries if len(entries) <= MOST_MESSAGES else ()):
            value = object_of(message)
            role = text_of(value.get("role"))
            if role in ROLES:
                content = value.get("content")
                blocks: list[JsonValue] = (
                    [{"type": "text", "text": content}] if isinstance(content, str) else list_in(content)
                )
                views = (
                    BlockView(index, j, text_of(block.get("type")), block)
                    for j, block in enumerate(blocks)
                    if isinstance(block, dict)
                )
                found.append(MessageView(index, role, value, tuple(views)))
        return tuple(found)

    @cached_property
    def runs(self) -> tuple[RunView, ...]:
        runs: list[RunView] = []
        turns = (each for each in self.messages if each.role != "system")
        for role, group in groupby(turns, key=attrgetter("role")):
            together = tuple(group)
            runs.append(RunView(role, together, tuple(chain.from_iterable(each.blocks for each in together))))
        return tuple(runs)

    @property
    def assistant_runs(self) -> list[RunView]:
        return [run for run in self.runs if run.role == "assistant"]

    @cached_property
    def tools(self) -> tuple[JsonObject, ...]:
        return tuple(map(object_of, list_in(self.body.get("tools"))))

    @property
    def model(self) -> str:
        return text_of(self.body.get("model"))

    @property
    def thinking(self) -> str:
        """The type that the request asks for; "" if it does not ask."""
        return text_of(object_of(self.body.get("thinking")).get("type"))

    @property
    def thinks(self) -> bool:
        """Whether thinking is on: asked for, or the model's own default."""
        if self.body.get("thinking") is None:
            return self.profile.thinking_default != "off"
        return self.thinking in ("enabled", "adaptive")

    @property
    def output(self) -> JsonObject:
        return object_of(self.body.get("output_config"))

    @property
    def effort(self) -> str:
        return text_of(self.output.get("effort"))

    @property
    def forced(self) -> bool:
        """Whether the request makes the model call a tool."""
        return object_of(self.body.get("tool_choice")).get("type") in ("any", "tool")

    @property
    def final(self) -> RunView | None:
        """The assistant run that ends the request, if its last message is the assistant's."""
        ends = bool(self.messages) and self.messages[-1].role == "assistant"
        return self.runs[-1] if ends else None

    @property
    def loop_is_open(self) -> bool:
        """Whether the last message, system messages aside, brings tool results."""
        return bool(self.runs) and self.runs[-1].role == "user" and self.runs[-1].messages[-1].holds("tool_result")

    def blocks(self) -> Iterator[BlockView]:
        return chain.from_iterable(each.blocks for each in self.messages)


Check: TypeAlias = Callable[[RequestView], Iterator[Defect]]


class RuleTable(dict[str, Check]):
    """The checks of some rules, by rule id. A check yields every place where its rule is broken."""

    def check(self, rule: str) -> Callable[[Check], Check]:
        """Decorates the function that checks this rule."""

        def add(check: Check) -> Check:
            self[rule] = check
            return check

        return add

    def at(self, path: str, conditions: Mapping[str, Callable[[RequestView], bool]]) -> None:
        """Adds rules that one condition decides, at a fixed path: the condition says when the rule is broken."""
        for rule, is_broken in conditions.items():
            self[rule] = lambda view, is_broken=is_broken: iter([at(path)] if is_broken(view) else [])
