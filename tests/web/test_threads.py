"""The list of threads, and what is found in them."""

import re
import time
from html import unescape
from io import BytesIO
from zipfile import ZipFile

import pytest

from clew.admin.threads import MOST_EXPORTED
from clew.model.turn import TokenUsage
from clew.store.values import Hit
from clew.web.threads_page import MOST_HITS, PAGE, SnippetPart, snippet_parts
from tests.admin.booth import Booth
from tests.build import GLM
from tests.store.turns import NOON, recorded, turn


def keep(booth: Booth, *turns: object) -> None:
    assert booth.store is not None
    for each in turns:
        assert booth.store.record(each).result(120)


def test_an_empty_list_teaches_how_to_begin(booth: Booth) -> None:
    text = booth.ask("/threads").raw.decode()
    assert "No thread yet" in text and "clew run -- claude" in text and 'href="/chat"' in text


def test_threads_are_listed_page_by_page_the_last_used_first(booth: Booth) -> None:
    keep(booth, *(turn(recorded(f"r{n}", thread=f"t{n}"), at=NOON + n) for n in range(PAGE + 2)))
    first = booth.ask("/threads").raw.decode()
    assert first.index(f"/threads/t{PAGE + 1}") < first.index(f"/threads/t{PAGE}")
    assert 'href="/threads/t1"' not in first
    assert f'href="/threads?before={NOON + 2}"' in first
    second = booth.ask(f"/threads?before={NOON + 2}").raw.decode()
    assert 'href="/threads/t1"' in second and 'href="/threads/t2"' not in second and "?before=" not in second
    assert "There are no older threads" in booth.ask(f"/threads?before={NOON - 9}").raw.decode()


def test_a_filtered_list_goes_on_page_by_page_in_its_order(booth: Booth) -> None:
    keep(booth, *(turn(recorded(f"r{n:02}", thread=f"t{n:02}"), at=NOON + n) for n in range(2 * PAGE + 2)))
    address, threads = "/threads?backend=claude&sort=turns", list[str]()
    while address:
        text = unescape(booth.ask(address).raw.decode())
        threads += re.findall(r'class="title"><a href="/threads/(t\d+)"', text)
        address = next(iter(re.findall(r'href="(/threads[^"]*from=[^"]*)"', text)), "")
    assert threads == [f"t{n:02}" for n in reversed(range(2 * PAGE + 2))]
    assert "2 more match" in booth.ask(f"/threads?backend=claude&from={PAGE}").raw.decode()


def test_a_hit_leads_to_its_turn_and_marks_the_words(booth: Booth) -> None:
    keep(booth, turn(recorded("a", words="A lighthouse <b>on</b> a rock")))
    text = booth.ask("/threads?q=light").raw.decode()
    assert 'href="/threads/t?at=x-a"' in text
    assert "<mark>lighthouse</mark> &lt;b&gt;on&lt;/b&gt;" in text
    assert "Nothing found" in booth.ask("/threads?q=nobody").raw.decode()


def test_places_that_are_not_shown_are_told_of(booth: Booth) -> None:
    """A number that is only where the page ends is not how many there are."""
    keep(booth, *(turn(recorded(f"r{n}", thread=f"t{n}", words="A lens"), at=NOON + n) for n in range(MOST_HITS)))
    assert f"{MOST_HITS} places with all these words. " in booth.ask("/threads?q=lens").raw.decode()
    keep(booth, turn(recorded("one-more", thread="one-more", words="A lens"), at=NOON + MOST_HITS))
    text = booth.ask("/threads?q=lens").raw.decode()
    assert f"More than {MOST_HITS} places with all these words; one more word finds fewer. " in text
    assert text.count("<mark>lens</mark>") == MOST_HITS


@pytest.mark.parametrize(
    ("marks", "parts"),
    [
        ((), [SnippetPart("one two", False)]),
        (((0, 3),), [SnippetPart("one", True), SnippetPart(" two", False)]),
        (((0, 3), (4, 7)), [SnippetPart("one", True), SnippetPart(" ", False), SnippetPart("two", True)]),
    ],
)
def test_a_snippet_is_cut_where_words_were_found(marks: tuple[tuple[int, int], ...], parts: list[SnippetPart]) -> None:
    assert snippet_parts(Hit(thread="t", title="", at=NOON, snippet="one two", marks=marks)) == parts


def test_a_snippet_is_a_line_of_words_without_the_lines_of_tables() -> None:
    snippet = "**Six** tonnes: | | plain | |---|--:| | weight | 6 | and --flag a|b"
    (part,) = snippet_parts(Hit(thread="t", title="", at=NOON, snippet=snippet, marks=()))
    assert part.text == "Six tonnes: | plain | weight | 6 | and --flag a|b"


def test_a_long_row_of_dashes_in_a_snippet_takes_no_time() -> None:
    """Somebody said that once; while it is looked at, nothing else runs."""
    snippet = f"one {'-' * 100_000} two"
    began = time.thread_time()
    (part,) = snippet_parts(Hit(thread="t", title="", at=NOON, snippet=snippet, marks=()))
    assert (part.text == snippet, time.thread_time() - began < 10) == (True, True)


