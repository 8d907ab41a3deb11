"""Conversations and exchanges as lines and tables for a terminal.

Of a message: who said what, with thinking, tools and asides folded. Of a projection: the same, with each change and its
reason. Of a thread: its branches. Then lists of threads and of search hits, and the lines of one exchange. What models and
tools wrote is untrusted text: each line of it is made printable, so that no escape in it reaches the terminal.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

import msgspec

from clew.cli.output import Page, TextLine, TextTable, printable, printable_table
from clew.model.change import Change
from clew.model.json import JsonObject, JsonValue
from clew.model.texts import aside_in
from clew.model.turn import Exchange
from clew.store.text import exchange_details, exchange_line, format_time, texts_asked
from clew.store.thread_clients import ThreadWithClients
from clew.store.values import Branch, Hit, Passage

MOST_BRANCHES: Final = 20
NOTHING: Final = "No conversation was recorded yet. Begin with `clew run -- claude`, or point a client at `clew serve`."
NOT_FOUND: Final = "No conversation contains all these words. (If the settings say `content = false`, no text is kept.)"
SHORT: Final = 160
"""Characters of a tool's input or result that are shown."""

_WIDEST: Final = 60
_MARKS: Final[Mapping[str, str]] = {"left out": "-", "removed": "-", "restored": "+", "added": "+"}


_GONE: Final = ("left out", "removed")


class Shows(NamedTuple):
    """What is shown in full. Without these, thinking and asides are one line each."""

    thinking: bool = False
    asides: bool = False


# One exchange, one message, one projection


def exchange_lines(exchange: Exchange) -> list[TextLine]:
    """The head, and below it the details. `--json` has each change; these lines group them."""
    head = TextLine(exchange_line(exchange), "" if exchange.outcome == "whole" else "bad")
    return [head, *(TextLine(f"    {text}", "quiet") for text in exchange_details(exchange))]


def message_lines(content: JsonValue, shows: Shows, role: str = "") -> Iterator[TextLine]:
    """What one message says."""
    for block in _blocks(content):
        yield from _block_lines(block, shows, role)


def changed_lines(messages: Sequence[JsonObject], changes: Iterable[Change], shows: Shows) -> Iterator[TextLine]:
    """The client's messages, each change at its place with its reason."""
    by_message: dict[str, dict[str, list[Change]]] = {}
    for change in changes:  # a change inside a block belongs to the block
        parts = change.path.split(".")
        by_message.setdefault(".".join(parts[:2]), {}).setdefault(".".join(parts[:4]), []).append(change)
    for index, message in enumerate(messages):
        path, role = f"messages.{index}", str(message.get("role"))
        by_block = by_message.pop(path, {})
        yield TextLine(f"{printable(role)} ({path})", "head")
        yield from _reasons(by_block.pop(path, ()))
        for number, block in enumerate(_blocks(message.get("content"))):
            here = by_block.pop(f"{path}.content.{number}", ())
            yield from _reasons(here)
            if any(change.what in _GONE for change in here):  # beside its reason, so that nobody takes it for sent
                yield from (TextLine(f"    not sent:{line.text[1:]}", "quiet") for line in _block_lines(block, shows, role))
            else:
                yield from _block_lines(block, shows, role)
        yield from _reasons(change for rest in by_block.values() for change in rest)
    yield from _reasons(change for rest in by_message.values() for here in rest.values() for change in here)


def _reasons(changes: Iterable[Change]) -> Iterator[TextLine]:
    for change in changes:
        mark = _MARKS.get(change.what, "~")
        text = printable(f"  {mark} {change.what} at {change.path}: {change.why}")
        yield TextLine(text, "bad" if mark == "-" else "good")


def _blocks(content: JsonValue) -> list[JsonObject]:
    if isinstance(content, list):
        return [block if isinstance(block, dict) else {"type": "text", "text": str(block)} for block in content]
    return [{"type": "text", "text": str(content or "")}]


