"""What can be said to `clew chat` beside questions: one row for each command.

A command gets the chat and the rest of its line. It prints to standard output, or gives an answer to be shown.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

import click
from msgspec import Struct

from clew.chat.formats import FORMATS
from clew.cli.chat_pages import branches_page, help_page, turns_page, usage_page
from clew.cli.command import Failed
from clew.cli.export import export_threads
from clew.cli.installation import find_thread, store_for_reading
from clew.cli.output import TextLine, print_page, printable
from clew.cli.talk import EFFORTS, PRINCIPAL, Talk
from clew.errors import RequestInvalid

if TYPE_CHECKING:
    from clew.chat.blocking import Answer

__all__ = ["COMMANDS", "Leave", "completions", "obey"]

Asked = Callable[[str], str]
"""Lets the person edit a text."""


class Leave(Exception):
    """The conversation is over."""


class Command(Struct, frozen=True):
    """How it is said, what it does, who does it, and what may come after it."""

    usage: str
    does: str
    run: Callable[[Talk, str, Asked], Answer | None]
    words: Callable[[Talk], Sequence[str]] = lambda _: ()


# Who answers, and how


def _backends(talk: Talk) -> Sequence[str]:
    return sorted(talk.at.usable.settings.backends)


def _use(talk: Talk, rest: str, asked: Asked) -> None:
    if not rest:
        now = talk.conversation.backend
        print_page([TextLine(printable(f"{'*' if name == now else ' '} {name}")) for name in _backends(talk)])
        return
    name, _, model = rest.partition(" ")
    talk.use(name, model.strip())
    talk.wanted.model = "" if model else talk.wanted.model
    talk.wish()
    _say(f"{name} answers next, with {talk.next_model}")


def _thinking(talk: Talk, rest: str, asked: Asked) -> None:
    wanted = talk.wanted
    if rest in ("on", "off"):
        wanted.thinking = "on" if rest == "on" else "off"
        wanted.show_thinking = wanted.show_thinking and rest == "on"
    elif rest in ("show", "fold"):
        wanted.show_thinking = rest == "show"
        wanted.thinking = "on" if wanted.show_thinking and wanted.thinking == "off" else wanted.thinking
    elif rest:
        raise RequestInvalid(f"/thinking {rest}: it is on, off, show or fold")
    talk.wish()
    how = {"on": "asked for", "off": "switched off, where the model can do without", "": "as the model does by itself"}
    _say(f"thinking: {how[wanted.thinking]}; its text is {'shown' if wanted.show_thinking else 'folded'}")


def _effort(talk: Talk, rest: str, asked: Asked) -> None:
    if rest and rest not in (*EFFORTS, "default"):
        raise RequestInvalid(f"/effort {rest}: it is {', '.join(EFFORTS)}, or default")
    talk.wanted.effort = "" if rest == "default" else rest or talk.wanted.effort
    talk.wish()
    _say(f"effort: {talk.wanted.effort or 'the default of the model'}")


# Where in the conversation


def _branch(talk: Talk, rest: str, asked: Asked) -> None:
    conversation = talk.conversation
    branches = conversation.branches
    if not rest:
        print_page(branches_page(branches, conversation.turns))
        return
    word, _, number = rest.rpartition(" ")
    choices = conversation.turns if word == "turn" else branches
    if word not in ("", "turn") or not number.isdecimal() or not 0 < int(number) <= len(choices):
        raise RequestInvalid(
            f"/branch {rest}: there is no such line; /branch lists them, /branch turn N goes to a turn of this one"
        )
    conversation.branch(choices[int(number) - 1])
    count = len(conversation.turns)
    _say(f"here now: {count} {'turn' if count == 1 else 'turns'}; what you say next goes on from there")


def _retry(talk: Talk, rest: str, asked: Asked) -> Answer:
    talk.wish()
    return talk.conversation.retry()


def _edit(talk: Talk, rest: str, asked: Asked) -> Answer | None:
    turns = talk.conversation.turns
    if not turns:
        raise RequestInvalid("nothing was said yet, so there is nothing to edit")
    content = turns[-1].asked[-1].get("content") if turns[-1].asked else ""
    text = rest or asked(content if isinstance(content, str) else "")
    if not text.strip():
        return None
    talk.wish()
    return talk.conversation.edit(turns[-1], text)


# What there is of it


def _show(talk: Talk, rest: str, asked: Asked) -> None:
    print_page(turns_page(talk.conversation.turns, thinking=rest == "thinking"))


def _title(talk: Talk, rest: str, asked: Asked) -> None:
    if rest:
        talk.conversation.rename(rest)
    _say(talk.conversation.title or "it has no title yet: it gets one from what you say first")


def _usage(talk: Talk, rest: str, asked: Asked) -> None:
    print_page(usage_page([talk.summary(turn) for turn in talk.conversation.turns if turn.usage]))


def _export(talk: Talk, rest: str, asked: Asked) -> None:
    name, _, file = rest.partition(" ")
    if name not in FORMATS or not file.strip():
        raise RequestInvalid(f"/export FORMAT FILE: the formats are {', '.join(FORMATS)}")
    with store_for_reading(talk.at) as store:
        if store is None or not talk.conversation.turns:
            raise RequestInvalid("nothing was said yet, so there is nothing to export")
        thread = find_thread(store, PRINCIPAL, talk.conversation.thread)
        notes = export_threads(store, iter([thread]), FORMATS[name], file.strip())
    _say(f"written to {file.strip()}")
    print_page([TextLine(printable(note), "quiet") for note in notes])


def _help(talk: Talk, rest: str, asked: Asked) -> None:
    print_page(help_page([(each.usage, each.does) for each in COMMANDS.values()]))


def _quit(talk: Talk, rest: str, asked: Asked) -> None:
    raise Leave


COMMANDS: Final[Mapping[str, Command]] = {
    "use": Command("/use [NAME [MODEL]]", "Let another backend answer in this chat; or list them.", _use, _backends),
    "thinking": Command(
        "/thinking on|off|show|fold",
        "Ask for thinking or not; show its text, or only a count.",
        _thinking,
        lambda _: ("on", "off", "show", "fold"),
    ),
    "effort": Command("/effort LEVEL", "How hard to think.", _effort, lambda _: (*EFFORTS, "default")),
    "branch": Command(
        "/branch [N | turn N]", "List the lines of this conversation; go to one, or back to a turn of this one.", _branch
    ),
    "retry": Command("/retry", "Ask the last question again; an answer that is there stays, as a branch.", _retry),
    "edit": Command("/edit [TEXT]", "Ask the last question differently; the old one stays, as a branch.", _edit),
    "export": Command("/export FORMAT FILE", "Write the conversation to a file.", _export, lambda _: tuple(FORMATS)),
    "show": Command("/show [thinking]", "Show the conversation so far.", _show, lambda _: ("thinking",)),
    "title": Command("/title [TEXT]", "Say or change its title.", _title),
    "usage": Command("/usage", "What it took so far: tokens, cost, cache.", _usage),
    "help": Command("/help", "This list.", _help),
    "quit": Command("/quit", "Leave; Ctrl-D does too.", _quit),
}
"""Every command, by its name."""


def obey(talk: Talk, line: str, asked: Asked) -> Answer | None:
    """Do what a line that begins with a slash says. Raises Leave, RequestInvalid for what cannot be done, and ClewError."""
    name, _, rest = line.removeprefix("/").partition(" ")
    if name not in COMMANDS:
        near = difflib.get_close_matches(name, COMMANDS, 1)
        hint = f"is /{near[0]} meant? " if near else ""
        raise RequestInvalid(
            f"there is no /{name}; {hint}/help lists what there is, and //… says a line that begins with a slash"
        )
    try:
        return COMMANDS[name].run(talk, rest.strip(), asked)
    except (Failed, click.UsageError) as error:
        raise RequestInvalid(error.message) from error


def completions(talk: Talk, line: str) -> list[str]:
    """What the word at the end of this line may become."""
    if not line.startswith("/"):
        return []
    *before, word = line.split(" ")
    if not before:
        return [f"/{name}" for name in COMMANDS if f"/{name}".startswith(word)]
    command = COMMANDS.get(before[0].removeprefix("/"))
    choices = command.words(talk) if command and len(before) == 1 else ()
    return [choice for choice in choices if choice.startswith(word)]


def _say(text: str) -> None:
    print_page([TextLine(printable(text), "quiet")])
