"""Where a key comes from: a variable, a file, the system's keyring, or the config itself.

`${NAME}` is put in wherever a text stands, `${NAME:-text}` with something to fall back on; what is left is the key, or says
where it is. The keyring is only asked if its package is installed.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Final, Protocol, cast

from clew.backends.credential import Secret
from clew.errors import SettingsInvalid

__all__ = ["Found", "VariableUnset", "expanded", "find_key", "unset_in", "variables_without"]

_VARIABLE: Final = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")
_MOST_BYTES: Final = 64 * 1024
_HEADER_VALUE: Final = re.compile(r"[!-~]+")


class Found:
    """A key, with where it was ("" in the settings file itself) and what should be said about that."""

    def __init__(self, key: Secret | None, where: str, warning: str = "") -> None:
        self.key = key
        self.where = where
        self.warning = warning


class VariableUnset(SettingsInvalid):
    """A text names variables that are not set here. What needs the text cannot be used; the rest of the file can."""

    def __init__(self, variables: Sequence[str]) -> None:
        super().__init__(unset_in(variables))


def unset_in(variables: Sequence[str]) -> str:
    """In words."""
    if len(variables) == 1:
        return f"the variable {variables[0]} is not set"
    return f"the variables {', '.join(variables[:-1])} and {variables[-1]} are not set"


class _Keyring(Protocol):
    def get_password(self, service_name: str, username: str) -> str | None: ...


def expanded(text: str, environ: Mapping[str, str]) -> str:
    """The text with its variables put in. Raises VariableUnset for those that are not set and have no default."""
    if unset := list(dict.fromkeys(variables_without(text, environ))):
        raise VariableUnset(unset)
    return _VARIABLE.sub(lambda match: environ.get(match[1], "") or match[2], text)


def variables_without(text: str, environ: Mapping[str, str]) -> Iterator[str]:
    """The variables in the text that are not set and have no default."""
    return (match[1] for match in _VARIABLE.finditer(text) if match[2] is None and not environ.get(match[1], ""))


def find_key(text: str, environ: Mapping[str, str]) -> Found:
    """The key that a config names. No key at all (an empty default) is not an error: that backend is left out."""
    value = expanded(text, environ)
    if value.startswith("file:"):
        return _checked(_from_file(Path(value.removeprefix("file:")).expanduser()), value)
    if value.startswith("keyring:"):
        return _checked(Found(_from_keyring(value.removeprefix("keyring:")), value), value)
    if _VARIABLE.search(text):
        return _checked(Found(Secret(value) if value else None, _variables_in(text)), text)
    return _checked(Found(Secret(value), "", "a key stands in the file itself: better as ${VARIABLE} or file:"), "it")


def _variables_in(text: str) -> str:
    names = [match[1] for match in _VARIABLE.finditer(text)]
    return f"the variable{'s' if len(names) > 1 else ''} {' and '.join(names)}"


def _checked(found: Found, name: str) -> Found:
    """A key goes into a header. One that cannot is reported now, and not shown."""
    if found.key is not None and not _HEADER_VALUE.fullmatch(found.key.reveal()):
        raise SettingsInvalid(f"what {name} holds is no key: it has spaces, line breaks or other than ASCII characters")
    return found


def _from_file(path: Path) -> Found:
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
    return Found(Secret(raw.decode("utf-8", "replace").strip()), f"file:{path}", warning)


def _from_keyring(name: str) -> Secret:
    service, slash, user = name.partition("/")
    if not (service and slash and user):
        raise SettingsInvalid("keyring: is followed by service/name")
    try:
        value = _keyring().get_password(service, user)
    except SettingsInvalid:
        raise
    except Exception as error:
        raise SettingsInvalid(f"the keyring cannot be used: {type(error).__name__}") from None
    if not value:
        raise SettingsInvalid(f"the keyring has nothing for {service}/{user}: run `keyring set {service} {user}`")
    return Secret(value)


def _keyring() -> _Keyring:
    try:
        return cast("_Keyring", import_module("keyring"))
    except ImportError:
        raise SettingsInvalid("the package keyring is not installed: install it beside clew, or use file:") from None
