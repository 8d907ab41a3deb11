"""Text that comes in pieces, as blocks of Markdown: those that are finished, and the one that is still open.

What is finished can be drawn once and for all; only the open block is ever drawn again. A block ends at a blank line,
unless the next line is indented and so belongs to it (an item of a list that goes on); at the end of a fence; and where a
heading or a fence begins. Each line is looked at once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

__all__ = ["Paragraphs"]

_FENCE: Final = re.compile(r"( *)(`{3,}|~{3,})(.*)")
_HEADING: Final = re.compile(r"#{1,6}(\s|$)")
_MOST_PREVIEWED: Final = 8_000
"""Characters of an open block that are drawn again and again."""


class Paragraphs:
    """`feed` it; it gives what is finished.

    >>> text = Paragraphs()
    >>> text.feed("One.\\n\\nTw")
    []
    >>> text.feed("o, and\\nmore\\n\\n# Three\\n"), text.open
    (['One.', 'Two, and\\nmore', '# Three'], '')
    """

    def __init__(self) -> None:
        self._lines: list[str] = []
        """Of the open block, whole."""
        self._begun: list[str] = []
        """Pieces of the line that has no end yet."""
        self._fence = ""
        """What closes the fence that is open."""
        self._inside = False
        """Is that fence part of a block that began before it?"""
        self._gap = False
        """Was the last line blank?"""

    def feed(self, text: str) -> list[str]:
        """The blocks that this finishes."""
        first, *rest = text.split("\n")
        self._begun.append(first)
        finished: list[str] = []
        for piece in rest:
            finished += self._line("".join(self._begun))
            self._begun = [piece]
        return finished

    def end(self) -> list[str]:
        """The last ones: nothing more comes."""
        finished = [*self._line("".join(self._begun)), *self._close()]
        self._begun, self._fence = [], ""
        return finished

    @property
    def open(self) -> str:
        """The block that is not finished."""
        return "\n".join([*self._lines, "".join(self._begun)]).strip("\n")

    def preview(self, lines: int) -> str:
        """The open block, or the end of it: at most so many lines, and never much text. A fence keeps its beginning."""
        shown = [line[-_MOST_PREVIEWED:] for line in (*self._lines[-lines:], "".join(self._begun))][-lines:]
        while len(shown) > 1 and sum(map(len, shown)) > _MOST_PREVIEWED:
            del shown[0]
        cut = len(shown) <= len(self._lines)
        opening = [self._fence] if self._fence and cut else []
        return "\n".join([*opening, *shown]).strip("\n")

    def _line(self, line: str) -> Iterator[str]:
        if self._fence:
            yield from self._fenced(line)
        elif not line.strip():
            self._gap = bool(self._lines)
            self._lines += [""] * self._gap
        else:
            if self._begins_anew(line):
                yield from self._close()
            self._add(line)
            if _HEADING.match(line):
                yield from self._close()

    def _begins_anew(self, line: str) -> bool:
        fence = _FENCE.match(line)
        return (self._gap and not line[0].isspace()) or bool(fence and not fence[1]) or bool(_HEADING.match(line))

    def _add(self, line: str) -> None:
        if fence := _FENCE.match(line):
            self._fence, self._inside = fence[2], bool(self._lines)
        self._gap = False
        self._lines.append(line)

    def _fenced(self, line: str) -> Iterator[str]:
        self._lines.append(line)
        found = _FENCE.match(line)
        if found and found[2].startswith(self._fence) and not found[3].strip():
            self._fence = ""
            if not self._inside:
                yield from self._close()

    def _close(self) -> Iterator[str]:
        block = "\n".join(self._lines).strip("\n")
        self._lines, self._gap = [], False
        if block:
            yield block
