"""The plan of an agent, and its limits: how far a run may go, and how far it has gone.

Limits are checked after an answer and before its calls run, so a run that ends at a limit leaves calls that were not begun,
and can be resumed. Only the time limit is checked all the time. The spending of a sub-agent counts for its caller too, so a
limit holds for the whole tree below it. The caller still reads the sub-agent's output, which is one more model call.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Final, Literal, TypeAlias

from msgspec import Struct, structs

from clew.backends.row import Backend
from clew.chat.agent.structured import OutputForm
from clew.chat.agent.tools import Approval, Tool
from clew.chat.conversation import AsyncConversation
from clew.chat.local import LocalThreadService
from clew.chat.metrics import sum_of_usage
from clew.chat.opening import OnOverflow
from clew.chat.prices import Cost
from clew.chat.request import Wishes
from clew.model.facts.models import profile_for
from clew.model.json import JsonObject
from clew.model.turn import TokenUsage

_UNKNOWN: Final = {"tokens": "they were not counted", "usd": "a price is not known"}

Limit: TypeAlias = Literal["steps", "tokens", "usd", "seconds", "failures"]


class Limits(Struct, frozen=True, kw_only=True):
    """The limits of a run. None means no limit.

    >>> Limits(steps=10, usd=0.5).steps
    10
    """

    steps: int | None = 50
    """Model calls, those of sub-agents included."""
    tokens: int | None = None
    """Tokens in and out, those of the cache included. A backend that does not count them ends the run."""
    usd: float | None = None
    """US dollars at list prices. A model without a known price ends the run: the limit could not be kept."""
    seconds: float | None = None
    failures: int | None = 5
    """Steps in a row of which every call failed."""


class Reached(Struct, frozen=True):
    """A limit that a run has come to. `spent` is None where it is not known.

    >>> str(Reached("steps", 10, 10))
    'the limit of 10 steps is reached'
    """

    limit: Limit
    most: float
    spent: float | None = None

    def __str__(self) -> str:
        unknown = f", because {_UNKNOWN[self.limit]}" if self.spent is None else ""
        return f"the limit of {self.most:g} {self.limit} is reached{unknown}"


class Spending:
    """What a run has spent so far. It is added to the spending of the calling run too."""

    def __init__(self, limits: Limits, caller: Spending | None = None) -> None:
        self.limits = limits
        self.steps = 0
        """Model calls of this run."""
        self._calls = 0
        self.usage = TokenUsage()
        self.cost: Cost | None = None
        self._uncounted = False
        self._unpriced = False
        self._failures = 0
        self._began = time.monotonic()
        self._caller = caller

    def step(self) -> None:
        """Count a model call of this run."""
        self.steps += 1
        self._call()

    def _call(self) -> None:
        """Count a model call of this run or of a sub-agent."""
        self._calls += 1
        if self._caller is not None:
            self._caller._call()

    def add(self, usage: TokenUsage | None, cost: Cost | None) -> None:
        """Add what a model call took; None if it is not known."""
        self.usage = sum_of_usage((self.usage, usage)) if usage else self.usage
        self.cost = cost if self.cost is None else self.cost if cost is None else self.cost + cost
        self._uncounted |= usage is None
        self._unpriced |= cost is None
        if self._caller is not None:
            self._caller.add(usage, cost)

    def count_step_of_calls(self, failed: bool) -> None:
        """Note whether all calls of a step failed. Such steps in a row have a limit; any other step begins a new row."""
        self._failures = self._failures + 1 if failed else 0

    @property
    def tokens(self) -> int:
        used = self.usage
        return used.input + used.output + used.cache_read + used.cache_written

    @property
    def left(self) -> float | None:
        """The remaining seconds; None without a limit."""
        own = None if self.limits.seconds is None else self.limits.seconds - (time.monotonic() - self._began)
        callers = self._caller.left if self._caller else None
        known = [each for each in (own, callers) if each is not None]
        return max(0.0, min(known)) if known else None

    @property
    def late(self) -> Reached:
        """The limit of time, as reached."""
        if self.limits.seconds is None and self._caller is not None:
            return self._caller.late
        seconds = self.limits.seconds or 0.0
        return Reached("seconds", seconds, time.monotonic() - self._began)

    def reached(self) -> Reached | None:
        """The first limit that is reached, of this run or of the calling runs."""
        if self.left == 0:
            return self.late
        usd = float(self.cost.usd if self.cost else 0)
        counted: tuple[tuple[Limit, float | None, float | None], ...] = (
            ("steps", self.limits.steps, self._calls),
            ("tokens", self.limits.tokens, None if self._uncounted else self.tokens),
            ("usd", self.limits.usd, None if self._unpriced else usd),
            ("failures", self.limits.failures, self._failures),
        )
        for limit, most, spent in counted:
            if most is not None and (spent is None or spent >= most):
                return Reached(limit, most, spent)
        return self._caller.reached() if self._caller else None


# Plans


class AgentPlan(Struct, frozen=True, kw_only=True, eq=False):
    """The model, tools and limits of an agent: what is the same for all its conversations."""

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
    """How many more times a failed model call is tried, and an answer of the wrong type is asked for again."""
    form: OutputForm | None = None
    """The type of its answers; None for text."""

    @property
    def prompt(self) -> str | Sequence[JsonObject]:
        """The system prompt, with the form of the answer."""
        if self.form is None:
            return self.system
        if isinstance(self.system, str):
            return f"{self.system}\n\n{self.form.words}" if self.system else self.form.words
        return [*self.system, {"type": "text", "text": self.form.words}]


def prepare(plan: AgentPlan, conversation: AsyncConversation) -> None:
    """Give a conversation the parameters of this agent."""
    before = conversation.wishes
    conversation.wishes = Wishes(
        model=plan.model or before.model,
        system=plan.prompt or before.system,
        tools=[tool.definition for tool in plan.tools],
        max_tokens=plan.max_tokens,
        thinking=plan.thinking or before.thinking,
        effort=plan.effort or before.effort,
    )


def ask_for_schema(form: OutputForm | None, conversation: AsyncConversation) -> None:
    """Put the schema of the output into the next request if the model can follow one, else take it out."""
    schema = None
    if form is not None:
        row = backend_of(conversation, conversation.backend)
        # For Chat Completions the translation knows what the backend can follow.
        able = profile_for(conversation.model).structured or (row is not None and row.dialect != "anthropic")
        schema = form.strict if able else None
    if conversation.wishes.schema != schema:
        conversation.wishes = structs.replace(conversation.wishes, schema=schema)


def backend_of(conversation: AsyncConversation, name: str) -> Backend | None:
    """The settings of a backend. A conversation over a gateway knows only the names of its backends."""
    service = conversation.service
    return service.runtime.current.settings.backends.get(name) if isinstance(service, LocalThreadService) else None
