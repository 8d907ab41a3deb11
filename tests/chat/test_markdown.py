"""Markdown that a model wrote becomes HTML that can do no harm, and stays readable."""

import re
import time

import nh3
import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it.ruler import Ruler

from clew.chat import markdown
from clew.chat.markdown import Finished, render_finished, render_markdown
from tests.browser.corpus import CORPUS
from tests.manifest import proves

TAGS = re.compile(r"<(/?[a-z0-9]+)([^>]*)>")
SAFE_ATTRIBUTE = re.compile(
    r' (?:class="[a-z]+"|tabindex="0"|role="region"|aria-label="Table"|start="\d+"|target="_blank"'
    r'|rel="noopener noreferrer nofollow"|href="(?:https?://|mailto:)[^"<>\s]*")'
)


def offences(html: str) -> list[str]:
    """Whatever in it is not a plain tag with plain attributes. The texts in between are escaped."""
    tags = TAGS.findall(html)
    odd = [name for name, _ in tags if name.lstrip("/") not in markdown._TAGS]
    odd += [rest for _, given in tags if (rest := SAFE_ATTRIBUTE.sub("", given))]
    return odd + re.findall(r"[<>]", TAGS.sub("", html))


@pytest.mark.parametrize("said", CORPUS)
@proves("fault:X9", "fault:X10")
def test_nothing_of_the_corpus_is_more_than_text_and_links(said: str) -> None:
    assert offences(render_markdown(said)) == []


@given(
    st.lists(
        st.sampled_from([*CORPUS, "\n", "\n\n", "    ", "> ", "- ", "```", "`", "|", "[", "](", ")", "<", "&lt;"]),
        max_size=8,
    )
)
def test_nor_is_any_mixture_of_it(parts: list[str]) -> None:
    assert offences(render_markdown("".join(parts))) == []


