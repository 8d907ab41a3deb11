"""The commands of `clew chat`: lines that begin with a slash. One function for each command.

A command gets the conversation and the rest of its line. It prints to standard output, or gives an answer to be shown.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, TypeAlias

import click
from msgspec import Struct

from clew.chat.formats import FORMATS
from clew.cli.command import Failed
from clew.cli.conversation import EFFORTS, PRINCIPAL, OpenConversation
from clew.cli.export import export_threads
from clew.cli.installation import find_thread, store_for_reading
from clew.cli.output import TextLine, TextTable, plural, print_page, printable
from clew.cli.threads import Shows, message_lines
from clew.errors import RequestInvalid
from clew.store.text import CUT_OFF, format_time

if TYPE_CHECKING:
    from clew.chat.blocking import Answer
    from clew.chat.display import AnswerSummary


KEYS: Final = (
    ("\\ at the end of a line", "The text continues in the next line."),
    ('""" … """', "A text of several lines."),
    ("//…", "Send a line that begins with a slash."),
    ("Ctrl-C", "Stop the answer, and keep what was finished; twice at the prompt: leave."),
    ("Ctrl-D", "Leave."),
)
NOTHING: Final = TextLine("Nothing was asked yet.", "quiet")

_WIDEST: Final = 60

Edit: TypeAlias = Callable[[str], str]
"""Lets the person edit a text."""


class Leave(Exception):
    """The conversation is over."""


RunCommand: TypeAlias = "Callable[[OpenConversation, str, Edit], Answer | None]"
"""Gets the rest of the line, and how to let the person edit a text."""
WordsAfter: TypeAlias = Callable[[OpenConversation], Sequence[str]]


class Command(Struct, frozen=True):
    """How the command is written, what it does, the function that does it, and the words that may come after it."""

    usage: str
    does: str
    run: RunCommand
    words: WordsAfter


COMMANDS: Final[dict[str, Command]] = {}
"""Every command, by its name: each function below adds its own."""


def _command(usage: str, does: str, words: WordsAfter = lambda _: ()) -> Callable[[RunCommand], RunCommand]:
    def add(run: RunCommand) -> RunCommand:
        COMMANDS[usage.split()[0].removeprefix("/")] = Command(usage, does, run, words)
        return run

    return add


def run_command(opened: OpenConversation, line: str, edit: Edit) -> Answer | None:
    """Run the command of this line. Raises Leave, RequestInvalid if it cannot be done, and other ClewErrors."""
    name, _, rest = line.removeprefix("/").partition(" ")
    if name not in COMMANDS:
        near = difflib.get_close_matches(name, COMMANDS, 1)
        hint = f"is /{near[0]} meant? " if near else ""
        raise RequestInvalid(
            f"there is no /{name}; {hint}/help lists the commands; to send a line that begins with a slash, begin it with //"
        )
    try:
        return COMMANDS[name].run(opened, rest.strip(), edit)
    except (Failed, click.UsageError) as error:
        raise RequestInvalid(error.message) from error


def completions(opened: OpenConversation, line: str) -> list[str]:
    """What the word at the end of this line may become."""
    if not line.startswith("/"):
        return []
    *before, word = line.split(" ")
    if not before:
        return [f"/{name}" for name in COMMANDS if f"/{name}".startswith(word)]
    command = COMMANDS.get(before[0].removeprefix("/"))
    choices = command.words(opened) if command and len(before) == 1 else ()
    return [choice for choice in choices if choice.startswith(word)]


def _print_note(text: str) -> None:
    print_page([TextLine(printable(text), "quiet")])


# Who answers, and how


def _backends(opened: OpenConversation) -> Sequence[str]:
    return sorted(opened.installation.usable.settings.backends)


@_command("/use [NAME [MODEL]]", "Switch this chat to another backend; or list the backends.", _backends)
def _use(opened: OpenConversation, rest: str, edit: Edit) -> None:
    if not rest:
        now = opened.conversation.backend
        print_page([TextLine(printable(f"{'*' if name == now else ' '} {name}")) for name in _backends(opened)])
        return
    name, _, model = rest.partition(" ")
    opened.use(name, model.strip())
    opened.options.model = "" if model else opened.options.model
    opened.apply_options()
    _print_note(f"{name} gives the next answer, with {opened.next_model}")


@_command(
    "/thinking on|off|show|fold",
    "Ask for thinking or not; show its text, or only a count.",
    lambda _: ("on", "off", "show", "fold"),
)
def _thinking(opened: OpenConversation, rest: str, edit: Edit) -> None:
    options = opened.options
    if rest in ("on", "off"):
        options.thinking = "on" if rest == "on" else "off"
        options.show_thinking = options.show_thinking and rest == "on"
    elif rest in ("show", "fold"):
        options.show_thinking = rest == "show"
        options.thinking = "on" if options.show_thinking and options.thinking == "off" else options.thinking
    elif rest:
        raise RequestInvalid(f"/thinking {rest}: choose on, off, show or fold")
    opened.apply_options()
    how = {"on": "asked for", "off": "off, if the model allows that", "": "the model's default"}
    _print_note(f"thinking: {how[options.thinking]}; its text is {'shown' if options.show_thinking else 'folded'}")


@_command("/effort LEVEL", "How hard to think.", lambda _: (*EFFORTS, "default"))
def _effort(opened: OpenConversation, rest: str, edit: Edit) -> None:
    if rest and rest not in (*EFFORTS, "default"):
        raise RequestInvalid(f"/effort {rest}: choose {', '.join(EFFORTS)}, or default")
    opened.options.effort = "" if rest == "default" else rest or opened.options.effort
    opened.apply_options()
    _print_note(f"effort: {opened.options.effort or 'the default of the model'}")


# Where in the conversation


@_command("/branch [N | turn N]", "List the branches of this conversation; go to one, or back to a turn.")
def _branch(opened: OpenConversation, rest: str, edit: Edit) -> None:
    conversation = opened.conversation
    branches = conversation.branches
    if not rest:
        here = conversation.turns[-1].id if conversation.turns else ""
        rows: list[tuple[str, ...]] = []
        for number, turn in enumerate(branches, 1):  # each by what was asked last in it
            texts = [line.text.strip() for message in turn.asked for line in message_lines(message.get("content"), Shows())]
            words = " ".join(texts)
            short = words if len(words) <= _WIDEST else words[: _WIDEST - 1] + "…"
            by = printable(f"{turn.backend}, {turn.model}" if turn.answer else f"nobody ({turn.outcome})")
            rows.append(("*" if turn.id == here else "", str(number), format_time(turn.at), short, by))
        table = TextTable(("", "line", "last said", "", "answered by"), tuple(rows))
        print_page([table, TextLine("Go to one with /branch N.", "quiet")] if rows else [NOTHING])
        return
    word, _, number = rest.rpartition(" ")
    choices = conversation.turns if word == "turn" else branches
    if word not in ("", "turn") or not number.isdecimal() or not 0 < int(number) <= len(choices):
        raise RequestInvalid(
            f"/branch {rest}: there is no such branch; /branch lists the branches, /branch turn N goes to a turn of this one"
        )
    conversation.branch(choices[int(number) - 1])
    _print_note(f"here now: {plural(len(conversation.turns), 'turn')}; your next question continues from there")


@_command("/retry", "Ask the last question again; the old answer stays, as a branch.")
def _retry(opened: OpenConversation, rest: str, edit: Edit) -> Answer:
    opened.apply_options()
    return opened.conversation.retry()


@_command("/edit [TEXT]", "Ask the last question differently; the old one stays, as a branch.")
def _edit(opened: OpenConversation, rest: str, edit: Edit) -> Answer | None:
    turns = opened.conversation.turns
    if not turns:
        raise RequestInvalid("nothing was asked yet, so there is nothing to edit")
    content = turns[-1].asked[-1].get("content") if turns[-1].asked else ""
    text = rest or edit(content if isinstance(content, str) else "")
    if not text.strip():
        return None
    opened.apply_options()
    return opened.conversation.edit(turns[-1], text)


# What there is of it


@_command("/export FORMAT FILE", "Write the conversation to a file.", lambda _: tuple(FORMATS))
def _export(opened: OpenConversation, rest: str, edit: Edit) -> None:
    name, _, file = rest.partition(" ")
    if name not in FORMATS or not file.strip():
        raise RequestInvalid(f"/export FORMAT FILE: the formats are {', '.join(FORMATS)}")
    with store_for_reading(opened.installation) as store:
        if store is None or not opened.conversation.turns:
            raise RequestInvalid("nothing was asked yet, so there is nothing to export")
        thread = find_thread(store, PRINCIPAL, opened.conversation.thread)
        notes = export_threads(store, [thread], FORMATS[name], file.strip())
    _print_note(f"written to {file.strip()}")
    print_page([TextLine(printable(note), "quiet") for note in notes])


@_command("/show [thinking]", "Show the conversation so far.", lambda _: ("thinking",))
def _show(opened: OpenConversation, rest: str, edit: Edit) -> None:
    shows, page = Shows(thinking=rest == "thinking"), list[TextLine]()
    for number, turn in enumerate(opened.conversation.turns, 1):
        page.append(TextLine(f"turn {number}, {format_time(turn.at)}", "head"))
        for message in turn.asked:
            page += message_lines(message.get("content"), shows)
        if turn.answer is None:
            page.append(TextLine(f"no answer ({turn.outcome})", "bad"))
            continue
        ending = "" if turn.outcome == "whole" else f", {turn.ending or CUT_OFF}"
        page.append(TextLine(printable(f"{turn.backend}, {turn.model}{ending}"), "head"))
        page += message_lines(turn.answer.raw_content, shows)
    print_page(page or [NOTHING])


@_command("/title [TEXT]", "Show or change the title.")
def _title(opened: OpenConversation, rest: str, edit: Edit) -> None:
    if rest:
        opened.conversation.rename(rest)
    _print_note(opened.conversation.title or "it has no title yet: your first question becomes the title")


@_command("/usage", "Show the tokens, cost and cache use so far.")
def _usage(opened: OpenConversation, rest: str, edit: Edit) -> None:
    from clew.chat.display.summary import total_of

    summaries = [opened.summary(turn) for turn in opened.conversation.turns if turn.usage]
    if not summaries:
        print_page([TextLine("Nothing was used yet.", "quiet")])
        return
    rows = [(str(number), *_usage_cells(summary)) for number, summary in enumerate(summaries, 1)]
    total = [("all", *_usage_cells(total_of(summaries)))] if len(rows) > 1 else []
    print_page([TextTable(("answer", "in", "cached", "out", "thought", "cost", "by"), (*rows, *total))])


def _usage_cells(summary: AnswerSummary) -> tuple[str, ...]:
    from clew.chat.metrics import Estimate

    usage, thought = summary.usage, summary.thinking
    assert usage is not None, "only answers with token counts are listed"
    about = "≈" if usage.estimated else ""
    tokens = thought.tokens if isinstance(thought, Estimate) else thought
    return (
        f"{usage.prompt:,}",
        "" if summary.efficiency is None else f"{summary.efficiency:.0f} %",
        f"{about}{usage.output:,}",
        "" if tokens is None else f"{'≈' if isinstance(thought, Estimate) else ''}{tokens:,}",
        "not known" if summary.cost is None else str(summary.cost),
        printable(summary.backend),
    )


@_command("/help", "This list.")
def _help(opened: OpenConversation, rest: str, edit: Edit) -> None:
    rows = [(each.usage, each.does) for each in COMMANDS.values()]
    print_page([TextTable(("say", "to"), (*rows, *KEYS))])


@_command("/quit", "Leave; Ctrl-D does too.")
def _quit(opened: OpenConversation, rest: str, edit: Edit) -> None:
    raise Leave
