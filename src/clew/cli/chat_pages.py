"""What `clew chat` shows on request: the conversation so far, its lines, what it took, and the commands."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from clew.cli.output import Page, TextLine, TextTable, printable
from clew.cli.threads import Shows, message_lines
from clew.store.text import CUT_OFF, format_time

if TYPE_CHECKING:
    from clew.chat.display import AnswerSummary
    from clew.chat.turns import Turn

__all__ = ["branches_page", "help_page", "turns_page", "usage_page", "words_of"]

_WIDEST = 60

KEYS = (
    ("\\ at the end of a line", "The next line belongs to it."),
    ('""" … """', "A text of several lines."),
    ("//…", "Say a line that begins with a slash."),
    ("Ctrl-C", "Stop the answer, and keep what was finished; twice at the prompt: leave."),
    ("Ctrl-D", "Leave."),
)


def help_page(rows: Sequence[tuple[str, str]]) -> Page:
    return [TextTable(("say", "to"), (*rows, *KEYS))]


def turns_page(turns: Sequence[Turn], *, thinking: bool) -> Page:
    """As it was said, each turn with its number."""
    return [line for number, turn in enumerate(turns, 1) for line in _turn(number, turn, thinking)] or [_NOTHING]


_NOTHING = TextLine("Nothing was said yet.", "quiet")


def _turn(number: int, turn: Turn, thinking: bool) -> Iterator[TextLine]:
    yield TextLine(f"turn {number}, {format_time(turn.at)}", "head")
    for message in turn.asked:
        yield from message_lines(message.get("content"), Shows(thinking))
    if turn.answer is None:
        yield TextLine(f"no answer ({turn.outcome})", "bad")
        return
    ending = "" if turn.outcome == "whole" else f", {turn.ending or CUT_OFF}"
    yield TextLine(printable(f"{turn.backend}, {turn.model}{ending}"), "head")
    yield from message_lines(turn.answer.raw_content, Shows(thinking))


def branches_page(branches: Sequence[Turn], line: Sequence[Turn]) -> Page:
    """The lines, by what was said last in each; a star for the one that we are in."""
    if not branches:
        return [_NOTHING]
    here = line[-1].id if line else ""
    rows = [_branch(number, turn, here) for number, turn in enumerate(branches, 1)]
    return [
        TextTable(("", "line", "last said", "", "answered by"), tuple(rows)),
        TextLine("Go to one with /branch N.", "quiet"),
    ]


def _branch(number: int, turn: Turn, here: str) -> tuple[str, ...]:
    answered = f"{turn.backend}, {turn.model}" if turn.answer else f"nobody ({turn.outcome})"
    return ("*" if turn.id == here else "", str(number), format_time(turn.at), words_of(turn), printable(answered))


def words_of(turn: Turn) -> str:
    """The first words of what was asked."""
    texts = [line.text.strip() for message in turn.asked for line in message_lines(message.get("content"), Shows())]
    words = " ".join(texts)
    return words if len(words) <= _WIDEST else words[: _WIDEST - 1] + "…"


def usage_page(summaries: Sequence[AnswerSummary]) -> Page:
    """Each answer, and all of them."""
    if not summaries:
        return [TextLine("Nothing was used yet.", "quiet")]
    rows = [(str(number), *_cells(summary)) for number, summary in enumerate(summaries, 1)]
    total = (("all", *_cells(_total(summaries))),) if len(rows) > 1 else ()
    columns = ("answer", "in", "cached", "out", "thought", "cost", "by")
    return [TextTable(columns, (*rows, *total))]


def _cells(summary: AnswerSummary) -> tuple[str, ...]:
    from clew.chat.counts import Estimate

    usage, thought = summary.usage, summary.thinking
    assert usage is not None, "only answers with a usage are listed"
    about = "≈" if usage.estimated else ""
    tokens = thought.tokens if isinstance(thought, Estimate) else thought
    return (
        f"{usage.input + usage.cache_read + usage.cache_written:,}",
        "" if summary.efficiency is None else f"{summary.efficiency:.0f} %",
        f"{about}{usage.output:,}",
        "" if tokens is None else f"{'≈' if isinstance(thought, Estimate) else ''}{tokens:,}",
        "not known" if summary.cost is None else str(summary.cost),
        printable(summary.backend),
    )


def _total(summaries: Sequence[AnswerSummary]) -> AnswerSummary:
    from clew.chat.display.summary import total_of

    return total_of(summaries)
