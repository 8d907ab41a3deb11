"""Which scenario answers a request, and which of its turns.

`[[scenario:NAME]]` in the newest user text that has such a mark names it; else the one that the simulator was started with;
else the built-in model improvises. The shipped scenarios are the files in `scenarios/`, beside this one; a user's own is
given by its path.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from importlib import resources
from pathlib import Path

from clew.errors import SettingsInvalid
from clew.model.json import JsonObject
from clew.simulator.acts import Say, Scenario, Turn
from clew.simulator.conversation import Exchange, texts_of_users
from clew.simulator.script import parse

__all__ = ["DEFAULT", "Stage", "load", "shipped", "turn_of"]

DEFAULT = "default"
"""The name of the built-in model."""

_MARK = re.compile(r"\[\[scenario:([\w.-]+)\]\]")
_SUFFIX = ".scenario"


@cache
def shipped() -> Mapping[str, Scenario]:
    """The scenarios in the package, by name."""
    files = sorted(resources.files("clew.simulator").joinpath("scenarios").iterdir(), key=lambda file: file.name)
    names = [file.name.removesuffix(_SUFFIX) for file in files]
    return {name: parse(file.read_text("utf-8"), name) for name, file in zip(names, files, strict=True)}


def load(name: str) -> Scenario | None:
    """A scenario by its name or its path; None is the built-in model. Raises SettingsInvalid if there is none."""
    if name == DEFAULT:
        return None
    if name in shipped():
        return shipped()[name]
    path = Path(name)
    if path.suffix != _SUFFIX:
        known = ", ".join([DEFAULT, *shipped()])
        raise SettingsInvalid(f"there is no scenario {name!r}; there are {known}, or give a file that ends in {_SUFFIX}")
    try:
        return parse(path.read_text("utf-8-sig"), path.stem)  # editors on Windows put a mark before it
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsInvalid(f"scenario {name}: {error}", file=name) from error


class Stage:
    """The scenarios that one simulator can play."""

    def __init__(self, standing: str = DEFAULT) -> None:
        self._standing = load(standing)
        self._known = dict(shipped())
        if self._standing is not None:
            self._known[self._standing.name] = self._standing

    def scenario_for(self, request: JsonObject) -> Scenario | None:
        """The scenario that answers; None for the built-in model. Raises SettingsInvalid for a name that there is not."""
        marks = (mark for text in texts_of_users(request) if (mark := _last_mark(text)))
        name = next(marks, None)
        if name is None:
            return self._standing
        return self._known[name] if name in self._known else _only_shipped(name)


def turn_of(scenario: Scenario, exchange: Exchange) -> Turn:
    """The turn that is due. After the last one there is only a closing word, so that every loop ends."""
    if exchange.turn < len(scenario.turns):
        return scenario.turns[exchange.turn]
    return Turn((Say(f"The scenario {scenario.name} ends here."),))


def _last_mark(text: str) -> str | None:
    found = _MARK.findall(text)
    return found[-1] if found else None


def _only_shipped(name: str) -> Scenario | None:
    if name.endswith(_SUFFIX):  # a request must not open files
        raise SettingsInvalid(f"a prompt can only name a scenario, not a file: {name!r}")
    return load(name)