def _block_lines(block: JsonObject, shows: Shows, role: str) -> Iterator[TextLine]:
    kind = str(block.get("type"))
    if kind == "text":
        text = str(block.get("text", ""))
        aside = "" if shows.asides else aside_in(text, role)
        yield from [TextLine(f"  ({aside}, {len(text):,} characters)", "quiet")] if aside else _text_lines(text)
    elif kind == "thinking":
        text = str(block.get("thinking", ""))
        yield TextLine(f"  (thinking, {f'{len(text):,} characters' if text else 'without its text'})", "quiet")
        if shows.thinking:
            yield from (TextLine(f"  {line.text}", "quiet") for line in _text_lines(text))
    elif kind.endswith("tool_use"):
        given = msgspec.json.encode(block.get("input")).decode()
        yield TextLine(f"  → {printable(str(block.get('name')))} {_shortened(given)}")
    elif kind.endswith("tool_result"):
        said = " ".join(str(each.get("text", f"({each.get('type')})")) for each in _blocks(block.get("content")))
        yield TextLine(f"  ← {_shortened(said)}", "bad" if block.get("is_error") else "")
    else:
        yield TextLine(f"  ({printable(kind.replace('_', ' '))})", "quiet")


def _text_lines(text: str) -> Iterator[TextLine]:
    return (TextLine(f"  {printable(line)}") for line in text.splitlines())


def _shortened(text: str) -> str:
    shown = printable(text[:SHORT])
    return f"{shown}… ({len(text):,} characters)" if len(text) > SHORT else shown


# Lists of threads


def threads_page(threads: Sequence[ThreadWithClients]) -> Page:
    """The threads that were used last."""
    if not threads:
        return [TextLine(NOTHING, "quiet")]
    length = _id_length([thread.id for thread in threads])
    is_named = any(each.clients for each in threads)
    rows = [
        (
            *(each.id[:length], format_time(each.used), str(each.turns), each.agent),
            *([", ".join(each.clients)] if is_named else []),
            *(each.pin, each.title),
        )
        for each in threads
    ]
    columns = ("thread", "last used", "turns", "agent", *(["client"] if is_named else []), "stays with", "begins with")
    return [
        _narrow_table(columns, rows),
        TextLine(""),
        TextLine(
            "Read one with `clew show THREAD`; `clew show THREAD --as BACKEND` shows what a backend would get.", "quiet"
        ),
    ]


def hits_page(hits: Sequence[Hit]) -> Page:
    """The threads in which words were found. Of each snippet, so much that the first found word is in it."""
    if not hits:
        return [TextLine(NOT_FOUND, "quiet")]
    length = _id_length([hit.thread for hit in hits])
    rows: list[tuple[str, ...]] = []
    for hit in hits:
        start = max(0, hit.marks[0][0] - _WIDEST // 2) if hit.marks else 0
        found = ("…" if start else "") + hit.snippet[start:]
        rows.append((hit.thread[:length], format_time(hit.at), hit.title, found))
    return [_narrow_table(("thread", "when", "begins with", "found"), rows)]


def _narrow_table(columns: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> TextTable:
    return printable_table(columns, ((cell[:_WIDEST] for cell in row) for row in rows))


def _id_length(ids: Sequence[str]) -> int:
    """How many characters tell the ids apart, and six at least."""
    length = 6
    while len({id[:length] for id in ids}) < len(set(ids)):
        length += 1
    return length


# Branches of a thread


def branch_numbers(branches: Sequence[Branch]) -> dict[str, int]:
    """The number of the branch that each exchange is in; the first has 1."""
    return {exchange: number for number, branch in enumerate(branches, 1) for exchange in branch.exchanges}


def branch_lines(branches: Sequence[Branch], thread: str, passages: Sequence[Passage]) -> Iterator[TextLine | TextTable]:
    """The branches as a table. Nothing for a conversation that has only one."""
    if len(branches) < 2:
        return
    first_words = {passage.exchange: " ".join(" ".join(texts_asked(passage.asked)).split()) for passage in passages}
    numbers = branch_numbers(branches)
    rows: list[tuple[str, ...]] = []
    for number, branch in enumerate(branches[:MOST_BRANCHES], 1):
        after = str(numbers[branch.after]) if branch.after in numbers else ""
        other = f"{branch.agent or 'fork'}, {branch.thread}" if branch.thread != thread else ""
        begins = first_words.get(branch.exchanges[0], "")
        rows.append((str(number), after, str(len(branch.exchanges)), format_time(branch.ended), other, begins))
    yield _narrow_table(("branch", "after", "turns", "ended", "agent, thread", "begins with"), rows)
    if len(branches) > MOST_BRANCHES:
        yield TextLine(f"  … and {len(branches) - MOST_BRANCHES} more; `--json` has them all", "quiet")
    yield TextLine("")
