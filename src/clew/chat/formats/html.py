"""HTML to read: one file that fetches nothing and runs nothing.

Every word in it may be hostile, a model's, a tool's, or a name in between. All is escaped and nothing is interpreted, not
even Markdown; and should an escape ever be missed, the page's own policy forbids scripts, images, frames and every request.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from typing import Final

from clew.chat.formats.markdown import FOR_PEOPLE
from clew.chat.formats.pieces import Piece, Speech, heading, speeches
from clew.chat.formats.shape import Format
from clew.store.values import Thread, Turn

__all__ = ["HTML"]

_HEAD: Final = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; \
form-action 'none'">
<meta name="referrer" content="no-referrer">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Conversations</title>
<style>
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 48rem; margin: 2rem auto; padding: 0 1rem; }
section { border-top: 1px solid #8884; padding: .5rem 0; }
h2 { font-size: 1rem; margin: .5rem 0; }
small { font-weight: normal; opacity: .7; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; margin: .25rem 0; font: inherit; }
details pre { font: .85rem/1.4 ui-monospace, monospace; opacity: .85; padding-left: 1rem; border-left: 2px solid #8886; }
</style>
</head>
<body>
"""
_FOOT: Final = "</body>\n</html>\n"


def write(thread: Thread, turns: Sequence[Turn]) -> Iterator[bytes]:
    yield f"<article>\n<h1>{escape(heading(thread))}</h1>\n".encode(errors="replace")
    for speech in speeches(turns):
        yield "".join(_lines(speech)).encode(errors="replace")
    yield b"</article>\n"


def _lines(speech: Speech) -> Iterator[str]:
    note = f", {speech.note}" if speech.note else ""
    yield f"<section>\n<h2>{escape(speech.who)} <small>{escape(speech.at + note)}</small></h2>\n"
    for piece in speech.pieces:
        yield _set(piece)
    yield "</section>\n"


def _set(piece: Piece) -> str:
    if piece.kind == "text":
        return f"<pre>{escape(piece.text)}</pre>\n"
    if piece.kind == "other":
        return f"<p><small>({escape(piece.label)})</small></p>\n"
    return f"<details><summary>{escape(piece.label)}</summary><pre>{escape(piece.text)}</pre></details>\n"


HTML = Format(
    name="html",
    suffix=".html",
    does="One HTML file to read: no script, nothing fetched, everything escaped.",
    losses=(*FOR_PEOPLE, "the look of a model's Markdown"),
    write=write,
    head=_HEAD.encode(),
    foot=_FOOT.encode(),
)
