"""What the settings of another tool come to in clew's words: backends, rules, and what cannot be carried over."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias, cast
from urllib.parse import urlsplit

from msgspec import Struct, field

from clew.backends.presets import preset_of_host, presets
from clew.errors import SettingsInvalid
from clew.model.json import JsonValue

Tree: TypeAlias = Mapping[str, Any]
_ENDS: Final = {"/chat/completions": "openai-chat", "/responses": "openai-responses", "/v1/messages": "anthropic"}
_VARIABLE: Final = re.compile(r"\$\{?([A-Za-z_]\w*)\}?|os\.environ/([A-Za-z_]\w*)")


class LeftOut(Struct, frozen=True):
    """Something that is not carried over, and why, with what to do instead."""

    what: str
    why: str


class FoundBackend(Struct, frozen=True):
    """A backend as a table of clew.toml. `name` is the wish; another one is taken where it is used already."""

    name: str
    values: dict[str, JsonValue]


class FoundSettings(Struct):
    """Everything that one source has, in its order."""

    backends: list[FoundBackend] = field(default_factory=list[FoundBackend])
    active: str = ""
    failover: list[str] = field(default_factory=list[str])
    rules: list[dict[str, JsonValue]] = field(default_factory=list[dict[str, JsonValue]])
    left_out: list[LeftOut] = field(default_factory=list[LeftOut])

    def add(self, backend: FoundBackend) -> FoundBackend:
        """Keep it under a name of its own, and give it."""
        taken = {each.name for each in self.backends}
        names = (backend.name, *(f"{backend.name}-{number}" for number in range(2, len(taken) + 3)))
        own = FoundBackend(next(name for name in names if name not in taken), backend.values)
        self.backends.append(own)
        return own

    def leave(self, what: str, why: str) -> None:
        self.left_out.append(LeftOut(what, why))

    def key_for(self, name: str, given: object, usual: str = "") -> str:
        """Where clew finds the key: the variable that the source names. A key that stands in the source is not copied: a
        variable gets a name, and what to do is listed."""
        text = given.strip() if isinstance(given, str) else ""
        if named := _VARIABLE.fullmatch(text):
            return f"${{{named[1] or named[2]}}}"
        variable = usual or f"{re.sub(r'[^A-Za-z0-9]+', '_', name).upper()}_API_KEY"
        if text:
            self.leave(f"the key of {name}", f"keys are not copied: put it into the variable {variable}")
        return f"${{{variable}}}"


def tree(value: object) -> Tree:
    """A table of the source; an empty one where something else stands."""
    return cast("Tree", value) if isinstance(value, Mapping) else {}


def items(value: object) -> Sequence[Any]:
    return cast("Sequence[Any]", value) if isinstance(value, list) else ()


def text(value: object) -> str:
    return value.strip() if isinstance(value, str) else ""


def name_from(words: str) -> str:
    """A backend's name from what people call it."""
    return re.sub(r"[^a-z0-9._-]+", "-", words.casefold()).strip("-._")[:64] or "imported"


def endpoint(url: str, dialect: str = "") -> dict[str, JsonValue]:
    """`preset`, `url` and `dialect` for an address. A known host gives its preset; other hosts keep their address."""
    url = url.strip().rstrip("/")
    if not urlsplit(url).hostname:
        raise SettingsInvalid(f"{url or 'the address'} is not the address of a server")
    for end, of in _ENDS.items():
        if url.endswith(end):
            url, dialect = url.removesuffix(end), of
    known = preset_of_host(url)
    if known is None:
        return {"url": url, "dialect": dialect}
    spoken = known.speaking(dialect)
    same = spoken is not None and (spoken.dialect == known.dialect)
    return {
        "preset": known.name,
        "dialect": "" if spoken is None or same else dialect,
        "url": "" if known.url else url,
    }


def usual_variable(preset: str) -> str:
    """The variable in which the vendor's own tools look for a key."""
    row = presets().get(preset)
    return row.variables[0].name if row and row.variables else ""


def is_keyless(preset: str) -> bool:
    row = presets().get(preset)
    return bool(row and row.keyless)
