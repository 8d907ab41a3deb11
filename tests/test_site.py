"""The parts of the docs' site: the navigation has every page, links hold there, and the check finds what is wrong."""

import sys
import tomllib
from collections import Counter
from pathlib import Path

import pytest

from tests.test_manifest import ROOT

sys.path.insert(0, str(ROOT / "docs"))
from navigation import files, groups, index_list, summary_of, with_list
from site_check import problems
from site_pages import full_text, page_text, short_text


def test_every_page_has_one_place_in_the_navigation() -> None:
    places = Counter(name for group in groups() for name in group.pages)
    assert places == dict.fromkeys(files(), 1)


def test_the_navigation_names_only_pages_that_exist() -> None:
    said = tomllib.loads((ROOT / "docs/navigation.toml").read_text())
    named = {name for parts in said.values() for lines in parts.values() for name in lines if "*" not in name}
    assert named - set(files()) == set()


def test_the_index_lists_a_folder_with_a_list_of_its_own_as_one_line() -> None:
    lines = index_list().splitlines()
    assert [line for line in lines if "(backends/" in line] == [
        "- [Backends](backends/README.md): set-up, what is kept, and known limits of each vendor and local server"
    ]
    assert with_list("a\n<!-- pages: written by docs/generate.py -->\nold\n<!-- end of pages -->\nb", "new") == (
        "a\n<!-- pages: written by docs/generate.py -->\n\nnew\n\n<!-- end of pages -->\nb"
    )


def test_links_that_lead_out_of_the_docs_hold_in_the_site() -> None:
    page = ROOT / "docs/howto/x.md"
    texts = {
        "[a `b`](../../ARCHITECTURE.md#laws)": "[a `b`](../project/ARCHITECTURE.md#laws)",
        "[it](../concepts/store.md)": "[it](../concepts/store.md)",
        "![A picture](../images/now.png)": "![A picture](../images/now.png)",
        "[code](../../src/clew/cli/use.py)": "code",
        "[web](https://example.org/x)": "[web](https://example.org/x)",
        "`[no](../../ARCHITECTURE.md)`": "`[no](../../ARCHITECTURE.md)`",
        "<!-- Made. -->\n\n# T": "# T",
        "```console\nclew log\n```": "```bash\nclew log\n```",
        "```console\n$ clew log\nnothing\n```": "```console\n$ clew log\nnothing\n```",
    }
    assert {text: changed(page, text) for text in texts} == texts


def changed(page: Path, text: str) -> str:
    class Page(type(page)):
        def read_text(self, *_: object) -> str:
            return text

    return page_text("howto/x.md", Page(page))


def test_the_files_for_language_models_have_every_page() -> None:
    lines = short_text().splitlines()
    assert lines[0] == "# clew"
    assert {line.partition("](")[2].partition(")")[0] for line in lines if line.startswith("- ")} == set(files())
    assert "- [Talk in the terminal](howto/talk-in-the-terminal.md): " in short_text()
    texts = dict.fromkeys(files(), "# Title\n")
    assert full_text(texts).count("# Title") == len([name for name in texts if not name.startswith("decisions/")])


def test_a_summary_is_the_first_sentence_in_plain_text(tmp_path: Path) -> None:
    page = tmp_path / "p.md"
    page.write_text("<!-- Made. -->\n\n# Title\n\n```sh\nx\n```\n\nIt does [this](a.md). And more.\n")
    assert summary_of(page) == "It does this."


@pytest.fixture
def site(tmp_path: Path) -> Path:
    (tmp_path / "a.html").write_text('<article><h1 id="t">T</h1><ul><li><a href="b.html#u">b</a></li></ul></article>')
    (tmp_path / "b.html").write_text('<article><h1 id="u">U</h1></article>')
    (tmp_path / "search.js").write_text("a.html b.html")
    return tmp_path


TEXTS = {"a.md": "# T\n\n- [b](b.md#u)\n", "b.md": "# U\n"}


def test_a_site_that_is_right_has_no_problems(site: Path) -> None:
    assert list(problems(site, TEXTS)) == []


@pytest.mark.parametrize(
    ("page", "problem"),
    [
        ('<a href="c.html">c</a>', "b.html: links to c.html, which is not there"),
        ('<a href="a.html#no">c</a>', "b.html: links to a.html#no, which has no such place"),
        ('<script src="https://host.example/x.js"></script>', "b.html: loads https://host.example/x.js"),
        ('<img src="no.png">', "b.html: loads no.png, which is not there"),
        ("<ul><li>x</li></ul>", "b.md: 1 <li> in the site, 0 in the Markdown"),
    ],
)
def test_a_problem_of_a_site_is_found(site: Path, page: str, problem: str) -> None:
    (site / "b.html").write_text(f'<article><h1 id="u">U</h1>{page}</article>')
    assert list(problems(site, TEXTS)) == [problem]


def test_a_page_that_is_missing_or_that_the_search_lacks_is_found(site: Path) -> None:
    (site / "search.js").write_text("a.html")
    assert list(problems(site, {**TEXTS, "c.md": "# C\n"})) == [
        "b.md: the search does not know it",
        "c.md: there is no page",
    ]


def test_the_comparison_takes_its_numbers_from_where_they_are_measured() -> None:
    from comparison_numbers import rows_below, times

    text = "x\n| CPU | a | b |\n| --- | --- | --- |\n| small | 1× | 12 µs, 3× c's (4.56×) |\n\n| CPU | z |\n"
    assert rows_below("| CPU |", text) == {"small": {"CPU": "small", "a": "1×", "b": "12 µs, 3× c's (4.56×)"}}
    assert (rows_below("| CPU |", ""), times("12 µs, 3× c's (4.56×)"), times("")) == ({}, "4.6×", "?")
    table = (ROOT / "docs/comparison.md").read_text().partition("## Speed")[2]
    assert len(rows_below("|  | clew, default settings |", table)) >= 3
