"""Markdown in templates: the one way in for HTML that a model had a hand in. `clew.chat.markdown` makes and cleans it; its
parser and its cleaner are loaded with the first text, for a gateway whose pages nobody opens has no use for them."""

from __future__ import annotations

from markupsafe import Markup

__all__ = ["markdown"]


def markdown(text: str) -> Markup:
    """A filter of the templates."""
    from clew.chat.markdown import render_markdown

    return Markup(render_markdown(text))  # noqa: S704  (the cleaner is what makes it safe)
