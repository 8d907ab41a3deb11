"""Reads the settings: one file, the environment, and the defaults.

A file is used whole or not at all. What is wrong with it is reported all at once, each with its line, its key, and what is
allowed there. Without a file the settings are complete too: vendors' variables are found, and Claude is always there.
"""

from __future__ import annotations

import stat
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, cast

from msgspec import Struct, structs

from clew.backends.credential import Secret
from clew.backends.row import Backend
from clew.errors import SettingsInvalid
from clew.settings.asked_backend import NO_BACKEND, AskedBackend
from clew.settings.examine import disabled_by, examine
from clew.settings.home import CONFIG_VARIABLE, digest_of, home_of
from clew.settings.problems import Key, format_key, key_lines, line_of
from clew.settings.values import DisabledBackend, Settings
from clew.settings.variables import BuildVariable

_MOST_BYTES: Final = 4 * 1024 * 1024
_EMPTY: Final = (
    "the file is empty. Delete it to use what the environment gives, or write a new one with `clew config init --force`"
)


class SettingsText(Struct, frozen=True):
    """Settings as they were written, so that another process can have the same. `file` is "" where there is none."""

    file: str
    text: str


class SettingsFault(Struct, frozen=True):
    """One mistake in a file. `line` is 0 where none can be named."""

    line: int
    key: str
    says: str


class Loaded(Struct, frozen=True, kw_only=True):
    """The settings, and how they came about."""

    settings: Settings
    file: Path | None = None
    origins: Mapping[str, str] = {}
    """Where each key that is not a default came from: `clew.toml:12`, `preset zai`, `environment: ZAI_API_KEY`."""
    warnings: tuple[str, ...] = ()
    disabled: Mapping[str, DisabledBackend] = {}
    """Backends that lack a variable here. Loaded without keys, they are backends of the settings all the same."""
    variables: tuple[BuildVariable, ...] = ()
    """Variables of the request builder and of the log that are set here, and what each does."""
    text: Secret | None = None
    """What the file says. Hidden, because a key may stand in it."""
    names_backends: bool = False
    """Whether the file has backends of its own, or leaves them to the environment."""
    is_given: bool = False
    """A program gave the settings. No file is read, nor followed."""
    asked: AskedBackend = NO_BACKEND
    """The backend that a command named, which may be in no file."""

    @property
    def place(self) -> str:
        """The file as any process finds it; "" if there is none."""
        return str(self.file.absolute()) if self.file else ""

    @property
    def digest(self) -> str:
        """A digest of the file's text; "" without a file."""
        return digest_of(self.text.reveal().encode()) if self.file and self.text else ""

    @property
    def source(self) -> SettingsText:
        """The file's path and text: with it another process loads the same settings."""
        return SettingsText(self.place, self.text.reveal() if self.text else "")


class _FaultyFile(SettingsInvalid):
    """A file whose settings cannot be used, with every mistake in it."""

    def __init__(self, path: Path | None, faults: Sequence[SettingsFault]) -> None:
        name = str(path or "settings")
        lines = [
            (f"{name}:{fault.line}: " if fault.line else f"{name}: ") + (f"{fault.key}: " if fault.key else "") + fault.says
            for fault in faults
        ]
        head = f"{name} has {len(faults)} mistakes; the file is not used:\n" if len(faults) > 1 else ""
        super().__init__(head + "\n".join(lines), file=name, key=faults[0].key)
        self.faults = tuple(faults)


def load(file: Path | None, environ: Mapping[str, str], *, keys: bool = True, asked: AskedBackend = NO_BACKEND) -> Loaded:
    """The settings from this file; without one, from the place where it is usually kept, or from the environment alone.

    Raises SettingsInvalid with every mistake. `keys=False` looks up no key, for commands that call no backend. `asked` is a
    backend that is there in any case, if it is a preset whose key is in the environment.
    """
    path = config_file(environ, file)
    text, raw = _read(path) if path else ("", {})
    return _examine(path, text, raw, environ, keys=keys, asked=asked)


def load_source(source: SettingsText, environ: Mapping[str, str]) -> Loaded:
    """The settings that another process uses, whatever its file says now. Raises SettingsInvalid."""
    path = Path(source.file) if source.file else None
    return _examine(path, source.text, tomllib.loads(source.text), environ, keys=True)


def load_given(backends: Mapping[str, object], environ: Mapping[str, str]) -> Loaded:
    """Settings with the backends that a program gives, in place of a file: a name and a table for each, with the keys that
    the tables of a file have. Raises SettingsInvalid with every mistake."""
    tables = {
        name: dict(cast("Mapping[str, object]", table)) if isinstance(table, Mapping) else table
        for name, table in backends.items()
    }
    return structs.replace(_examine(None, "", {"backends": tables}, environ, keys=True), is_given=True)


