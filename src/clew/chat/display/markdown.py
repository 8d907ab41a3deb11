"""Markdown of a model as something that rich can draw.

Nothing that was said is lost: what looks like HTML is text, an image is its description and its address, links say where
they lead, and a block of which nothing would be seen (only definitions of links) is shown as it was written. And nothing is
obeyed: what a terminal would take for a command is made harmless first.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, ClassVar, Final

from clew.chat.terminal import harmless

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from rich.console import JustifyMethod, RenderableType
    from rich.markdown import Markdown, MarkdownElement

__all__ = ["markdown"]

_CODE: Final = "ansi_dark"
"""The terminal's own colours, on its own background."""


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark", {"html": False}).enable(["strikethrough", "table"]).disable(["image"])


@cache
def _drawing() -> type[Markdown]:
    """Headings on the left, where the text is."""
    from rich.markdown import Heading, Markdown

    class LeftHeading(Heading):
        LEVEL_ALIGN: ClassVar[dict[str, JustifyMethod]] = dict.fromkeys(Heading.LEVEL_ALIGN, "left")

    class Drawn(Markdown):
        elements: ClassVar[dict[str, type[MarkdownElement]]] = {**Markdown.elements, "heading_open": LeftHeading}

    return Drawn


def markdown(text: str) -> RenderableType:
    """A block, ready to be printed."""
    from rich.text import Text

    clean = harmless(text)
    drawn = _drawing()("", code_theme=_CODE, hyperlinks=False)
    drawn.parsed = _parser().parse(clean)
    return drawn if drawn.parsed else Text(clean)
