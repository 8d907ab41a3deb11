"""A page on a terminal: what is short stays in one piece, and nothing is lost."""

import io
import re

import pytest

from clew.cli.output import TextTable, print_page

THREADS = TextTable(
    ("thread", "last used", "turns", "agent", "stays with", "begins with"),
    (("1a1e88d", "08:09:35", "8", "", "", "Say hello"), ("1a1e88a", "08:06:11", "1", "", "", "hi")),
)
BACKENDS = TextTable(("backend", "realm", "url"), (("deepseek", "deepseek", "http://127.0.0.1:2643/v1/and/a/path"),))
MANY = TextTable(tuple(f"column {number}" for number in range(9)), (tuple("0123456789" for _ in range(9)),))


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch):
    def lines(table: TextTable, width: int) -> list[str]:
        monkeypatch.setenv("COLUMNS", str(width))
        monkeypatch.setenv("TERM", "xterm")
        print_page([table], terminal := Terminal())
        return [line.rstrip() for line in re.sub(r"\x1b\[[0-9;]*m", "", terminal.getvalue()).splitlines()]

    return lines


def test_a_narrow_terminal_breaks_no_time_and_no_name(shown) -> None:
    assert shown(THREADS, 60) == [
        "thread   last used  turns  agent  stays with  begins with",
        "1a1e88d  08:09:35   8                         Say hello",
        "1a1e88a  08:06:11   1                         hi",
    ]


def test_what_is_long_is_folded_where_it_must_be(shown) -> None:
    head, first, *rest = shown(BACKENDS, 50)
    assert (head.split(), first.split()[:2]) == (["backend", "realm", "url"], ["deepseek", "deepseek"])
    assert first.split()[2] + "".join(line.strip() for line in rest) == "http://127.0.0.1:2643/v1/and/a/path"


def test_where_nothing_fits_every_character_is_still_there(shown) -> None:
    text = "".join(shown(MANY, 40))
    assert [text.count(digit) for digit in "9"] == [9]