def faults_of(file: Path, environ: Mapping[str, str]) -> tuple[SettingsFault, ...]:
    """Every mistake in the file, in the order of its lines."""
    try:
        load(file, environ)
    except _FaultyFile as error:
        return error.faults
    return ()


def config_file(environ: Mapping[str, str], file: Path | None = None) -> Path | None:
    """The file that is read: the given one, `CLEW_CONFIG`, the one in the home directory; None if there is none."""
    place = config_place(environ, file)
    if file or environ.get(CONFIG_VARIABLE, "").strip():
        return place
    try:
        return place if stat.S_ISREG(place.stat().st_mode) else None
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError:
        return place  # it may be there: reading it says what is wrong


def config_place(environ: Mapping[str, str], file: Path | None = None) -> Path:
    """Where the file is that would be read, if there is one."""
    named = environ.get(CONFIG_VARIABLE, "").strip()
    return file or (Path(named).expanduser() if named else home_of(environ).config)


def _read(path: Path) -> tuple[str, dict[str, object]]:
    """The text of the file, and what it says as TOML."""

    def fault(says: str, line: int = 0) -> _FaultyFile:
        return _FaultyFile(path, [SettingsFault(line, "", says)])

    try:
        with path.open("rb") as file:
            raw = file.read(_MOST_BYTES + 1)
    except OSError as error:
        raise fault(f"cannot be read: {error.strerror or error}") from None
    if len(raw) > _MOST_BYTES:
        raise fault(f"it has more than {_MOST_BYTES // 1024**2} MB, so it is not a config file")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise fault("this line is not UTF-8", raw[: error.start].count(b"\n") + 1) from None
    if not text.strip():
        raise fault(_EMPTY)
    try:
        return text, tomllib.loads(text)
    except ValueError as error:  # TOML's own, and a number of thousands of digits
        what, _, where = str(error).rpartition(" (at ")  # the TOML reader puts the place at the end of its message
        number = where.removeprefix("line ").partition(",")[0]
        line = int(number) if number.isdecimal() else text.rstrip().count("\n") + 1
        raise fault(f"not TOML: {what or error}", line) from None
    except RecursionError:
        raise fault("it is nested too deep") from None


def _examine(
    path: Path | None,
    text: str,
    raw: Mapping[str, object],
    environ: Mapping[str, str],
    *,
    keys: bool,
    asked: AskedBackend = NO_BACKEND,
) -> Loaded:
    lines = key_lines(text)
    try:
        examined = examine(raw, environ, keys=keys, asked=asked)
    except RecursionError:  # dotted names nest without brackets
        raise _FaultyFile(path, [SettingsFault(0, "", "it is nested too deep")]) from None
    if examined.settings is None:
        faults = [SettingsFault(line_of(each.key, lines), format_key(each.key), each.says) for each in examined.problems]
        raise _FaultyFile(path, sorted(faults, key=lambda fault: fault.line))
    first = {str(each.key[1]): each for each in reversed(examined.unset)}
    disabled = {
        name: structs.replace(each, where=f"{path}:{line_of(first[name].key, lines)}")
        for name, each in disabled_by(examined.unset).items()
    }
    settings = structs.replace(
        examined.settings,
        backends={name: _with_key_line(row, lines, path) for name, row in examined.settings.backends.items()},
        disabled={name: disabled[name] for name in examined.settings.disabled},
    )
    origins = {format_key(key): where for key, where in examined.origins.items()}
    origins |= {format_key(key): f"{path}:{line}" for key, line in lines.items()}  # the file overrides what filled the gaps
    origins |= {format_key(key): where for key, where in examined.overruling.items()}
    warnings = [*examined.warnings, *(each.says for each in disabled.values())]
    if path and _has_readable_key(path, text, settings):
        warnings.append(f"others can read {path}, and a key stands in it: run `chmod 600 {path}`")
    return Loaded(
        settings=settings,
        disabled=disabled,
        file=path,
        origins=origins,
        warnings=tuple(warnings),
        variables=examined.variables,
        text=Secret(text),
        names_backends=bool(raw.get("backends")),
        asked=asked,
    )


def _with_key_line(row: Backend, lines: Mapping[Key, int], path: Path | None) -> Backend:
    """The row with the line of the settings that names its keys, where one does."""
    named = [key for key in (("backends", row.name, "key"), ("backends", row.name, "keys")) if line_of(key, lines)]
    if path is None or not row.keys or not named:
        return row
    place = f"{path}:{line_of(next((key for key in named if key in lines), named[0]), lines)}"
    return structs.replace(row, keys_from=tuple(f"{each} ({place})" if each else place for each in row.keys_from))


def _has_readable_key(path: Path, text: str, settings: Settings) -> bool:
    """Whether a key stands in a file that others can read."""
    if not any(key.reveal() in text for backend in settings.backends.values() for key in backend.keys):
        return False
    try:
        return bool(path.stat().st_mode & (stat.S_IRGRP | stat.S_IROTH))
    except OSError:  # gone since it was read
        return False
