"""Text that comes in pieces, as blocks of Markdown: finished blocks, and one open block.

A finished block can be drawn once; only the open block is drawn again. A block ends at a blank line, unless the next line is
indented and so continues the block (an item of a list); at the end of a fence; and where a heading or a fence begins. Each
line is looked at once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

_FENCE: Final = re.compile(r"( *)(`{3,}|~{3,})(.*)")
_HEADING: Final = re.compile(r"#{1,6}(\s|$)")
_MOST_PREVIEWED: Final = 8_000
"""Characters of an open block that are drawn each time."""


class Paragraphs:
    """`feed` it text; it returns the blocks that are finished.

    >>> text = Paragraphs()
    >>> text.feed("One.\\n\\nTw")
    []
    >>> text.feed("o, and\\nmore\\n\\n# Three\\n"), text.open
    (['One.', 'Two, and\\nmore', '# Three'], '')
    """

    def __init__(self) -> None:
        self._lines: list[str] = []
        """The complete lines of the open block."""
        self._begun: list[str] = []
        """The pieces of the last line, which has no end yet."""
        self._fence = ""
        """What closes the open fence."""
        self._inside = False
        """Is that fence part of a block that began before it?"""
        self._gap = False
        """Was the last line blank?"""

    def feed(self, text: str) -> list[str]:
        """Add text, and return the blocks that it finishes."""
        first, *rest = text.split("\n")
        self._begun.append(first)
        finished: list[str] = []
        for piece in rest:
            finished += self._add_line("".join(self._begun))
            self._begun = [piece]
        return finished

    def end(self) -> list[str]:
        """The last blocks: no more text comes."""
        finished = [*self._add_line("".join(self._begun)), *self._close()]
        self._begun, self._fence = [], ""
        return finished

    @property
    def open(self) -> str:
        """The open block."""
        return "\n".join([*self._lines, "".join(self._begun)]).strip("\n")

    def preview(self, lines: int) -> str:
        """The open block, or the end of it: at most so many lines, and never much text. A fence keeps its beginning."""
        shown = [line[-_MOST_PREVIEWED:] for line in (*self._lines[-lines:], "".join(self._begun))][-lines:]
        while len(shown) > 1 and sum(map(len, shown)) > _MOST_PREVIEWED:
            del shown[0]
        cut = len(shown) <= len(self._lines)
        opening = [self._fence] if self._fence and cut else []
        return "\n".join([*opening, *shown]).strip("\n")

    def _add_line(self, line: str) -> Iterator[str]:
        if self._fence:
            self._lines.append(line)
            found = _FENCE.match(line)
            if found and found[2].startswith(self._fence) and not found[3].strip():
                self._fence = ""
                if not self._inside:
                    yield from self._close()
        elif not line.strip():
            self._gap = bool(self._lines)
            self._lines += [""] * self._gap
        else:
            fence, heading = _FENCE.match(line), _HEADING.match(line)
            if (self._gap and not line[0].isspace()) or (fence and not fence[1]) or heading:
                yield from self._close()
            if fence:
                self._fence, self._inside = fence[2], bool(self._lines)
            self._gap = False
            self._lines.append(line)
            if heading:
                yield from self._close()

    def _close(self) -> Iterator[str]:
        block = "\n".join(self._lines).strip("\n")
        self._lines, self._gap = [], False
        if block:
            yield block
