"""Finds the calls in a text: never in code, and only calls of tools that were offered.

Text comes out as soon as it is certain that it is text. What begins like a call waits until it is whole. If it breaks, all
of it is text, and so is the rest of the answer: what looks like a call behind it may be an example inside a value. For the
same reason a call of a tool that was not offered is read to its end before it is told as text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import TypeAlias

from clew.dialects.openai_chat.code_spans import CodeSpans
from clew.dialects.openai_chat.offered_tools import OfferedTools
from clew.dialects.openai_chat.text_call_reader import CallGrammar, TextCall, TextCallReader
from clew.model.facts.text_calls import text_call_families, text_call_forms

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
