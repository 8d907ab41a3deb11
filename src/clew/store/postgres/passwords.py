"""The password of a connection: in the URL itself, in a file, or the output of a command.

It is looked for with every connection that is made, so that one that was replaced, or that holds for minutes only, needs no
restart: `password=file:/run/secrets/db` or `password=command:/usr/local/bin/db-token` in the URL's query.
"""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path
from typing import Final

from clew.errors import StoreError

FILE: Final = "file:"
COMMAND: Final = "command:"
COMMAND_SECONDS: Final = 10.0


def find_password(given: str, where: str) -> str:
    """The password that a URL says where to find; "" if it has the password itself, or none. Raises StoreError."""
    if given.startswith(FILE):
        path = Path(given.removeprefix(FILE)).expanduser()
        try:
            return path.read_text().strip()
        except (OSError, UnicodeDecodeError) as error:
            raise StoreError(f"the password for {where} cannot be read from {path}: {error}") from error
    if given.startswith(COMMAND):
        try:
            done = subprocess.run(  # noqa: S603  (the operator's own command)
                shlex.split(given.removeprefix(COMMAND)),
                check=False,
                capture_output=True,
                text=True,
                timeout=COMMAND_SECONDS,
            )
        except (OSError, ValueError, subprocess.TimeoutExpired) as error:
            raise StoreError(f"the command for the password of {where} failed: {error}") from error
        if done.returncode or not done.stdout.strip():
            said = " ".join(done.stderr.split())[:200]
            raise StoreError(f"the command for the password of {where} failed with status {done.returncode} ({said})")
        return done.stdout.strip()
    return ""
