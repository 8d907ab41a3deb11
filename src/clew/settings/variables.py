"""Environment variables that are settings: those of Claude Code's request builder, and `CLEW_DEBUG`.

They work without a file. `[build]` overrides those of the builder, and they hold where a request leaves it open: a client
that sets `thinking`, or cache marks, is left alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from msgspec import Struct, structs

from clew.pipeline.step import CACHING_OFF, LINES, CacheRules
from clew.settings.problems import Key
from clew.settings.values import BuildSettings, LogSettings
from clew.thinking.budgets import VARIABLE, BudgetRules, parse_tokens

_IGNORED = "not used, since `[build] environment` is false"
_NOT_USED = "not used, since `[build.budget] variable` says otherwise"
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
    found = list[BuildVariable]()
    value = environ.get(VARIABLE)
    if value and (not build.environment or (build.budget is not None and build.budget.variable is not None)):
        found.append(BuildVariable(name=VARIABLE, value=value, does=_NOT_USED if build.environment else _IGNORED))
    elif value:
        tokens, key = parse_tokens(value), ("build", "budget", "variable")
        does = f"a thinking budget of {tokens} tokens, {_OPEN}"
        if tokens is None or tokens <= 0:
            does = f"{'not a number: ' if tokens is None else ''}no thinking is asked for, {_OPEN}"
        found.append(BuildVariable(name=VARIABLE, value=value, does=does, key=key, is_bad=tokens is None))
    rules = CacheRules.from_variables(environ)
    names = [(CACHING_OFF, "off", "no cache marks are added")] if rules.off else []
    for line in rules.off_for:
        names.append((f"{CACHING_OFF}_{line.upper()}", "off_for", f"no cache marks are added for {line} models"))
    for name, field, does in names:
        key: Key = ("build", "cache", field) if build.environment and build.cache is not None else ()
        found.append(BuildVariable(name=name, value=environ[name], does=does if build.environment else _IGNORED, key=key))
    return tuple(found)


# `CLEW_DEBUG`: the debug section of the log for one start, without a change of the file. `--debug` of a command sets it.


DEBUG_VARIABLE: Final = "CLEW_DEBUG"
_ON: Final = frozenset({"1", "true", "yes", "on"})
_TRACE: Final = "trace"
_OFF: Final = frozenset({"", "0", "false", "no", "off"})


def with_debug_variable(log: LogSettings, environ: Mapping[str, str]) -> LogSettings:
    """What the file says, with debug lines if the variable asks for them, and trace lines for the value `trace`."""
    value = environ.get(DEBUG_VARIABLE, "").strip().lower()
    if value == _TRACE:
        return structs.replace(log, debug=True, level="trace")
    return structs.replace(log, debug=True) if value in _ON else log


def debug_variable(environ: Mapping[str, str]) -> tuple[BuildVariable, ...]:
    """The variable, if it is set to something else than off."""
    value = environ.get(DEBUG_VARIABLE, "").strip()
    known = value.lower()
    if known in _OFF:
        return ()
    if known in _ON or known == _TRACE:
        does = "trace lines are written to the log" if known == _TRACE else "debug lines are written to the log"
        return (BuildVariable(name=DEBUG_VARIABLE, value=value, does=does, key=("log", "debug")),)
    does = "not used: it is 1 for debug lines, or `trace` for one line for each block too"
    return (BuildVariable(name=DEBUG_VARIABLE, value=value, does=does, is_bad=True),)


def with_debug(environ: Mapping[str, str], *, debug: bool) -> Mapping[str, str]:
    """The environment of a command that was called with `--debug`. A value that asks for more stays."""
    asked = environ.get(DEBUG_VARIABLE, "").strip().lower() == _TRACE
    return {**environ, DEBUG_VARIABLE: "1"} if debug and not asked else environ
