"""Which parts of a Markdown text are code, while the text comes: fenced blocks, inline code, indented lines.

Where the text does not tell yet, it counts as code: a lone backtick may be the beginning of inline code, up to the end of
its paragraph. A fence may stand behind the marks of a list or a quotation.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

_PIECES: Final = re.compile(r"\n|`+|~+|[^\n`~]+")
_MARGIN: Final = re.compile(r"(?:[\s>*+-]|\d{1,9}[.)])*+")
"""What may stand before a fence on its line: marks of lists and quotations."""
_LONGEST_MARGIN: Final = 64
_INDENT: Final = re.compile(r"(?:[\s>*+-]|\d{1,9}[.)])*?(?: {4}|\t)")
"""A line that is code, also behind marks."""
_FENCE: Final = 3
_FREE: Final = 3
"""Columns that the end of a block may be off from its beginning."""
_BLOCK: Final = re.compile(r"\s*(?:[>*+-]|\d{1,9}[.)])")
"""The first mark of a list or quotation, which ends the paragraph before it."""


class _Run(NamedTuple):
    """So many backticks, or tildes, in a row."""

    mark: str
    length: int


class CodeSpans:
    """`feed` it text in pieces of any size; `is_code` says whether what follows is code."""

    __slots__ = ("_closes", "_fence", "_inline", "_line", "_margin", "_opens", "_run")

    def __init__(self) -> None:
        self._line = ""  # the beginning of the present one
        self._run: _Run | None = None  # which may go on
        self._fence: _Run | None = None  # that has opened the block
        self._margin = ""  # before the fence
        self._opens = False  # the fence stands on the present line
        self._closes = False  # the present line is a fence so far
        self._inline = 0  # backticks that have opened inline code

    @property
    def is_code(self) -> bool:
        self._end_run()
        return self._fence is not None or self._inline > 0 or _INDENT.match(self._line) is not None

    def feed(self, text: str) -> None:
        for piece in _PIECES.findall(text):
            if piece[0] in "`~":
                before = self._run.length if self._run and self._run.mark == piece[0] else 0
                if not before:
                    self._end_run()
                self._run = _Run(piece[0], before + len(piece))
                continue
            self._end_run()
            if piece == "\n":
                if self._closes:
                    self._fence, self._closes = None, False
                if not self._line.strip():  # a paragraph ends
                    self._inline = 0
                self._line, self._opens = "", False
            else:
                self._closes = self._closes and piece.isspace()
                self._line = (self._line + piece[:_LONGEST_MARGIN])[:_LONGEST_MARGIN]

    def _is_left_for(self, run: _Run, margin: str) -> bool:
        """Whether this is another fence: it stands left of the list or quotation that the open one was in."""
        is_inside = len(self._margin) <= _FREE and not self._margin.strip(" ")
        is_left = len(margin) < len(self._margin) or margin.count(">") < self._margin.count(">")
        return run.length >= _FENCE and not margin.strip(" >") and not is_inside and is_left

    def _end_run(self) -> None:
        run, self._run = self._run, None
        if run is None:
            return
        line, self._line = self._line, self._line + run.mark
        if "`" not in line and _BLOCK.match(line):
            self._inline = 0
        if self._fence and self._opens and run.mark == self._fence.mark == "`":  # no such fence has backticks behind it
            self._inline = 0 if run == self._fence else self._fence.length
            self._fence, self._opens = None, False
        elif self._fence and not self._is_left_for(run, line):
            is_long = run.mark == self._fence.mark and run.length >= self._fence.length
            is_near = len(line) <= len(self._margin) + _FREE and line.count(">") <= self._margin.count(">")
            self._closes = is_long and is_near and not line.strip(" >")
        elif run.length >= _FENCE and _MARGIN.fullmatch(line):
            self._fence, self._opens, self._inline, self._margin = run, True, 0, line
        elif run.mark == "`":
            self._inline = 0 if self._inline == run.length else self._inline or run.length
