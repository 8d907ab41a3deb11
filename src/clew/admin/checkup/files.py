"""The files of the home: private, and their owner's own."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from clew.admin.checkup.finding import Circumstances, Finding, broken, fine, warning
from clew.errors import SettingsInvalid
from clew.settings.gateway_key import KEY_VARIABLE, named_keys
from clew.settings.secret import SECRET_VARIABLE

__all__ = ["files", "key", "secret"]

SHORT_KEY = 16


def files(at: Circumstances) -> Iterator[Finding]:
    """Directories 0700, files 0600, none of them a link or somebody else's."""
    home = at.home
    if not home.root.is_dir():
        yield fine(f"{home.root} is not there yet; it is made at the first start")
        return
    found = [finding for path in (home.root, home.run) if path.is_dir() for finding in _directory(path)]
    found += [finding for path in _private_files(at) if path.exists() or path.is_symlink() for finding in _file(path)]
    yield from found
    if not found:
        yield fine(f"{home.root}, with the store, the keys and the secret in it, is yours alone")


def _private_files(at: Circumstances) -> list[Path]:
    home = at.home
    store = at.store.files() if at.store else ()
    run = sorted(home.run.glob("*")) if home.run.is_dir() else []
    return [*store, home.secret, home.key, home.keys, home.sessions, *run]


def _directory(path: Path) -> Iterator[Finding]:
    status = path.stat()
    yield from _owner(path, status)
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        yield broken(f"others can put files into {path}", f"chmod 700 {path}")
    elif status.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        yield warning(f"others can look into {path}", f"chmod 700 {path}")


def _file(path: Path) -> Iterator[Finding]:
    if path.is_symlink():
        yield warning(f"{path} is a link to {os.readlink(path)}", "put the file itself there")
        if not path.exists():
            return
    status = path.stat()
    yield from _owner(path, status)
    if status.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        mode = f"{stat.S_IMODE(status.st_mode):04o}"
        yield broken(f"{path} can be used by others (mode {mode}); clew does not open it so", f"chmod 600 {path}")


def _owner(path: Path, status: os.stat_result) -> Iterator[Finding]:
    if status.st_uid != os.geteuid():
        yield broken(f"{path} belongs to another user ({status.st_uid})", f"chown {os.geteuid()} {path}")


def secret(at: Circumstances) -> Iterator[Finding]:
    """The secret behind the seals: without it, sealed thinking of other makers is lost."""
    if at.environ.get(SECRET_VARIABLE, "").strip():
        yield fine(f"from {SECRET_VARIABLE}")
    elif at.home.secret.is_file():
        yield fine(f"{at.home.secret}; keep a copy of it, seals that clients hold need it")
    elif at.store is not None and at.store.is_readable() and at.store.has_answers():
        yield warning(
            f"{at.home.secret} is gone, but the store is there: seals that clients hold do not open any more",
            f"put it back, or set {SECRET_VARIABLE}; else a new one is made at the next start",
        )
    else:
        yield fine("not there yet; it is made at the first start")


def key(at: Circumstances) -> Iterator[Finding]:
    """The gateway's own key, and the named ones."""
    given = at.environ.get(KEY_VARIABLE, "").strip()
    if given and len(given) < SHORT_KEY:
        yield warning(f"{KEY_VARIABLE} has {len(given)} characters", "use a longer one: `openssl rand -hex 32`")
    elif given:
        yield fine(f"from {KEY_VARIABLE}")
    else:
        yield fine(f"{at.home.key}" if at.home.key.is_file() else "not there yet; it is made at the first start")
    try:
        if named := named_keys(at.home):
            yield fine(f"{len(named)} named {'key' if len(named) == 1 else 'keys'}")
    except SettingsInvalid as error:
        yield broken(str(error), "mend or remove that file; keys in it do not open anything now")
