"""How numbers, times and shares are shown, and how words of clew's own are explained."""

import re
import time
from importlib.resources import files

import pytest

from clew.model.facts.glossary import glossary, term_named
from clew.web.filters import ago, brief, clock, count, duration, explained, meaning, percent, stamp, term, ticked, until, usd
from tests.manifest import public


@pytest.mark.parametrize(
    ("made", "shown"),
    [
        (count(1234567), "1,234,567"),
        (brief(999), "999"),
        (brief(1234567), "1.23M"),
        (brief(15_000), "15k"),
        (brief(2e9), "2G"),
        (brief(999.7), "1k"),
        (brief(999_499), "999k"),
        (brief(999_500), "1M"),
        (brief(999_999_999), "1G"),
        (brief(1234e9), "1.23T"),
        (duration(None), "–"),
        (duration(0.0421), "42 ms"),
        (duration(0.0001), "<1 ms"),
        (duration(3.25), "3.2 s"),
        (duration(0.9997), "1.0 s"),
        (duration(59.97), "1 min 0 s"),
        (duration(95), "1 min 35 s"),
        (duration(119.6), "2 min 0 s"),
        (percent(None), "–"),
        (percent(0.876), "88%"),
        (usd(None), "–"),
        (usd(0.0), "$0.00"),
        (usd(0.00123), "$0.0012"),
        (usd(0.00001), "<$0.0001"),
        (usd(0.00001, estimated=True), "≈ <$0.0001"),
        (usd(0.99996), "$1.00"),
        (usd(1234.5, estimated=True), "≈ $1,234.50"),
        (ago(100, now=103.2), "3 s ago"),
        (ago(100, now=99), "0 s ago"),
        (ago(0, now=7300), "2 h ago"),
        (ago(0, now=200_000), "2 d ago"),
        (until(100, now=96.5), "4 s"),
        (until(100, now=103), "0 s"),
        (until(10_900, now=0), "3 h"),
        (until(3700, now=0), "61 min"),
        (clock(time.mktime((2001, 2, 3, 4, 5, 6, 0, 0, -1))), "2001-02-03 04:05"),
        (ticked("run `clew <x>` & look"), "run <code>clew &lt;x&gt;</code> &amp; look"),
        (ticked("a lone ` <b>"), "a lone ` &lt;b&gt;"),
        (stamp(0), "1970-01-01T00:00:00.000Z"),
    ],
)
def test_a_value_is_shown_as_people_read_it(made: str, shown: str) -> None:
    assert made == shown


PLAIN = {"agent", "attempt", "conversation", "dropped", "heal", "recording", "removed", "repair", "unknown", "exchange"}
"""Words of the glossary that mean on a page what they mean everywhere."""
PARTS = {"chat_list.html", "frame.html", "now_rows.html", "now_top.html", "limits.html"}
"""Templates without a page of their own: what stands around them explains."""
CODE = re.compile(r"\{#.*?#\}|\{%.*?%\}|\{\{.*?\}\}|<[^>]*>", re.DOTALL)
CALL = re.compile(r'\{\{ \(?"?([^"|{}]*)"?\)? \| term(?:\("([^"]+)"\))? \}\}')


def test_a_word_says_what_it_means_to_pointer_and_keyboard() -> None:
    shown = term("Conversations of", "principal")
    assert re.fullmatch(
        r'<span class="tip"><dfn tabindex="0" aria-describedby="(term-\d+)">Conversations of</dfn>'
        r'<span class="tip-text" role="tooltip" id="\1"><span>The owner of recorded conversations\. .*</span></span></span>',
        shown,
    )
    assert term("<b>", "realm").count("&lt;b&gt;") == 1
    assert (meaning("left out"), meaning("nothing")) == (glossary()["left out"].short, "")


def test_in_a_text_each_word_is_explained_once_and_nothing_in_code() -> None:
    shown = explained("`a seal` and <i>: seals need a seal, seals")
    assert shown.startswith("<code>a seal</code> and &lt;i&gt;: <span")
    assert shown.count("<dfn") == 2


@public("page")
@pytest.mark.parametrize("template", sorted(each.name for each in files("clew.web").joinpath("templates").iterdir()))
def test_every_word_of_the_glossary_is_explained_on_its_page(template: str) -> None:
    """Where people read it: in headings, columns and sentences."""
    text = files("clew.web").joinpath("templates", template).read_text()
    calls = [(word or label).strip() for label, word in CALL.findall(text)]
    assert [call for call in calls if term_named(call) is None] == []
    explains = {found.name for call in calls if (found := term_named(call))} | set(
        re.findall(r'"([\w ]+)" \| meaning', text)
    )
    words = {name for each in glossary().values() for name in (each.name, *each.also)} - PLAIN
    read = CODE.sub(" ", text).casefold()
    met = {word for word in words if re.search(rf"\b{word}s?\b", read)}
    left = {word for word in met if (found := term_named(word)) and found.name not in explains}
    assert template in PARTS or not left - {"change", "request"}
