"""A model's Markdown as safe HTML.

A model repeats what it read, so its text is untrusted. There are two defences. The parser takes no raw HTML, makes links
only of whole http, https and mailto addresses, and makes no images: loading a picture would tell its host that the page is
read, and its address could carry parts of the conversation. An image becomes its description and its address, as text. Then
the cleaner removes everything that is not allowed; a test shows that the parser leaves nothing to remove.

A link shows the host it leads to, unless its text is the address, so that no text can pretend to be another place.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from html import escape
from typing import Final
from urllib.parse import urlsplit

import nh3
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict
from msgspec import Struct

MOST_CHARACTERS: Final = 50_000
"""Longer texts are shown as they are: rendering them takes too long."""

HEADINGS_BELOW: Final = 2
"""The page itself uses the first two levels of headings."""

_ADDRESS: Final = re.compile(r"(?:https?://[^/?#\s]|mailto:[^\s])", re.IGNORECASE)
_LANGUAGE: Final = re.compile(r"[A-Za-z0-9+#_-]{1,20}(?=$|[\s{:,])")
"""The language of fenced code, as it is named after the fence. The pages' scripts colour the code by it."""
_ALIGNED: Final = re.compile(r"text-align:(center|right)")

_TAGS: Final = {
    *("p", "br", "hr", "em", "strong", "s", "code", "pre", "blockquote", "ul", "ol", "li", "a", "span", "div"),
    *("h3", "h4", "h5", "h6", "table", "thead", "tbody", "tr", "th", "td"),
}
_ATTRIBUTES: Final = {
    "a": {"href", "target"},
    "code": {"data-lang"},
    "ol": {"start"},
    "pre": {"tabindex"},
    "div": {"tabindex", "role", "aria-label"},
}
_CLASSES: Final = {
    "a": {"outside"},
    "div": {"scroll"},
    "pre": {"plain"},
    "span": {"picture", "target"},
    "td": {"center", "right"},
    "th": {"center", "right"},
}


class Finished(Struct, frozen=True):
    """The finished blocks of a text that is still being written, as HTML, and how many lines of the text they are."""

    html: str
    lines: int


def render_markdown(text: str) -> str:
    """HTML with the allowed tags and attributes only: it runs nothing, fetches nothing and sets no style."""
    if len(text) > MOST_CHARACTERS:
        return f'<pre class="plain" tabindex="0">{escape(text)}</pre>'
    parser = _parser()
    env: EnvType = {}
    return _clean(parser.renderer.render(parser.parse(text, env), parser.options, env))


def render_finished(text: str) -> Finished:
    """All blocks but the last. A block is finished when another one has begun after it."""
    if len(text) > MOST_CHARACTERS:
        return Finished("", 0)
    parser = _parser()
    env: EnvType = {}
    tokens = parser.parse(text, env)
    last = max((index for index, token in enumerate(tokens) if token.level == 0 and token.nesting >= 0), default=0)
    if last == 0 or tokens[last].map is None:
        return Finished("", 0)
    return Finished(_clean(parser.renderer.render(tokens[:last], parser.options, env)), (tokens[last].map or [0])[0])


def _clean(html: str) -> str:
    return nh3.clean(
        html,
        tags=_TAGS,
        attributes=_ATTRIBUTES,
        allowed_classes=_CLASSES,
        url_schemes={"http", "https", "mailto"},
        link_rel="noopener noreferrer nofollow",
    )


@cache
def _parser() -> MarkdownIt:
    made = MarkdownIt("commonmark", {"html": False}, renderer_cls=_SafeRenderer).enable(["table", "strikethrough"])
    # A relative address would lead into the pages that show the text.
    made.validateLink = lambda url: _ADDRESS.match(url) is not None
    # A ruler compiles its rules when it is first asked for them, and has only some of them meanwhile: another thread would
    # fail, or render nothing.
    for ruler in (made.core.ruler, made.block.ruler, made.inline.ruler, made.inline.ruler2):
        ruler.getRules()
    return made


class _SafeRenderer(RendererHTML):
    """Renders the tokens that differ from the default. The method names are the parser's."""

    def image(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        words = self.renderInlineAsText(tokens[idx].children or (), options, env)
        said = escape(f"image: {words}" if words else "image")
        return f'<span class="picture">{said} ({escape(str(tokens[idx].attrs.get("src", "")))})</span>'

    def link_open(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        return f'<a class="outside" target="_blank" href="{escape(_address(tokens[idx]))}">'

    def link_close(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        opened = next(index for index in range(idx, -1, -1) if tokens[index].type == "link_open")
        address = _address(tokens[opened])
        shown = "".join(token.content for token in tokens[opened:idx])
        return "</a>" if shown == address else f'</a> <span class="target">({escape(_host(address))})</span>'

    def heading_open(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        return f"<{_heading_tag(tokens[idx])}>"

    def heading_close(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        return f"</{_heading_tag(tokens[idx])}>\n"

    def fence(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        language = _LANGUAGE.match(tokens[idx].info.strip())
        named = f' data-lang="{language[0].lower()}"' if language else ""
        return f'<pre tabindex="0"><code{named}>{escape(tokens[idx].content)}</code></pre>\n'

    code_block = fence

    def table_open(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        return '<div class="scroll" role="region" aria-label="Table" tabindex="0"><table>\n'

    def table_close(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        return "</table></div>\n"

    def td_open(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        """The pages allow no inline styles, so the alignment of a column is a class."""
        tag, aligned = tokens[idx].tag, _ALIGNED.fullmatch(str(tokens[idx].attrs.get("style", "")))
        return f'<{tag} class="{aligned[1]}">' if aligned else f"<{tag}>"

    th_open = td_open


def _address(token: Token) -> str:
    return str(token.attrs.get("href", ""))


def _host(address: str) -> str:
    """The host of an address, as the browser would find it."""
    try:
        parts = urlsplit(address)
        return parts.path if parts.scheme == "mailto" else parts.hostname or address
    except ValueError:
        return address


def _heading_tag(token: Token) -> str:
    return f"h{min(6, int(token.tag[1:]) + HEADINGS_BELOW)}"
