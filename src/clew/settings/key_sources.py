"""Where a backend's key comes from: a variable, a file, the system's keyring, or the config itself.

`${NAME}` is replaced wherever a text stands, `${NAME:-text}` with a default; the result is the key, or says where it is. The
keyring is only asked if its package is installed.
"""

from __future__ import annotations

import os
import re
import stat
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Final, NamedTuple, Protocol, cast

from msgspec import Struct

from clew.backends.credential import Secret
from clew.errors import SettingsInvalid
from clew.settings.problems import Key, key_lines, line_of

_VARIABLE: Final = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")
_MOST_BYTES: Final = 64 * 1024
_HEADER_VALUE: Final = re.compile(r"[!-~]+")


class FoundKey(NamedTuple):
    """A key, where it was found ("" in the settings file itself), and a warning about that."""

    key: Secret | None
    where: str
    warning: str = ""


class VariableUnset(SettingsInvalid):
    """A text names variables that are not set here. The backend of the text cannot be used; the rest of the file can."""

    def __init__(self, variables: Sequence[str]) -> None:
        super().__init__(unset_message(variables))


class UnsetVariable(Struct, frozen=True, kw_only=True):
    """A variable that is not set, the backend whose key it is to hold, and the line that names it."""

    backend: str
    variable: str
    line: int


class _Keyring(Protocol):
    def get_password(self, service_name: str, username: str) -> str | None: ...


def unset_message(variables: Sequence[str]) -> str:
    if len(variables) == 1:
        return f"the variable {variables[0]} is not set"
    return f"the variables {', '.join(variables[:-1])} and {variables[-1]} are not set"


def expand_variables(text: str, environ: Mapping[str, str]) -> str:
    """The text with its variables replaced. Raises VariableUnset for a variable that is not set and has no default."""
    if unset := list(dict.fromkeys(variables_without(text, environ))):
        raise VariableUnset(unset)
    return _VARIABLE.sub(lambda match: environ.get(match[1], "") or match[2], text)


def variables_without(text: str, environ: Mapping[str, str]) -> Iterator[str]:
    """The variables in the text that are not set and have no default."""
    return (match[1] for match in _VARIABLE.finditer(text) if match[2] is None and not environ.get(match[1], ""))


def unset_variables(file: Path, environ: Mapping[str, str]) -> tuple[UnsetVariable, ...]:
    """The variables for keys that are not set here, so that a start would disable their backends; none for a config that
    cannot be read. No key file is opened, and no keyring asked."""
    try:
        text = file.read_text("utf-8-sig")
        raw: Mapping[str, object] = tomllib.loads(text)
    except (OSError, ValueError, RecursionError):
        return ()
    lines, found = key_lines(text), list[UnsetVariable]()
    for name, table in _table(raw.get("backends")).items():
        keys = _table(table).get("keys")
        texts: list[tuple[Key, object]] = [(("key",), _table(table).get("key"))]
        texts += [
            (("keys", at), each) for at, each in enumerate(cast("list[object]", keys) if isinstance(keys, list) else [])
        ]
        for place, value in texts:
            line = line_of(("backends", name, *place), lines)
            unset = variables_without(value, environ) if isinstance(value, str) else ()
            found += [UnsetVariable(backend=name, variable=variable, line=line) for variable in unset]
    return tuple(found)


def _table(value: object) -> Mapping[str, object]:
    return cast("Mapping[str, object]", value) if isinstance(value, dict) else {}


def find_key(text: str, environ: Mapping[str, str]) -> FoundKey:
    """The key that a config names. No key at all (an empty default) is not an error: that backend is left out."""
    value = expand_variables(text, environ)
    if value.startswith("file:"):
        path = Path(value.removeprefix("file:")).expanduser()
        if not path.is_absolute():
            raise SettingsInvalid(f"file:{path} is not a whole path: begin it with / or ~")
        try:
            with path.open("rb") as file:
                mode = os.fstat(file.fileno()).st_mode
                raw = file.read(_MOST_BYTES)
        except OSError as error:
            raise SettingsInvalid(f"cannot read {path}: {error.strerror or error}") from None
        loose = bool(mode & (stat.S_IRGRP | stat.S_IROTH))
        warning = f"others can read {path}: run `chmod 600 {path}`" if loose else ""
        found, name = FoundKey(Secret(raw.decode("utf-8", "replace").strip()), f"file:{path}", warning), value
    elif value.startswith("keyring:"):
        found, name = FoundKey(_key_in_keyring(value.removeprefix("keyring:")), value), value
    elif variables := [match[1] for match in _VARIABLE.finditer(text)]:
        where = f"the variable{'s' if len(variables) > 1 else ''} {' and '.join(variables)}"
        found, name = FoundKey(Secret(value) if value else None, where), text
    else:
        found, name = FoundKey(Secret(value), "", "a key stands in the file itself: better as ${VARIABLE} or file:"), "it"
    if found.key is not None and not _HEADER_VALUE.fullmatch(found.key.reveal()):  # a key goes into a header
        raise SettingsInvalid(f"the value of {name} is not a key: it has spaces, line breaks or non-ASCII characters")
    return found


def _key_in_keyring(name: str) -> Secret:
    service, slash, user = name.partition("/")
    if not (service and slash and user):
        raise SettingsInvalid("keyring: is followed by service/name")
    try:
        keyring = cast("_Keyring", import_module("keyring"))
    except ImportError:
        raise SettingsInvalid("the package keyring is not installed: install it beside clew, or use file:") from None
    try:
        value = keyring.get_password(service, user)
    except Exception as error:
        raise SettingsInvalid(f"the keyring cannot be used: {type(error).__name__}") from None
    if not value:
        raise SettingsInvalid(f"the keyring has nothing for {service}/{user}: run `keyring set {service} {user}`")
    return Secret(value)
