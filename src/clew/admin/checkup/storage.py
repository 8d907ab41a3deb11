"""What clew keeps on disk: files that are their owner's alone, room for them, secrets and keys, and a sound store."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from clew.admin.checkup.findings import Check, CheckFinding, Circumstances, broken, fine, warning
from clew.errors import SettingsInvalid
from clew.limits.keys import current_keys
from clew.settings.named_keys import known_keys
from clew.settings.own_keys import KEY_VARIABLE, SECRET_VARIABLE
from clew.store.kinds import KINDS, StoreFinding, kind_named

SHORT_KEY: Final = 16
FULL: Final = 8 << 20
"""Bytes that a store's log may take before it is worked off: with less, answers go unrecorded."""
SCARCE: Final = 256 << 20

_OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO


def files(at: Circumstances) -> Iterator[CheckFinding]:
    """Directories 0700, files 0600, none of them a link or another user's."""
    home = at.home
    if not home.root.is_dir():
        yield fine(f"{home.root} does not exist yet; the first start makes it")
        return
    running = sorted(home.run.glob("*")) if home.run.is_dir() else []
    stored = at.store.files() if at.store else ()
    own = (home.root, home.run, *stored, home.secret, home.key, home.keys, home.sessions, *running)
    found = [finding for path in own for finding in _check_rights(path)]
    yield from found or [fine(f"{home.root}, with the store, the keys and the secret in it, is readable by you only")]


def _check_rights(path: Path) -> Iterator[CheckFinding]:
    """Of a file or a directory; nothing if it is not there."""
    if path.is_symlink() and not path.is_dir():
        yield warning(f"{path} is a link to {os.readlink(path)}", "put the file itself there")
    if not path.exists():
        return
    status = path.stat()
    if status.st_uid != os.geteuid():
        yield broken(f"{path} belongs to another user ({status.st_uid})", f"chown {os.geteuid()} {path}")
    if not path.is_dir() and status.st_mode & _OTHERS:
        mode = f"{stat.S_IMODE(status.st_mode):04o}"
        yield broken(f"{path} can be read or written by others (mode {mode}), so clew does not open it", f"chmod 600 {path}")
    elif status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        yield broken(f"others can put files into {path}", f"chmod 700 {path}")
    elif status.st_mode & _OTHERS:
        yield warning(f"others can look into {path}", f"chmod 700 {path}")


def disk(at: Circumstances) -> Iterator[CheckFinding]:
    """A gateway on a full disk answers as before, and records nothing."""
    folders = {at.home.root, *(file.parent for file in (at.store.files() if at.store else ()))}
    for place in sorted({_existing_folder(folder) for folder in folders}):
        if not os.access(place, os.W_OK):
            yield broken(
                f"{place} cannot be written, so clew keeps nothing new", "correct its permissions, or mount it for writing"
            )
            continue
        free = shutil.disk_usage(place).free
        says = f"{free / 1e6:,.0f} MB are free at {place}"
        if free < FULL:
            yield broken(f"{says}: answers come, but are not kept", "free some space")
        else:
            yield warning(says, "free some space") if free < SCARCE else fine(says)


def _existing_folder(folder: Path) -> Path:
    """This folder, or the one in which it would be made."""
    return folder if folder.exists() or folder == folder.parent else _existing_folder(folder.parent)


def secret(at: Circumstances) -> Iterator[CheckFinding]:
    """The secret behind the seals: without it, sealed thinking of other makers is lost."""
    if at.environ.get(SECRET_VARIABLE, "").strip():
        yield fine(f"from {SECRET_VARIABLE}")
    elif at.home.secret.is_file():
        yield fine(f"{at.home.secret}; keep a copy of it: it opens the seals that clients have")
    elif at.store is not None and at.store.is_readable() and at.store.has_answers():
        yield warning(
            f"{at.home.secret} is missing, but the store exists: seals that clients have cannot be opened",
            f"restore it, or set {SECRET_VARIABLE}; otherwise the next start makes a new one",
        )
    else:
        yield fine("does not exist yet; the first start makes it")


def key(at: Circumstances) -> Iterator[CheckFinding]:
    """The gateway's own key, and the named ones."""
    given = at.environ.get(KEY_VARIABLE, "").strip()
    if given and len(given) < SHORT_KEY:
        yield warning(f"{KEY_VARIABLE} has {len(given)} characters", "use a longer one: `openssl rand -hex 32`")
    elif given:
        yield fine(f"from {KEY_VARIABLE}")
    else:
        yield fine(f"{at.home.key}" if at.home.key.is_file() else "does not exist yet; the first start makes it")
    try:
        if named := current_keys(known_keys(at.home)):
            yield fine(f"{len(named)} named {'key' if len(named) == 1 else 'keys'}")
    except SettingsInvalid as error:
        yield broken(str(error), "correct that file or remove it; until then its keys are not accepted")


def store(at: Circumstances) -> Iterable[CheckFinding]:
    """The schema is known, the store's own check finds nothing, and its records agree with each other."""
    if at.store is None:
        return [fine('switched off: `[store] url = "off"`')]
    return map(_finding_of, at.store.examine(at.now))


def _check_of_program(name: str) -> Check:
    kind = kind_named(name)
    return Check(name, kind.program, lambda at: map(_finding_of, kind.examine_program()))


def _finding_of(each: StoreFinding) -> CheckFinding:
    return CheckFinding(each.state, each.says, each.repair)


PROGRAMS: Final = tuple(map(_check_of_program, KINDS))
"""A check for each kind of store: whether the program under it can be used."""
