"""How much thinking a turn asks for: by the operator's variable, by a word in the prompt, or by default.

The rules are those of Claude Code's request builder (MAX_THINKING_TOKENS, `ultrathink` and its phrases), with two flaws
fixed and the old behaviour kept selectable: one matcher instead of two that disagree (`strict` keeps the two), and one word
counts for its own turn instead of for the rest of the conversation (`scope = "any"` keeps that). Only text that a person
wrote counts: no tool result, no reminder, no message that a client marked as its own. Nothing is logged here; the returned
value holds all there is to report.

Older models take a budget, newer ones an effort level, and a request for one kind must be translated for the other. The
bands are those on which public gateways agree (1024 is low, 8192 medium, 24576 high); `max` has no number of its own, it is
as much as the model allows.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from enum import IntEnum
from typing import ClassVar, Literal, TypeAlias

from msgspec import Struct

from clew.model.json import JsonObject, object_of, text_of
from clew.thinking.keys import is_reminder


class ThinkingTokens(IntEnum):
    """The thinking tokens for a prompt: with the keyword, and without it.

    >>> int(ThinkingTokens.ULTRATHINK), int(ThinkingTokens.NONE)
    (31999, 0)
    """

    NONE = 0
    ULTRATHINK = 31_999


ULTRATHINK = ThinkingTokens.ULTRATHINK.value
NONE = ThinkingTokens.NONE.value

MINIMUM = 1024
"""The smallest budget that the API takes (R11)."""

ANSWER = 1024
"""Tokens that a budget of ours leaves for the answer. The API wants one."""

VARIABLE = "MAX_THINKING_TOKENS"

KEYWORDS = ("ultrathink", "think ultra hard", "think ultrahard")

Scope: TypeAlias = Literal["last_user_turn", "any"]


class BudgetWish(Struct, frozen=True):
    """The thinking that a text asks for.

    >>> parse_budget_wish("Please ultrathink.")
    BudgetWish(tokens=31999, level='high')
    """

    tokens: int
    """A budget; 0 without a keyword."""
    level: Literal["high", "none"]
    """The same in a word."""


class BudgetRules(Struct, frozen=True, kw_only=True):
    """Where a thinking budget can come from: a variable, a word in the prompt, or a default.

    >>> BudgetRules.from_variables({"MAX_THINKING_TOKENS": "50000"}).variable
    '50000'
    """

    variable: str | None = None
    """The value of MAX_THINKING_TOKENS. A number decides alone, whatever the prompt says. Empty: not set."""
    default: int | None = None
    """The number of tokens, if neither the variable nor a word asks for more."""
    scope: Scope = "last_user_turn"
    """Where a word counts: in the last turn that a person began, or anywhere."""
    strict: bool = False
    """Search the text for the one documented word only. Phrases are left to `is_budget_keyword`."""
    provider: str = "anthropic"
    """The provider's name in the event about the variable."""

    @classmethod
    def from_variables(cls, environ: Mapping[str, str]) -> BudgetRules:
        """The usual rules, with MAX_THINKING_TOKENS from these variables (`os.environ`)."""
        return cls(variable=environ.get(VARIABLE))

    @property
    def warning(self) -> str:
        """What is wrong with the variable; "" if nothing is."""
        if not self.variable or parse_tokens(self.variable) is not None:
            return ""
        return f"{VARIABLE}={self.variable!r} is not a number: no thinking is asked for. Set a number of tokens, or unset it"


class BudgetEvent(Struct, frozen=True, rename="camel"):
    """Says that the variable set the budget. Its JSON has the names of the fields that Claude Code logs.

    >>> event = budget_for([], BudgetRules(variable="50000")).event
    >>> event.name, event
    ('tengu_thinking', BudgetEvent(provider='anthropic', token_count=50000))
    """

    name: ClassVar[str] = "tengu_thinking"
    """The name under which Claude Code logs it."""
    provider: str
    """Who is asked."""
    token_count: int
    """The budget."""


class Budget(Struct, frozen=True):
    """How much thinking a request asks for.

    >>> budget_for([], BudgetRules(variable="many")).warning[:40]
    "MAX_THINKING_TOKENS='many' is not a numb"
    """

    tokens: int
    """The budget; with 0 or less, no thinking is asked for."""
    event: BudgetEvent | None = None
    """To be logged, if the variable set the budget."""
    warning: str = ""
    """Names a variable that is no number."""


class HumanInput(Struct, frozen=True):
    """The texts that a person wrote in one message. `opens`: the message begins a turn, since it answers no tool."""

    texts: tuple[str, ...] = ()
    opens: bool = True
    wish: int | None = None
    """The budget that the client noted beside the message; it overrides the words."""


# Word boundaries and case are ASCII's, as in the matcher that this follows.
_WORD = re.compile(r"\bultrathink\b", re.ASCII | re.IGNORECASE)
_WORDS = re.compile(r"\b(?:ultrathink|think ultra hard|think ultrahard)\b", re.ASCII | re.IGNORECASE)
_SPACE = "\t\n\v\f\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"
_NUMBER = re.compile(rf"[{_SPACE}]*([+-]?)([0-9]+)")

_HIGH = BudgetWish(ULTRATHINK, "high")
_NOTHING = BudgetWish(NONE, "none")


def is_budget_keyword(text: str) -> bool:
    """Say whether the whole text is one of the keywords, in any case.

    >>> is_budget_keyword("Think Ultra Hard"), is_budget_keyword("please ultrathink")
    (True, False)
    """
    return text.lower() in KEYWORDS


