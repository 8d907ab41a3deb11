"""`CLEW_DEBUG`: the debug section of the log for one start, without a change of the file. `--debug` of a command sets it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from msgspec import structs

from clew.settings.build_variables import BuildVariable
from clew.settings.values import LogSettings

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