def test_without_a_store_the_page_says_why(tmp_path_factory: pytest.TempPathFactory) -> None:
    with Booth(tmp_path_factory.mktemp("n") / "h", store=False) as booth:
        reply = booth.ask("/threads")
    assert (reply.status, "There is no store" in reply.raw.decode()) == (409, True)


def test_a_thread_is_listed_with_its_backends_tokens_and_time_and_can_be_sorted_by_them(booth: Booth) -> None:
    small, large = TokenUsage(input=10, output=5), TokenUsage(input=1_000_000, output=5)
    keep(
        booth,
        turn(recorded("a", thread="small"), at=NOON + 9, usage=small),
        turn(recorded("b", thread="large", origin=GLM), at=NOON, usage=large, dialect="openai-responses", key="<i>anna"),
        turn(recorded("c", thread="old"), at=NOON - 9e8),
    )
    usual, sorted_ = booth.ask("/threads").raw.decode(), booth.ask("/threads?sort=tokens").raw.decode()
    assert usual.index('href="/threads/small"') < usual.index('href="/threads/large"')
    assert sorted_.index('href="/threads/large"') < sorted_.index('href="/threads/small"')
    assert ">1M</td>" in usual and ">2.5 s</td>" in usual and GLM.model in usual and 'aria-sort="descending"' in sorted_
    only = booth.ask(f"/threads?backend={GLM.backend}").raw.decode()
    assert 'href="/threads/large"' in only and 'href="/threads/small"' not in only
    assert "Responses" in usual and "key &lt;i&gt;anna" in usual
    codex = booth.ask("/threads?api=openai-responses").raw.decode()
    assert 'href="/threads/large"' in codex and 'href="/threads/small"' not in codex
    for sort, first, second in (("client", "small", "large"), ("model", "small", "large")):
        text = booth.ask(f"/threads?sort={sort}").raw.decode()
        assert (
            text.index(f'href="/threads/{first}"') < text.index(f'href="/threads/{second}"')
            and 'aria-sort="ascending"' in text
        )
    assert "No thread matches" in booth.ask("/threads?model=none").raw.decode()
    recent = booth.ask("/threads?days=365").raw.decode()
    assert 'href="/threads/large"' in recent and 'href="/threads/old"' not in recent
    assert booth.ask("/threads?sort=luck").status == 400


def test_several_threads_are_exported_as_one_archive(booth: Booth) -> None:
    keep(booth, *(turn(recorded(name, thread=name, words=f"Words of {name}.")) for name in ("a", "../b")))
    reply = booth.ask("/api/threads-export?id=a&id=..%2Fb&id=a&format=markdown")
    with ZipFile(BytesIO(reply.raw)) as archive:
        assert archive.namelist() == ["001-a.md", "002-___b.md"]
        assert b"Words of a." in archive.read("001-a.md")
    ids = "&".join(f"id={number}" for number in range(MOST_EXPORTED + 1))
    asked = ("id=none", "id=a&format=none", "", ids)
    assert [booth.ask(f"/api/threads-export?{each}").status for each in asked] == [404, 404, 400, 400]


def test_threads_are_filtered_and_sorted_by_their_program_whatever_it_calls_itself(booth: Booth) -> None:
    """A program may call itself anything: it is text in a cell, in the list of the filter, and in addresses."""
    keep(
        booth,
        turn(recorded("a", thread="first"), at=NOON + 9, client="opencode", dialect="openai-responses"),
        turn(recorded("b", thread="second"), at=NOON, client="Codex"),
        turn(recorded("c", thread="third"), at=NOON - 9, client="<i>x&y"),
        turn(recorded("d", thread="nobody"), at=NOON + 99),
    )
    usual = booth.ask("/threads").raw.decode()
    assert 'data-label="client">opencode <span class="muted small">Responses</span>' in usual
    assert 'data-label="client">&lt;i&gt;x&amp;y <span' in usual and "<i>x" not in usual
    assert 'data-label="client">Messages</td>' in usual
    assert listed(booth, "/threads?client=Codex") == ["second"]
    assert listed(booth, "/threads?client=%3Ci%3Ex%26y") == ["third"]
    assert listed(booth, "/threads?sort=client") == ["third", "second", "first", "nobody"]
    assert listed(booth, "/threads?client=Codex&api=openai-responses") == []
    odd = booth.ask("/threads?client=%3Ci%3Ex%26y").raw.decode()
    assert "<option selected>&lt;i&gt;x&amp;y</option>" in odd and "<option>Codex</option>" in odd
    assert "client=%3Ci%3Ex%26y" in odd and "<i>x" not in odd
    none = booth.ask("/threads?client=%22%3E%3Cscript%3E").raw.decode()
    assert "No thread matches" in none and '"><script>' not in none


def listed(booth: Booth, address: str) -> list[str]:
    return re.findall(r'class="title"><a href="/threads/(\w+)"', booth.ask(address).raw.decode())
