"""A terminal that remembers what it shows: enough of one to see what a person would see, and strict about the rest."""

from __future__ import annotations

import re

from rich.cells import cell_len

_SEQUENCE = re.compile(r"\x1b\[(\??)([0-9;]*)([A-Za-z])")


class Screen:
    """`feed` it what is written; `lines` are what is seen, with all that has scrolled away above it."""

    def __init__(self, width: int = 80, height: int = 24) -> None:
        self.width, self.height = width, height
        self._rows: list[list[str]] = [[]]
        self._row = self._column = 0
        self._rest = ""
        self.cursor = True
        """Is it shown?"""
        self.rewritten = 0
        """How many lines were gone back over."""

    @property
    def lines(self) -> list[str]:
        shown = ["".join(row).rstrip() for row in self._rows]
        while shown and not shown[-1]:
            shown.pop()
        return shown

    def feed(self, text: str) -> None:
        text, self._rest = self._rest + text, ""
        at = 0
        while at < len(text):
            if text[at] == "\x1b":
                found = _SEQUENCE.match(text, at)
                if not found:
                    self._rest = text[at:]
                    assert len(self._rest) < 12, f"a sequence that no view writes: {self._rest[:20]!r}"
                    return
                self._obey(found[1], found[2], found[3])
                at = found.end()
            else:
                self._put(text[at])
                at += 1

    def _obey(self, private: str, given: str, letter: str) -> None:
        number = int(given) if given.isdecimal() else 0
        if letter == "m":
            return
        if private:
            assert (given, letter) in {("25", "l"), ("25", "h"), ("2004", "h"), ("2004", "l")}, (given, letter)
            self.cursor = letter == "h" if given == "25" else self.cursor
        elif letter == "A":
            self._up(number or 1)
        elif letter == "K":
            del self._rows[self._row][self._column :]
        elif letter == "J":
            del self._rows[self._row][self._column :]
            del self._rows[self._row + 1 :]
        elif letter in "CD":
            self._column = max(0, self._column + (number or 1) * (1 if letter == "C" else -1))
        elif letter == "P":
            del self._rows[self._row][self._column : self._column + (number or 1)]
        else:
            raise AssertionError(f"no view writes {given}{letter}")

    def _up(self, lines: int) -> None:
        top = max(0, len(self._rows) - self.height)
        assert self._row - lines >= top, "what has scrolled away cannot be drawn over"
        self._row -= lines
        self.rewritten += lines

    def _put(self, letter: str) -> None:
        if letter == "\r":
            self._column = 0
        elif letter == "\b":
            self._column = max(0, self._column - 1)
        elif letter == "\n":
            self._down()
        elif letter != "\x07":
            assert letter.isprintable(), f"this reached the terminal: {letter!r}"
            self._write(letter)

    def _down(self) -> None:
        self._row += 1
        self._column = 0
        if self._row == len(self._rows):
            self._rows.append([])

    def _write(self, letter: str) -> None:
        if self._column >= self.width:
            self._down()
        row = self._rows[self._row]
        row += [" "] * (self._column - len(row))
        cells = [letter] + [""] * (cell_len(letter) - 1)
        row[self._column : self._column + len(cells)] = cells
        self._column += len(cells)
