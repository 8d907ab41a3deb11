"""Conversations as lists: the last used, those in which words were found, and the branches of one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from clew.cli.exchange_lines import at_time
from clew.cli.pages import Line, Page, Table, printable
from clew.store.texts import texts_asked
from clew.store.values import Branch, Hit, Passage, Thread

__all__ = ["branch_lines", "found_page", "numbered", "threads_page"]

MOST_BRANCHES: Final = 20
NOTHING: Final = "No conversation was recorded yet. Begin with `clew run -- claude`, or point a client at `clew serve`."
NOT_FOUND: Final = "No conversation has all these words. What was said is kept unless the settings say `content = false`."

_WIDEST: Final = 60


def threads_page(threads: Sequence[Thread]) -> Page:
    if not threads:
        return [Line(NOTHING, "quiet")]
    length = enough([thread.id for thread in threads])
    rows = [(each.id[:length], at_time(each.used), str(each.turns), each.agent, each.pin, each.title) for each in threads]
    return [
        _table(("thread", "last used", "turns", "agent", "stays with", "begins with"), rows),
        Line(""),
        Line("Read one with `clew show THREAD`; `clew show THREAD --as BACKEND` shows what a backend would get.", "quiet"),
    ]


def found_page(hits: Sequence[Hit]) -> Page:
    if not hits:
        return [Line(NOT_FOUND, "quiet")]
    length = enough([hit.thread for hit in hits])
    rows = [(hit.thread[:length], at_time(hit.at), hit.title, _around(hit)) for hit in hits]
    return [_table(("thread", "when", "begins with", "found"), rows)]


def _around(hit: Hit) -> str:
    """So much of the snippet that the first word which was found is in it."""
    at = hit.marks[0][0] if hit.marks else 0
    start = max(0, at - _WIDEST // 2) if at > _WIDEST // 2 else 0
    return ("…" if start else "") + hit.snippet[start:]


def _table(columns: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> Table:
    return Table(columns, tuple(tuple(printable(cell[:_WIDEST]) for cell in row) for row in rows))


def enough(ids: Sequence[str]) -> int:
    """How many characters tell them apart, and six at least."""
    length = 6
    while len({id[:length] for id in ids}) < len(set(ids)):
        length += 1
    return length


# Branches


def numbered(branches: Sequence[Branch]) -> dict[str, int]:
    """The number of the branch that each exchange is in; the first has 1."""
    return {exchange: number for number, branch in enumerate(branches, 1) for exchange in branch.exchanges}


def branch_lines(branches: Sequence[Branch], thread: str, passages: Sequence[Passage]) -> Iterator[Line | Table]:
    """Nothing for a conversation that has only one."""
    if len(branches) < 2:
        return
    words = {passage.exchange: _first_words(passage) for passage in passages}
    numbers = numbered(branches)
    rows = [_row(number, branch, thread, numbers, words) for number, branch in enumerate(branches[:MOST_BRANCHES], 1)]
    yield _table(("branch", "after", "turns", "ended", "agent, thread", "begins with"), rows)
    if len(branches) > MOST_BRANCHES:
        yield Line(f"  … and {len(branches) - MOST_BRANCHES} more; `--json` has them all", "quiet")
    yield Line("")


def _row(number: int, branch: Branch, thread: str, numbers: Mapping[str, int], words: Mapping[str, str]) -> tuple[str, ...]:
    after = str(numbers[branch.after]) if branch.after in numbers else ""
    other = f"{branch.agent or 'fork'}, {branch.thread}" if branch.thread != thread else ""
    begins = words.get(branch.exchanges[0], "")
    return (str(number), after, str(len(branch.exchanges)), at_time(branch.ended), other, begins)


def _first_words(passage: Passage) -> str:
    return " ".join(" ".join(texts_asked(passage.asked)).split())
