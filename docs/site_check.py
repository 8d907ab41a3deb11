"""What can be wrong with the built site: links, pages that the search lacks, other hosts, Markdown read differently."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

from markdown_it import MarkdownIt

_SHAPE = ("li", "pre", "table", "blockquote", "h1", "h2", "h3")
"""Elements that a page has as often as its Markdown has them when GitHub shows it."""


class _PageReader(HTMLParser):
    """The links, the names of places, what is loaded, and how many elements of each kind the text of a page has."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.places: set[str] = set()
        self.shape: Counter[str] = Counter()
        self._depth = 0
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if place := given.get("id"):
            self.places.add(place)
        if tag == "a" and given.get("href"):
            self.links.append(given["href"] or "")
        elif tag in {"script", "img", "iframe"} and given.get("src"):
            self.loaded.append(given["src"] or "")
        elif tag == "link" and "canonical" not in (given.get("rel") or ""):
            self.loaded.append(given.get("href") or "")
        self._depth += tag == "article"
        if self._depth and tag in _SHAPE and "md-" not in (given.get("class") or ""):
            self.shape[tag] += 1

    def handle_endtag(self, tag: str) -> None:
        self._depth -= tag == "article"


def problems(site: Path, texts: dict[str, str]) -> Iterator[str]:
    """Each thing that is wrong, in words. `texts` are the pages' Markdown, by name."""
    pages = {page: _PageReader(page.read_text("utf-8")) for page in site.rglob("*.html")}
    found = (site / "search.js").read_text("utf-8")
    for name, text in texts.items():
        page = site / re.sub(r"README\.md$|index\.md$", "index.html", name)
        page = page if page in pages else site / name.replace(".md", ".html")
        if page not in pages:
            yield f"{name}: there is no page"
            continue
        yield from _differences(name, text, pages[page])
        if page.relative_to(site).as_posix() not in found and page != site / "index.html":
            yield f"{name}: the search does not know it"
    for page, read in pages.items():
        if page.name != "404.html":
            yield from (f"{page.relative_to(site)}: {each}" for each in _broken(page, read, pages))


def _differences(name: str, text: str, read: _PageReader) -> Iterator[str]:
    wanted = _PageReader(f"<article>{MarkdownIt('commonmark').enable('table').render(text)}</article>").shape
    for tag in _SHAPE:
        if wanted[tag] != read.shape[tag]:
            yield f"{name}: {read.shape[tag]} <{tag}> in the site, {wanted[tag]} in the Markdown"


def _broken(page: Path, read: _PageReader, pages: dict[Path, _PageReader]) -> Iterator[str]:
    for target in read.loaded:
        if urlsplit(target).netloc:
            yield f"loads {target}"
        elif not target.startswith("data:") and not (page.parent / unquote(urlsplit(target).path)).exists():
            yield f"loads {target}, which is not there"
    for target in read.links:
        parts = urlsplit(target)
        if parts.scheme or parts.netloc:
            continue
        place = (page.parent / unquote(parts.path)).resolve() if parts.path else page
        place = place / "index.html" if place.is_dir() else place
        if not place.exists():
            yield f"links to {target}, which is not there"
        elif parts.fragment and place in pages and unquote(parts.fragment) not in pages[place].places:
            yield f"links to {target}, which has no such place"
