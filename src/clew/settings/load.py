"""Reads the settings: one file, the environment, our defaults.

A file is taken whole or not at all. What is wrong with it is reported all at once, each with its line, its key, and what is
allowed there. Without a file the settings are complete too: vendors' variables are found, and Claude is always there.
"""

from __future__ import annotations

import stat
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, cast

from msgspec import Struct, structs

from clew.backends.row import Backend, Secret
from clew.errors import SettingsInvalid
from clew.settings.digest import digest_of
from clew.settings.examine import Examined, disabled_by, examine
from clew.settings.home import CONFIG_VARIABLE, home_of
from clew.settings.lines import Key, key_lines, line_of, spelled
from clew.settings.shape import Problem
from clew.settings.values import Disabled, Settings

__all__ = ["Fault", "Loaded", "Taken", "config_file", "config_place", "faults_of", "load", "load_given", "load_taken"]

_MOST_BYTES: Final = 4 * 1024 * 1024
_EMPTY: Final = (
    "the file is empty. Delete it to use what the environment gives, or write a new one with `clew config init --force`"
)


class Taken(Struct, frozen=True):
    """Settings as they were written, so that another process can have the same. `file` is "" where there is none."""

    file: str
    text: str


class Loaded(Struct, frozen=True, kw_only=True):
    """The settings, and how they came about."""

    settings: Settings
    file: Path | None = None
    origins: Mapping[str, str] = {}
    """Where each key that is not a default came from: `clew.toml:12`, `preset zai`, `environment: ZAI_API_KEY`."""
    warnings: tuple[str, ...] = ()
    disabled: Mapping[str, Disabled] = {}
    """Backends that lack a variable where these settings were read. Loaded without keys, they are among the backends of the
    settings all the same: a gateway that runs may have what is not set here."""
    text: Secret | None = None
    """What the file says. Hidden, because a key may stand in it."""
    names_backends: bool = False
    """Whether the file has backends of its own, or leaves them to the environment."""
    is_given: bool = False
    """A program said them. No file is read, nor followed."""

    @property
    def place(self) -> str:
        """The file as any process finds it; "" if there is none."""
        return str(self.file.absolute()) if self.file else ""

    @property
    def digest(self) -> str:
        """Of what the file says; "" without a file."""
        return digest_of(self.text.reveal().encode()) if self.file and self.text else ""

    @property
    def taken(self) -> Taken:
        """What another process needs to have the same settings."""
        return Taken(self.place, self.text.reveal() if self.text else "")


class Fault(Struct, frozen=True):
    """One mistake in a file. `line` is 0 where none can be named."""

    line: int
    key: str
    says: str


_TOO_DEEP: Final = Fault(0, "", "it is nested too deep")


def load(file: Path | None, environ: Mapping[str, str], *, keys: bool = True) -> Loaded:
    """The settings from this file; without one, from the place where it is usually kept, or from the environment alone.

    Raises SettingsInvalid with every mistake. `keys=False` looks up no key, for commands that call nobody.
    """
    path = config_file(environ, file)
    loaded, faults = _read(path, environ, keys=keys)
    if loaded is None:
        raise _invalid(path, faults)
    return loaded


def load_taken(taken: Taken, environ: Mapping[str, str]) -> Loaded:
    """The settings that another process has taken, whatever its file says now. Raises SettingsInvalid."""
    path = Path(taken.file) if taken.file else None
    loaded, faults = _examined(path, taken.text, tomllib.loads(taken.text), environ, keys=True)
    if loaded is None:
        raise _invalid(path, faults)
    return loaded


def load_given(backends: Mapping[str, object], environ: Mapping[str, str]) -> Loaded:
    """Settings with the backends that a program gives, in place of a file: a name and a table for each, with the keys that
    the tables of a file have. Raises SettingsInvalid with every mistake."""
    tables = {
        name: dict(cast("Mapping[str, object]", table)) if isinstance(table, Mapping) else table
        for name, table in backends.items()
    }
    loaded, faults = _examined(None, "", {"backends": tables}, environ, keys=True)
    if loaded is None:
        raise _invalid(None, faults)
    return structs.replace(loaded, is_given=True)


def faults_of(file: Path, environ: Mapping[str, str]) -> tuple[Fault, ...]:
    """Every mistake in the file, in the order of its lines."""
    return _read(file, environ, keys=True)[1]


def config_file(environ: Mapping[str, str], file: Path | None = None) -> Path | None:
    """The file that is read: the given one, `CLEW_CONFIG`, the one in the home directory; None if there is none."""
    named, place = _named(environ, file), config_place(environ, file)
    return place if named or _may_be_there(place) else None


def config_place(environ: Mapping[str, str], file: Path | None = None) -> Path:
    """Where the file is that would be read, if there is one."""
    return _named(environ, file) or home_of(environ).config


