"""Markdown and HTML: what people read, and nothing that a page or a terminal would obey."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.chat.formats import FORMATS
from clew.chat.formats.format import reminders_in
from clew.model.turn import TurnRecord
from clew.store.values import Thread
from tests.build import redacted, text, thinking, tool_result, tool_use, user
from tests.chat.formats.stored import exported, stored
from tests.counts import examples
from tests.store.turns import NOON, recorded, turn

THREAD = Thread(id="t", principal="local", session="", agent="", title="A title", pin="", created=0.0, used=0.0, turns=1)


def answered(*blocks: Any, asked: tuple[Any, ...] = (), id: str = "r", **more: Any) -> TurnRecord:
    recording = recorded(id, blocks=tuple(json.dumps(block).encode() for block in blocks), **more)
    made = turn(recording, at=NOON)
    return msgspec.structs.replace(made, asked=tuple(json.dumps(each).encode() for each in asked))


def written(name: str, *turns: TurnRecord, thread: Thread = THREAD) -> str:
    format = FORMATS[name]
    return b"".join([format.head, *format.write(thread, turns), format.foot]).decode()


def test_markdown_quotes_thinking_and_fences_tools() -> None:
    talk = answered(
        thinking("hm\n\nso", "sig"),
        text("**Two** files."),
        tool_use("t", command="```\nls"),
        redacted("data"),
        asked=(user("list"), user(tool_result("t", [text("no"), {"type": "image"}], is_error=True))),
        whole=False,
    )
    assert written("markdown", talk, turn(at=NOON)).splitlines() == [
        "# A title",
        "",
        "## user",
        "",
        "*2027-01-15 07:59:57 UTC*",
        "",
        "list",
        "",
        "## user",
        "",
        "*2027-01-15 07:59:57 UTC*",
        "",
        "**Error**",
        "",
        "```",
        "no",
        "(image)",
        "```",
        "",
        "## claude-opus-5-5 (claude)",
        "",
        "*2027-01-15 08:00:00 UTC, cut off*",
        "",
        "> **Thinking**",
        ">",
        "> hm",
        ">",
        "> so",
        "",
        "**Two** files.",
        "",
        "**Bash**",
        "",
        "````",
        '{"command":"```\\nls"}',
        "````",
        "",
        "*(redacted thinking)*",
        "",
        "## user",
        "",
        "*2027-01-15 07:59:57 UTC*",
        "",
        "secret question",
        "",
        "## no answer",
        "",
        "*2027-01-15 08:00:00 UTC, refused, 400*",
        "",
    ]


def test_a_branch_says_that_it_is_one() -> None:
    first, second = answered(text("one"), id="a"), answered(text("two"), id="b", followed="a")
    third, fourth = answered(text("three"), id="c", followed="a"), answered(text("four"), id="d")
    notes = re.findall(r"UTC(.*)\*", written("markdown", first, second, third, fourth))
    assert notes == ["", "", ", continues from an earlier answer", ", starts a new line"]


class _Page(HTMLParser):
    """The tags and attributes of a page, and its words."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.words: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_data(self, data: str) -> None:
        self.words.append(data)


TAGS = {"html", "head", "meta", "title", "style", "body", "article", "h1", "section", "h2", "small", "pre"}
TAGS |= {"details", "summary", "p"}
ATTRIBUTES = {"lang", "charset", "http-equiv", "content", "name"}

hostile = st.one_of(
    st.text(max_size=30),
    st.sampled_from(
        [
            "<script>alert(1)</script>",
            "</pre></details><img src=https://evil/x onerror=alert(1)>",
            '"><iframe src="javascript:alert(1)">',
            "<!--",
            "]]>",
            "</style><link rel=stylesheet href=//evil>",
            "\x1b]0;owned\x07",
            "&lt;script&gt;",
        ]
    ),
)


@given(hostile, hostile, hostile)
@settings(max_examples=examples(24, soak=800), deadline=None)
def test_nothing_that_anybody_said_becomes_a_tag_of_the_page(one: str, two: str, three: str) -> None:
    talk = answered(
        thinking(one, "s"),
        text(two),
        {"type": two, "name": three},
        {"type": "tool_use", "id": "t", "name": one, "input": {two: three}},
        asked=({"role": one, "content": two}, user(tool_result("t", three))),
    )
    raw = written("html", talk, thread=msgspec.structs.replace(THREAD, title=one, id=two))
    page = _Page()
    page.feed(raw)
    assert page.tags <= TAGS
    assert page.attributes <= ATTRIBUTES
    for name in ("html", "markdown"):
        assert all(char.isprintable() or char in "\n\t" for char in written(name, talk).replace("\ufffd", ""))


def test_the_page_fetches_nothing_and_forbids_itself_to() -> None:
    raw = written("html", answered(text("see https://example.com/a.png")))
    assert "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'" in raw
    assert not re.search(r"(?:src|href|url|@import)\s*[=(]", raw)


@pytest.mark.parametrize("name", ["markdown", "html"])
def test_what_is_for_people_cannot_be_imported(name: str) -> None:
    assert FORMATS[name].read is None
    assert "cannot be imported" in FORMATS[name].does


@pytest.mark.parametrize("name", ["markdown", "html"])
def test_counts_of_tokens_are_no_part_of_a_conversation(tmp_path: Path, name: str) -> None:
    count = turn(at=NOON, exchange="c", kind="count_tokens")
    count = msgspec.structs.replace(count, asked=())
    with stored(tmp_path / "a.db", turn(recorded("r")), count) as store:
        assert exported(store, name).decode().count("secret question") == 1
        assert "no answer" not in exported(store, name).decode()


def test_reminders_are_found_and_beginnings_without_an_end_are_passed_over() -> None:
    """One look at the whole text for each beginning would be hours of work here."""
    begin, end = "<system-reminder>", "</system-reminder>"
    text = f"a{begin}b{end}c{begin}{end}" + begin * 300_000
    assert [found[1] for found in reminders_in(text)] == ["b", ""]
    assert list(reminders_in(begin * 300_000)) == []
    (one,) = reminders_in(begin * 300_000 + end + "x")
    assert one.span() == (0, len(begin) * 300_000 + len(end))
