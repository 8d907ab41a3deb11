"""Filters of the templates: numbers, times, Markdown and words of clew's own are shown in the same way on every page.

`markdown` is the one way in for HTML that a model had a hand in. `clew.chat.markdown` makes and cleans it. Its parser and
its cleaner are loaded with the first text: a gateway whose pages nobody opens does not need them.

Words of clew's own are explained where they stand, by the same table as `clew explain`. `{{ "Realm" | term }}` is the word
with its meaning for pointer, keyboard and screen reader. Where nothing can take the focus, as inside a button, `meaning`
gives the sentence alone. `explained` does it for a text that was not written for a page.
"""

from __future__ import annotations

import itertools
import re
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final

from markupsafe import Markup, escape

from clew.model.facts.glossary import term_named

_STEPS: Final = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))
_AGES: Final = ((86_400.0, "d"), (3600.0, "h"), (60.0, "min"))
_LEAST_USD: Final = 0.0001


def count(number: float) -> str:
    """A number with separators: 1234567 is 1,234,567."""
    return f"{number:,.0f}"


def brief(number: float) -> str:
    """1234567 is 1.23M. It is rounded before its unit is chosen: 999999 is 1M."""
    rounded = float(f"{number:.3g}")
    for size, letter in _STEPS:
        if abs(rounded) >= size:
            return f"{rounded / size:.3g}{letter}"
    return f"{number:.0f}"


def duration(seconds: float | None) -> str:
    """As precise as useful. What would be rounded to 1000 ms or to 60 s is shown in the next unit."""
    if seconds is None:
        return "–"
    if 0 < seconds < 0.0005:
        return "<1 ms"
    if seconds < 0.9995:
        return f"{seconds * 1000:.0f} ms"
    minutes, rest = divmod(round(seconds), 60)
    return f"{seconds:.1f} s" if seconds < 59.95 else f"{minutes} min {rest} s"


def percent(share: float | None) -> str:
    return "–" if share is None else f"{share:.0%}"


def usd(amount: float | None, estimated: bool = False) -> str:
    """An unknown price is a dash, never a zero. A very small one is never shown as zero either."""
    if amount is None:
        return "–"
    about = "≈ " if estimated else ""
    if 0 < amount < _LEAST_USD / 2:
        return f"{about}<${_LEAST_USD}"
    return f"{about}${amount:,.2f}" if amount >= 1 - _LEAST_USD / 2 or amount == 0 else f"{about}${amount:.4f}"


def ago(moment: float, now: float | None = None) -> str:
    passed = (time.time() if now is None else now) - moment
    for size, unit in _AGES:
        if passed >= size:
            return f"{passed // size:.0f} {unit} ago"
    return f"{max(0.0, passed):.0f} s ago"


def until(moment: float, now: float | None = None) -> str:
    """How long it takes until then, in full units: 3 h."""
    left = moment - (time.time() if now is None else now)
    for size, unit in _AGES:
        if left >= 2 * size:
            return f"{left // size:.0f} {unit}"
    return f"{max(0.0, left):.0f} s"


def clock(moment: float) -> str:
    """The local time of the machine; with the day unless that is today, with the year unless it is this one."""
    then, today = time.localtime(moment), time.localtime()
    form = "%H:%M:%S" if then[:3] == today[:3] else "%m-%d %H:%M" if then[0] == today[0] else "%Y-%m-%d %H:%M"
    return time.strftime(form, then)


def stamp(moment: float) -> str:
    """A time for the attribute of a `<time>`, which machines read."""
    return datetime.fromtimestamp(moment, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def markdown(text: str) -> Markup:
    """Markdown as HTML that is safe to show."""
    from clew.chat.markdown import render_markdown

    return Markup(render_markdown(text))  # noqa: S704  (the cleaner is what makes it safe)


_EXPLAINED: Final = re.compile(r"\b(?:seals?|spool|realms?|principals?)\b")
"""Words in texts of the doctor that nobody knows without clew."""
_TERM: Final = Markup(
    '<span class="tip"><dfn tabindex="0" aria-describedby="term-{number}">{label}</dfn>'
    '<span class="tip-text" role="tooltip" id="term-{number}"><span>{short}</span>{more}</span></span>'
)
_MORE: Final = Markup('<span class="muted">{}</span>')
_numbers = itertools.count(1)
"""No two tooltips of a page have one id, also not where a part of it was fetched later."""


def term(label: str, word: str = "") -> Markup:
    """The label, explained as this word. Raises KeyError for a word that the glossary does not have.

    >>> "owner of recorded conversations" in term("whose", "principal")
    True
    """
    found = term_named(word or label)
    if found is None:
        raise KeyError(word or label)
    more = _MORE.format(ticked(found.more)) if found.more else ""
    return _TERM.format(number=next(_numbers), label=label, short=ticked(found.short), more=more)


def meaning(word: str) -> str:
    """One sentence; "" for a word that is in no glossary.

    >>> meaning("restored")
    'A block that the client lost was put back from the store, because this backend made it.'
    """
    found = term_named(word)
    return found.short if found else ""


def explained(text: str) -> Markup:
    """`ticked`, and each of clew's own words explained where it comes first."""
    parts: list[str] = []
    at, known = 0, set[str]()
    for found in _EXPLAINED.finditer(text):
        if found[0] not in known and text.count("`", 0, found.start()) % 2 == 0:
            known.add(found[0])
            parts += [ticked(text[at : found.start()]), term(found[0])]
            at = found.end()
    return Markup("").join([*parts, ticked(text[at:])])


def ticked(text: str) -> Markup:
    """Text in backticks as code; all of it escaped."""
    parts = text.split("`")
    if len(parts) % 2 == 0:
        return escape(text)
    return Markup("").join(
        Markup("<code>{}</code>").format(part) if at % 2 else escape(part) for at, part in enumerate(parts)
    )


FILTERS: Final[dict[str, Callable[..., str]]] = {
    "ago": ago,
    "brief": brief,
    "clock": clock,
    "count": count,
    "duration": duration,
    "explained": explained,
    "markdown": markdown,
    "meaning": meaning,
    "percent": percent,
    "stamp": stamp,
    "term": term,
    "ticked": ticked,
    "until": until,
    "usd": usd,
}
