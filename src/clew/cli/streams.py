"""Standard input, output and error, as the commands may rely on them whatever started the process."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import Final, TextIO

__all__ = ["given_up", "made_whole"]

_STREAMS: Final = (("stdin", "r"), ("stdout", "w"), ("stderr", "w"))


def made_whole() -> None:
    """Each is there. Standard output takes every character: what its encoding does not have, as an escape.

    What is piped in is text or is refused: some locales let bytes that are none through in disguise.
    """
    for number, (name, mode) in enumerate(_STREAMS):
        if getattr(sys, name) is None:  # closed; whatever is opened next would be taken for it
            _onto(number, os.O_RDWR)
            setattr(sys, name, open(number, mode, encoding="utf-8"))  # noqa: SIM115  (for as long as the process lives)
    _reconfigure(sys.stdout, "strict", "backslashreplace")
    if not sys.stdin.isatty():
        _reconfigure(sys.stdin, "surrogateescape", "strict")


def _reconfigure(stream: TextIO, errors: str, better: str) -> None:
    change = getattr(stream, "reconfigure", None)
    if change and stream.errors == errors:
        change(errors=better)


def given_up() -> None:
    """What standard output did not take is not tried again when the process ends, where nobody could say so."""
    try:
        sys.stdout.flush()
    except OSError:
        with suppress(OSError):
            _onto(sys.stdout.fileno(), os.O_WRONLY)


def _onto(number: int, flags: int) -> None:
    nowhere = os.open(os.devnull, flags)
    if nowhere != number:
        os.dup2(nowhere, number)
        os.close(nowhere)
