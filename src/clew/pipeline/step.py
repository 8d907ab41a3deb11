"""What a step is, and what it may know.

A step is a pure function from a request, a target and facts to the request that goes on, and its changes. `Options` are the
config's wishes for a projection; every default leaves the client's request alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, Literal, TypeAlias

from msgspec import Struct

from clew.model.change import Change
from clew.model.origin import Target
from clew.model.recording import Recordings, Shelf
from clew.model.request import Request
from clew.thinking.budgets import BudgetRules
from clew.thinking.recognise import Context
from clew.thinking.seal import Sealer

Policy: TypeAlias = Literal["origin", "strip"]
"""`origin` decides by who made a block; `strip` sends no thinking at all."""

ThinkingFirst: TypeAlias = Literal["keep", "reorder"]
"""`keep`: nothing is moved. `reorder`: unsigned thinking comes first in a message that calls tools."""

Ttl: TypeAlias = Literal["5m", "1h"]
Line: TypeAlias = Literal["haiku", "sonnet", "opus"]
LINES: Final[tuple[Line, ...]] = ("haiku", "sonnet", "opus")
Display: TypeAlias = Literal["as sent", "summarized", "omitted"]


CACHING_OFF: Final = "DISABLE_PROMPT_CACHING"
"""The variable; with a line behind it (`_HAIKU`), it is for that line's models alone."""
_TRUE: Final = ("1", "true", "yes", "on")


class CacheRules(Struct, frozen=True, kw_only=True):
    """Where cache marks are set.

    >>> CacheRules.from_variables({"DISABLE_PROMPT_CACHING_HAIKU": "1"}).off_for
    ('haiku',)
    """

    ttl: Ttl = "5m"
    """How long the vendor keeps the marked prefix."""
    off: bool = False
    """Set no marks at all, like the variable DISABLE_PROMPT_CACHING."""
    off_for: tuple[Line, ...] = ()
    """Set no marks for these model lines, like DISABLE_PROMPT_CACHING_HAIKU, _SONNET and _OPUS."""
    nearest: bool = True
    """If a message ends in a block that cannot be marked, mark the nearest block before it that can be. Otherwise the
    message gets no mark."""
    replace: bool = False
    """Also replace the marks of clients that set their own."""

    @classmethod
    def from_variables(cls, environ: Mapping[str, str]) -> CacheRules:
        """The usual rules, without the marks that these variables (`os.environ`) switch off."""
        lines: tuple[Line, ...] = tuple(line for line in LINES if _is_set(environ, f"{CACHING_OFF}_{line.upper()}"))
        return cls(off=_is_set(environ, CACHING_OFF), off_for=lines)


def _is_set(environ: Mapping[str, str], name: str) -> bool:
    return environ.get(name, "").strip().lower() in _TRUE


class Options(Struct, frozen=True, kw_only=True):
    """The options of the config for a projection, in addition to what its target needs.

    >>> Options().policy, Options(display="summarized").display
    ('origin', 'summarized')
    """

    policy: Policy = "origin"
    restore: bool = True
    """Put back what a client dropped. What it holds, under a seal or a safe id, goes back to its maker either way."""
    budget: BudgetRules | None = None
    """Ask for thinking by keyword and variable, where the client does not set `thinking` itself."""
    display: Display = "as sent"
    """What to ask for where thinking is on and the client left `display` open."""
    cache: CacheRules | None = None
    preserve_thinking: bool = False
    """Ask the server to keep all old thinking, by a context edit."""
    thinking_first: ThinkingFirst = "keep"
    """What becomes of thinking without a signature, which no maker can be asked about. `keep`: it is left out. `reorder`: a
    target that takes unsigned thinking gets it, in front of a message that calls tools; with `foreign="text"` others get it
    as text. Claude never gets it as thinking, and no signed block is moved."""
    forced_tools: Literal["keep", "auto"] = "keep"
    """Where a forced tool is refused: leave it to the vendor to say so, or let the model choose. For clients of OpenAI's
    APIs the model always chooses."""


_NOTHING = Shelf()


class Facts(Struct, frozen=True, kw_only=True):
    """The facts that a projection may use, besides the request and the target. There is no clock, no I/O and no hidden
    state.

    >>> from clew.pipeline.step import Options
    >>> Facts(options=Options(policy="strip")).options.policy
    'strip'
    """

    options: Options = Options()
    recordings: Recordings = _NOTHING
    context: Context = Context()
    sealer: Sealer | None = None
    version: str = "2023-06-01"
    """The API version that the request goes out with; some fields are legal in one only (R2)."""


Step: TypeAlias = Callable[[Request, Target, Facts], tuple[Request, tuple[Change, ...]]]
