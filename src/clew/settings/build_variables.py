"""The variables of Claude Code's request builder, as settings: they work without a file, and `[build]` outranks them.

They hold where a request leaves it open: a client that sets `thinking`, or cache marks, is left alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec import Struct, structs

from clew.pipeline.step import CACHING_OFF, LINES, CacheRules
from clew.settings.problems import Key
from clew.settings.values import BuildSettings
from clew.thinking.budgets import VARIABLE, BudgetRules, parse_tokens

_OFF = "not used, since `[build] environment` is false"
_OUTRANKED = "not used, since `[build.budget] variable` says otherwise"
_OPEN = "where a request leaves thinking open"


class BuildVariable(Struct, frozen=True, kw_only=True):
    """A variable that is set, and what it does."""

    name: str
    value: str
    does: str
    key: Key = ()
    """The setting that it decides; empty if it decides none."""
    is_bad: bool = False
    """Its value cannot be read."""

    @property
    def says(self) -> str:
        return f"{self.name}={self.value}: {self.does}"


def with_variables(build: BuildSettings, environ: Mapping[str, str]) -> BuildSettings:
    """What the file says, with the variables where it says nothing."""
    if not build.environment:
        return build
    budget, cache, found = build.budget, build.cache, CacheRules.from_variables(environ)
    if (value := environ.get(VARIABLE)) and (budget is None or budget.variable is None):
        budget = structs.replace(budget or BudgetRules(), variable=value)
    if cache is not None:  # without rules there are no marks that could be switched off
        lines = tuple(line for line in LINES if line in (*cache.off_for, *found.off_for))
        cache = structs.replace(cache, off=cache.off or found.off, off_for=lines)
    return structs.replace(build, budget=budget, cache=cache)


def build_variables(build: BuildSettings, environ: Mapping[str, str]) -> tuple[BuildVariable, ...]:
    """The variables that are set, each with what it does beside what the file says."""
    return (*_budget_variable(build, environ), *_cache_variables(build, environ))


def _budget_variable(build: BuildSettings, environ: Mapping[str, str]) -> Iterator[BuildVariable]:
    value = environ.get(VARIABLE)
    if not value:
        return
    if not build.environment or (build.budget is not None and build.budget.variable is not None):
        yield BuildVariable(name=VARIABLE, value=value, does=_OUTRANKED if build.environment else _OFF)
        return
    tokens = parse_tokens(value)
    does = f"a thinking budget of {tokens} tokens, {_OPEN}"
    if tokens is None or tokens <= 0:
        does = f"{'not a number: ' if tokens is None else ''}no thinking is asked for, {_OPEN}"
    yield BuildVariable(name=VARIABLE, value=value, does=does, key=("build", "budget", "variable"), is_bad=tokens is None)


def _cache_variables(build: BuildSettings, environ: Mapping[str, str]) -> Iterator[BuildVariable]:
    found = CacheRules.from_variables(environ)
    names = [(CACHING_OFF, "off", "no cache marks are added")] if found.off else []
    names += [
        (f"{CACHING_OFF}_{line.upper()}", "off_for", f"no cache marks are added for {line} models") for line in found.off_for
    ]
    for name, field, does in names:
        key: Key = ("build", "cache", field) if build.environment and build.cache is not None else ()
        yield BuildVariable(name=name, value=environ[name], does=does if build.environment else _OFF, key=key)