def parse_budget_wish(text: str, *, strict: bool = False) -> BudgetWish:
    """Find the thinking that a text asks for with a keyword, anywhere in the text. `strict` knows only the one word, and no
    phrases.

    >>> parse_budget_wish("(ultrathink)").tokens, parse_budget_wish("ultrathinking").tokens
    (31999, 0)
    """
    return _HIGH if (_WORD if strict else _WORDS).search(text) else _NOTHING


def parse_tokens(text: str) -> int | None:
    """The number at the beginning of a text, as JavaScript's parseInt reads it; None where that gives NaN."""
    match = _NUMBER.match(text)
    if match is None:
        return None
    digits = match.group(2)[:300]  # longer ones are infinite there, and too long to convert here
    return -int(digits) if match.group(1) == "-" else int(digits)


def budget_for(messages: Iterable[JsonObject], rules: BudgetRules | None = None) -> Budget:
    """The thinking budget of a request with these messages, which may be bare or in a client's envelopes.

    A variable that is set decides alone. Else the keyword counts, in what a person wrote: in the last turn, or with
    `scope="any"` anywhere.

    >>> history = [{"role": "user", "content": "ultrathink about it"}]
    >>> budget_for(history).tokens, budget_for(history, BudgetRules(variable="0")).tokens
    (31999, 0)
    """
    return budget_for_inputs([found for message in messages if (found := human_input(message))], rules or BudgetRules())


def budget_for_inputs(inputs: Sequence[HumanInput], rules: BudgetRules) -> Budget:
    """As `budget_for`, of inputs that were read already."""
    if rules.variable:
        tokens = parse_tokens(rules.variable)
        if tokens is None:
            return Budget(NONE, warning=rules.warning)
        return Budget(tokens, BudgetEvent(rules.provider, tokens) if tokens > 0 else None)
    # Remarks beside tool results do not count for the last turn: the budget is not to change inside a loop.
    openings = inputs if rules.scope == "any" else [each for each in inputs if each.opens][-1:]
    wishes = [rules.default or NONE]
    for each in openings:
        if each.wish is not None:
            wishes.append(each.wish)
        else:
            wishes += [parse_budget_wish(text, strict=rules.strict).tokens for text in each.texts] or [NONE]
    return Budget(max(wishes))


def human_input(message: JsonObject) -> HumanInput | None:
    """The input of a person in a plain message (bare, or in a client's envelope); None if no person wrote it."""
    inner = message.get("message")
    envelope = inner if isinstance(inner, dict) else message
    if (envelope.get("role") or message.get("type")) != "user" or message.get("isMeta"):
        return None
    content = envelope.get("content")
    if isinstance(content, str):
        parts = [("text", content)]
    else:
        blocks = [object_of(block) for block in content] if isinstance(content, list) else []
        parts = [(text_of(block.get("type")), text_of(block.get("text"))) for block in blocks]
    metadata = message.get("thinkingMetadata")
    if not isinstance(metadata, dict):
        return human_input_of_parts(parts)
    wants_high = metadata.get("level") == "high" and not metadata.get("disabled")
    return human_input_of_parts(parts, wish=ULTRATHINK if wants_high else NONE)


def human_input_of_parts(parts: Iterable[tuple[str, str]], *, wish: int | None = None) -> HumanInput | None:
    """As `human_input`, of (block type, text) pairs of one user message."""
    parts = list(parts)
    human = [(kind, text) for kind, text in parts if kind != "tool_result" and not is_reminder(text.strip())]
    if not human and wish is None:
        return None
    answers = any(kind == "tool_result" for kind, _ in parts)
    return HumanInput(tuple(text for kind, text in human if kind == "text"), not answers, wish)


def fit_budget(budget: int, *, max_tokens: int | None = None, cap: int = 0, answer: int = ANSWER) -> int | None:
    """The nearest legal budget: at least MINIMUM, `answer` less than `max_tokens`, at most `cap` (0: no cap); or None."""
    limits = [limit for limit in (None if max_tokens is None else max_tokens - answer, cap or None) if limit is not None]
    nearest = max(min([budget, *limits]), MINIMUM)
    return nearest if all(nearest <= limit for limit in limits) else None


EFFORTS = ("low", "medium", "high", "xhigh", "max")
"""From least to most."""
FOREIGN_EFFORTS = ("none", "minimal")
"""Less than the least: levels of OpenAI's API that Claude does not have."""

AUTO_BUDGET = 16_384
"""The budget for "think as you see fit": adaptive without a level."""

_BANDS = ((32_768, "xhigh"), (16_384, "high"), (4096, "medium"))
_BUDGETS = {"minimal": MINIMUM, "low": 2048, "medium": 8192, "high": 24_576, "xhigh": 32_768}


def effort_of_budget(budget: int) -> str:
    """The level whose band holds a budget."""
    return next((level for floor, level in _BANDS if budget >= floor), "low")


def budget_of_effort(level: str | None, *, ceiling: int) -> int:
    """A budget for a level; `ceiling` is the most that the model and the request allow. None, or an unknown level: AUTO."""
    if level == "max":
        return ceiling
    return _BUDGETS.get(level or "", AUTO_BUDGET)


def nearest_level(level: str, supported: Sequence[str]) -> str:
    """The highest supported level at or below this one, else the lowest; the level itself if it is unknown."""
    if level in FOREIGN_EFFORTS and supported:
        return next(each for each in EFFORTS if each in supported)
    if level not in EFFORTS or not supported:
        return level
    ranked = [each for each in EFFORTS if each in supported]
    below = [each for each in ranked if not is_above(each, level)]
    return (below or ranked[:1] or [level])[-1]


def is_above(level: str, limit: str) -> bool:
    """Whether a level is higher than a limit. Unknown ones are not comparable, and above nothing."""
    return level in EFFORTS and limit in EFFORTS and EFFORTS.index(level) > EFFORTS.index(limit)
