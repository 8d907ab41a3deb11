"""What a person types: questions with editing, history and completion on a terminal; the lines of a pipe otherwise.

A question may have several lines: a line that ends with a backslash goes on, three quotation marks begin and end a text of
any length, and what is pasted is one text. The history is kept for its owner alone, each entry as one line of JSON.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import click
import msgspec

__all__ = ["Prompt"]

QUOTES: Final = '"""'
_MOST_KEPT: Final = 1_000
_GOES_ON: Final = "… "


class Prompt:
    """Reads one text after another. `complete` gives what the text so far may go on with: see `chat_commands`."""

    def __init__(self, history: Path, complete: Callable[[str], Sequence[str]]) -> None:
        self.is_live = sys.stdin.isatty()
        self._history = history
        self._complete = complete
        self._edits = self.is_live and sys.stdout.isatty() and _is_editable()
        if self._edits:
            self._prepare()

    def read(self, prompt: str, begin: str = "") -> str:
        """The next text, which may be empty. `begin` is there already, to be changed. Raises EOFError, KeyboardInterrupt."""
        text = self._continued(self._line(prompt, begin))
        if self._edits and text.strip():
            self._remember(text)
        return text

    def _continued(self, line: str) -> str:
        if line.lstrip().startswith(QUOTES):
            return self._quoted(line.lstrip().removeprefix(QUOTES))
        lines = [line]
        while lines[-1].endswith("\\"):
            lines[-1] = lines[-1][:-1]
            lines.append(self._line(_GOES_ON))
        return "\n".join(lines)

    def _quoted(self, first: str) -> str:
        lines = [first]
        while not lines[-1].rstrip().endswith(QUOTES):
            lines.append(self._line(_GOES_ON))
        return "\n".join(lines).rstrip().removesuffix(QUOTES).strip("\n")

    def _line(self, prompt: str, begin: str = "") -> str:
        if self._edits:
            return self._edited(prompt, begin)
        if self.is_live:
            sys.stderr.write(prompt)
            sys.stderr.flush()
        try:
            line = sys.stdin.readline()
        except UnicodeDecodeError as error:
            raise click.UsageError(f"What was piped in is no text: {error.reason}.") from error
        if not line:
            raise EOFError
        return line.removesuffix("\n")

    # On a terminal.

    def _edited(self, prompt: str, begin: str) -> str:
        import readline

        readline.set_startup_hook(lambda: readline.insert_text(begin) if begin else None)
        try:
            return input(prompt)
        finally:
            readline.set_startup_hook(None)

    def _prepare(self) -> None:
        import readline

        readline.set_auto_history(False)
        readline.set_completer(self._completed)
        readline.set_completer_delims(" \t\n")
        readline.parse_and_bind("set enable-bracketed-paste on")
        readline.parse_and_bind("tab: complete")
        readline.clear_history()
        for text in self._remembered()[-_MOST_KEPT:]:
            readline.add_history(text)

    def _completed(self, word: str, number: int) -> str | None:
        import readline

        found = self._complete(readline.get_line_buffer()[: readline.get_endidx()])
        return f"{found[number]} " if number < len(found) else None

    def _remember(self, text: str) -> None:
        """The same again is remembered once."""
        import readline

        count = readline.get_current_history_length()
        if count and readline.get_history_item(count) == text:
            return
        readline.add_history(text)
        with suppress(OSError):  # a full disk is no reason to stop talking
            flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
            with open(os.open(self._history, flags, 0o600), "ab") as file:
                file.write(msgspec.json.encode(text) + b"\n")

    def _remembered(self) -> list[str]:
        """All entries; a file that has grown long is made short again."""
        try:
            lines = self._history.read_bytes().splitlines()
        except OSError:
            return []
        if len(lines) > 2 * _MOST_KEPT:
            from clew.settings.private_file import write_private

            lines = lines[-_MOST_KEPT:]
            write_private(self._history, b"\n".join(lines) + b"\n")
        return [text for line in lines if (text := _entry(line))]


def _is_editable() -> bool:
    """Not every Python has readline, and not every terminal can be edited on."""
    return find_spec("readline") is not None and os.environ.get("TERM", "") not in ("", "dumb")


def _entry(line: bytes) -> str:
    try:
        return msgspec.json.decode(line, type=str)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return ""
