"""Markdown in templates: the one way in for HTML that a model had a hand in. `clew.chat.markdown` makes and cleans it."""

from __future__ import annotations

from markupsafe import Markup

from clew.chat.markdown import render_markdown

__all__ = ["markdown"]


def markdown(text: str) -> Markup:
    """A filter of the templates."""
    return Markup(render_markdown(text))  # noqa: S704  (the cleaner is what makes it safe)
