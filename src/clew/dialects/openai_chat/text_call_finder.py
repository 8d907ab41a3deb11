"""Finds the calls in a text: never in code, and only calls of tools that were offered.

Text comes out as soon as it is certain that it is text. What begins like a call waits until it is whole. If it breaks, all
of it is text, and so is the rest of the answer: what looks like a call behind it may be an example inside a value. For the
same reason a call of a tool that was not offered is read to its end before it is told as text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import Final, NamedTuple, TypeAlias

from clew.dialects.openai_chat.offered_tools import OfferedTools
from clew.dialects.openai_chat.text_call_reader import CallGrammar, TextCall, TextCallReader
from clew.model.facts.chat_backends import text_call_families, text_call_forms

# Which parts of a Markdown text are code, while the text comes: fenced blocks, inline code, indented lines. Where the
# text does not tell yet, it counts as code: a lone backtick may be the beginning of inline code, up to the end of its
# paragraph. A fence may stand behind the marks of a list or a quotation.


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


TextPiece: TypeAlias = str | TextCall
"""A part of a text, in order."""


class CallGrammars:
    """The forms of one family of models, and all that one of them can begin with."""

    def __init__(self, family: str) -> None:
        forms = text_call_families()[family].forms
        self.all = tuple(CallGrammar(text_call_forms()[name]) for name in forms)
        openings = {text for grammar in self.all for begin in grammar.begins for text in begin.openings}
        self.openings = re.compile("|".join(map(re.escape, sorted(openings, key=len, reverse=True))))
        self._openings = tuple(openings)
        self._longest = max(map(len, openings)) - 1
        self._first = frozenset(text[0] for text in openings)

    def begun_at(self, text: str, at: int) -> int:
        """Where the last characters, from `at` on, may be the beginning of an opening; the end of the text if nowhere."""
        for place in range(max(at, len(text) - self._longest), len(text)):
            if text[place] in self._first and any(each.startswith(text[place:]) for each in self._openings):
                return place
        return len(text)


@cache
def grammars_of(family: str) -> CallGrammars:
    return CallGrammars(family)


class TextCallFinder:
    """`feed` it text; `flush` where it is interrupted or ends. The pieces joined do not depend on the cuts."""

    def __init__(self, grammars: CallGrammars, tools: OfferedTools) -> None:
        self._grammars = grammars
        self._tools = tools
        self._spans = CodeSpans()
        self._held = ""
        self._reader: TextCallReader | None = None
        self._is_spent = False  # nothing is a call any more

    @property
    def is_holding(self) -> bool:
        """Whether a flush would say anything."""
        return bool(self._held) or self._reader is not None

    def feed(self, text: str) -> Sequence[TextPiece]:
        pieces: list[TextPiece] = []
        text, at = self._held + text, 0
        while at < len(text):
            if self._reader is not None:
                at = self._reader.feed(text, at)
                if self._reader.state == "reading":
                    break
                self._settle(self._reader, pieces)
            elif self._is_spent:
                pieces.append(text[at:])
                at = len(text)
            else:
                at = self._look(text, at, pieces)
                if self._reader is None:
                    break
        self._held = text[at:]
        return pieces

    def flush(self, *, regular: bool) -> Sequence[TextPiece]:
        """What is held back, for what it is by now. `regular`: the answer came to its own end."""
        pieces: list[TextPiece] = []
        held, self._held = self._held, ""
        if self._reader is not None:
            held = held[self._reader.finish(held, regular=regular) :]
            self._settle(self._reader, pieces)
        if held:
            pieces.append(held)
            self._spans.feed(held)
        return pieces

    def _settle(self, reader: TextCallReader, pieces: list[TextPiece]) -> None:
        if reader.state == "reading":
            return
        self._reader = None
        if reader.call is not None:
            pieces.append(reader.call)
            return
        said = reader.said
        pieces.append(said)
        self._spans.feed(said)
        self._is_spent = reader.state == "broken" and reader.has_content

    def _look(self, text: str, at: int, pieces: list[TextPiece]) -> int:
        """Takes the text from `at` up to the next call, or to what may be one. Returns where to go on."""
        start = at
        while True:
            found = self._grammars.openings.search(text, at)
            end = found.start() if found else self._grammars.begun_at(text, at)
            self._spans.feed(text[at:end])
            begun = self._begin(text, end) if found else None
            if begun != 0:
                break
            self._spans.feed(text[end])
            at = end + 1
        if end > start:
            pieces.append(text[start:end])
        return begun or end

    def _begin(self, text: str, at: int) -> int | None:
        """Where the beginning of a call ends, which is read from there on; 0 if there is none; None if more must come."""
        if self._spans.is_code or self._tools.is_empty:
            return 0
        for grammar in self._grammars.all:
            for begin in grammar.begins:
                found = begin.match(text, at)
                if found.answer == "more":
                    return None
                if found.answer == "fits":
                    self._reader = TextCallReader(grammar, text[at : found.end], found.name, self._tools)
                    return found.end
        return 0