def _may_be_there(place: Path) -> bool:
    """Where nobody may look, a file is supposed: whoever reads it is told what is wrong."""
    try:
        return stat.S_ISREG(place.stat().st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True


def _named(environ: Mapping[str, str], file: Path | None) -> Path | None:
    named = environ.get(CONFIG_VARIABLE, "").strip()
    return file or (Path(named).expanduser() if named else None)


def _read(path: Path | None, environ: Mapping[str, str], *, keys: bool) -> tuple[Loaded | None, tuple[Fault, ...]]:
    try:
        text, raw = _text(path) if path else ("", {})
    except _Unreadable as error:
        return None, (error.fault,)
    return _examined(path, text, raw, environ, keys=keys)


def _examined(
    path: Path | None, text: str, raw: Mapping[str, object], environ: Mapping[str, str], *, keys: bool
) -> tuple[Loaded | None, tuple[Fault, ...]]:
    lines = key_lines(text)
    try:
        examined = examine(raw, environ, keys=keys)
    except RecursionError:  # dotted names nest without brackets
        return None, (_TOO_DEEP,)
    if examined.settings is None:
        return None, tuple(_faults(examined.problems, lines))
    disabled = _placed(examined.unset, lines, path)
    settings = structs.replace(
        examined.settings,
        backends={name: _with_key_lines(row, lines, path) for name, row in examined.settings.backends.items()},
        disabled={name: disabled[name] for name in examined.settings.disabled},
    )
    origins = {spelled(key): where for key, where in _origins(examined, lines, path)}
    return Loaded(
        settings=settings,
        disabled=disabled,
        file=path,
        origins=origins,
        warnings=(
            *examined.warnings,
            *(each.says for each in disabled.values()),
            *_readable(path, text, examined.settings),
        ),
        text=Secret(text),
        names_backends=bool(raw.get("backends")),
    ), ()


def _placed(unset: Sequence[Problem], lines: Mapping[Key, int], path: Path | None) -> dict[str, Disabled]:
    first = {str(each.key[1]): each for each in reversed(unset)}
    return {
        name: structs.replace(each, where=f"{path}:{line_of(first[name].key, lines)}")
        for name, each in disabled_by(unset).items()
    }


def _with_key_lines(row: Backend, lines: Mapping[Key, int], path: Path | None) -> Backend:
    """With the line of the settings that names its keys, where one does."""
    named = [key for key in (("backends", row.name, "key"), ("backends", row.name, "keys")) if line_of(key, lines)]
    if path is None or not row.keys or not named:
        return row
    place = f"{path}:{line_of(next((key for key in named if key in lines), named[0]), lines)}"
    return structs.replace(row, keys_from=tuple(f"{each} ({place})" if each else place for each in row.keys_from))


class _Unreadable(Exception):
    def __init__(self, fault: Fault) -> None:
        self.fault = fault


def _text(path: Path) -> tuple[str, dict[str, object]]:
    raw = _bytes(path)
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise _Unreadable(Fault(raw[: error.start].count(b"\n") + 1, "", "this line is not UTF-8")) from None
    if not text.strip():
        raise _Unreadable(Fault(0, "", _EMPTY))
    try:
        return text, tomllib.loads(text)
    except ValueError as error:  # TOML's own, and a number of thousands of digits
        raise _Unreadable(_syntax(str(error), text)) from None
    except RecursionError:
        raise _Unreadable(_TOO_DEEP) from None


def _bytes(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            raw = file.read(_MOST_BYTES + 1)
    except OSError as error:
        raise _Unreadable(Fault(0, "", f"cannot be read: {error.strerror or error}")) from None
    if len(raw) > _MOST_BYTES:
        raise _Unreadable(Fault(0, "", f"it has more than {_MOST_BYTES // 1024**2} MB, so it is no config"))
    return raw


def _syntax(says: str, text: str) -> Fault:
    """The reader puts the place at the end of its message."""
    what, _, where = says.rpartition(" (at ")
    number = where.removeprefix("line ").partition(",")[0]
    last = text.rstrip().count("\n") + 1
    return Fault(int(number) if number.isdecimal() else last, "", f"not TOML: {what or says}")


def _faults(problems: Iterable[Problem], lines: Mapping[Key, int]) -> Iterator[Fault]:
    placed = [(line_of(each.key, lines), each) for each in problems]
    for line, each in sorted(placed, key=lambda item: item[0]):
        yield Fault(line, spelled(each.key), each.says)


def _invalid(path: Path | None, faults: tuple[Fault, ...]) -> SettingsInvalid:
    name = str(path or "settings")
    said = [_said(name, fault) for fault in faults]
    head = f"{name} has {len(faults)} mistakes; nothing of it is used:\n" if len(faults) > 1 else ""
    return SettingsInvalid(head + "\n".join(said), file=name, key=next(fault.key for fault in faults))


def _said(name: str, fault: Fault) -> str:
    place = f"{name}:{fault.line}" if fault.line else name
    return f"{place}: {fault.key}: {fault.says}" if fault.key else f"{place}: {fault.says}"


def _origins(examined: Examined, lines: Mapping[Key, int], path: Path | None) -> Iterator[tuple[Key, str]]:
    """What the file says outranks what filled the gaps."""
    yield from examined.origins.items()
    for key, line in lines.items():
        yield key, f"{path}:{line}"


def _readable(path: Path | None, text: str, settings: Settings) -> Iterator[str]:
    """A key that stands in a file which others can read."""
    if path and _literal(settings.backends.values(), text) and _is_read_by_others(path):
        yield f"others can read {path}, and a key stands in it: run `chmod 600 {path}`"


def _literal(backends: Iterable[Backend], text: str) -> bool:
    return any(key.reveal() in text for backend in backends for key in backend.keys)


def _is_read_by_others(path: Path) -> bool:
    try:
        return bool(path.stat().st_mode & (stat.S_IRGRP | stat.S_IROTH))
    except OSError:  # gone since it was read
        return False
