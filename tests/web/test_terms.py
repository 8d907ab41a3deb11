"""Words of clew's own are explained on the pages, by the same table as `clew explain`."""

import re
from importlib.resources import files

import pytest

from clew.model.facts.glossary import glossary, term_named
from clew.web.filters import explained, meaning, term
from tests.manifest import public

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