@pytest.mark.parametrize("said", CORPUS)
def test_the_cleaner_finds_nothing_to_clean(said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two walls: what the parser makes is harmless by itself."""
    monkeypatch.setattr(nh3, "clean", lambda html, **kept: html)
    assert offences(render_markdown(said)) == []


def test_the_cleaner_would_hold_alone() -> None:
    """The second wall, shown what the first keeps away from it."""
    assert markdown._clean('<img src=x><p style="x" onclick="y">a<script>b</script></p><a href="javascript:c">d</a>') == (
        '<p>a</p><a rel="noopener noreferrer nofollow">d</a>'
    )


def test_text_is_set_as_people_expect() -> None:
    said = (
        "# One\n\nSome *words*, `code`, ~~gone~~.\n\n```python\nx < 1\n```\n\n| a | b |\n|---|--:|\n| 1 | 2 |\n\n3. three\n"
    )
    assert render_markdown(said) == (
        "<h3>One</h3>\n<p>Some <em>words</em>, <code>code</code>, <s>gone</s>.</p>\n"
        '<pre tabindex="0"><code data-lang="python">x &lt; 1\n</code></pre>\n'
        '<div class="scroll" role="region" aria-label="Table" tabindex="0"><table>\n<thead>\n<tr>\n<th>a</th>\n'
        '<th class="right">b</th>\n</tr>\n</thead>\n<tbody>\n<tr>\n<td>1</td>\n<td class="right">2</td>\n</tr>\n</tbody>\n'
        '</table></div>\n<ol start="3">\n<li>three</li>\n</ol>\n'
    )


@proves("fault:X10")
def test_a_picture_is_its_description_and_its_address() -> None:
    assert render_markdown("![a *red* dot](http://evil.test/x.png)") == (
        '<p><span class="picture">image: a red dot (http://evil.test/x.png)</span></p>\n'
    )


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("[docs](https://docs.example/a)", '>docs</a> <span class="target">(docs.example)</span>'),
        ("<https://docs.example/a>", ">https://docs.example/a</a>"),
        ("[https://bank.example](https://evil.test/)", '>https://bank.example</a> <span class="target">(evil.test)</span>'),
        ("[bank](https://bank.example@evil.test/)", '>bank</a> <span class="target">(evil.test)</span>'),
        ("[bank](https://b\u0430nk.example/)", '>bank</a> <span class="target">(xn--bnk-6cd.example)</span>'),
        ("[write](mailto:a@b.example)", '>write</a> <span class="target">(a@b.example)</span>'),
    ],
)
@proves("fault:X10")
def test_a_link_says_where_it_leads(said: str, shown: str) -> None:
    assert shown in render_markdown(said)


def test_an_address_into_these_pages_is_no_link() -> None:
    assert render_markdown("[more](/login?code=1) [top](#main)") == "<p>[more](/login?code=1) [top](#main)</p>\n"


def test_a_text_beyond_measure_is_shown_as_it_is() -> None:
    said = "<b>" * 20_000
    assert render_markdown(said) == f'<pre class="plain" tabindex="0">{"&lt;b&gt;" * 20_000}</pre>'


@pytest.mark.parametrize(
    ("said", "finished"),
    [
        ("", Finished("", 0)),
        ("One", Finished("", 0)),
        ("One\n\nTw", Finished("<p>One</p>\n", 2)),
        ("# One\nTw", Finished("<h3>One</h3>\n", 1)),
        ("- a\n\n- b", Finished("", 0)),
        ("- a\n\n- b\n\nc", Finished("<ul>\n<li>\n<p>a</p>\n</li>\n<li>\n<p>b</p>\n</li>\n</ul>\n", 4)),
        ("```\na\n\nb", Finished("", 0)),
        ("```\na\n```\nb", Finished('<pre tabindex="0"><code>a\n</code></pre>\n', 3)),
        ("> a\n\n---\nb", Finished("<blockquote>\n<p>a</p>\n</blockquote>\n<hr>\n", 3)),
    ],
)
def test_blocks_are_finished_once_another_has_begun(said: str, finished: Finished) -> None:
    assert render_finished(said) == finished


@given(
    st.lists(
        st.sampled_from(
            ["One two", "# Head", "- a\n- b", "```\ncode\n\nmore\n```", "> quote", "| a |\n|---|\n| 1 |", "1. x"]
        ),
        max_size=6,
    )
)
def test_finished_blocks_and_the_rest_are_the_whole(blocks: list[str]) -> None:
    """Set piece by piece, as it streams in, a text looks as if it were set at once."""
    said = "\n\n<!-- -->\n\n".join(blocks)
    finished = render_finished(said)
    rest = "\n".join(said.split("\n")[finished.lines :])
    assert finished.html + render_markdown(rest) == render_markdown(said)


def test_the_parser_is_ready_before_threads_share_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that compiles its rules has only some of them, and a thread that comes in between failed, or rendered nothing."""
    markdown._parser.cache_clear()
    markdown._parser()
    monkeypatch.setattr(Ruler, "__compile__", lambda _: pytest.fail("it compiles while it renders"))
    assert render_markdown("# a\n\n- *b*\n") == "<h3>a</h3>\n<ul>\n<li><em>b</em></li>\n</ul>\n"


@pytest.mark.slow
@pytest.mark.parametrize("piece", ["[", "![", "*a_", "`", "<", "> ", "- ", "|a", "&#", "[a](", "\\"])
@proves("fault:X20")
def test_a_text_that_is_made_to_be_slow_is_not(piece: str) -> None:
    """X20 for Markdown: twice as long takes no more than a few times as long."""
    render_markdown("warm")
    assert _seconds(piece, 24_000) < max(0.15, 4 * _seconds(piece, 12_000))


def _seconds(piece: str, length: int) -> float:
    """Of this thread's own time, at best: others work on the same machine."""
    said = piece * (length // len(piece))
    return min(_once(said) for _ in range(2))


def _once(said: str) -> float:
    began = time.thread_time()
    render_markdown(said)
    return time.thread_time() - began
