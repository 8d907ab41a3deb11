"""`clew chat`: a conversation in the terminal, or in a pipe: then each line is a question."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Final

import click

from clew.cli import INTERRUPTED
from clew.cli.answering import aside, say_summary, shown, unechoed, what_is_kept
from clew.cli.chat_commands import COMMANDS, Leave, completions, obey
from clew.cli.chat_input import Prompt
from clew.cli.command import error_text, report_errors
from clew.cli.output import printable
from clew.cli.talk import Talk, Wanted, talk
from clew.cli.wanting import wanting
from clew.errors import ClewError

if TYPE_CHECKING:
    from clew.chat.blocking import Answer

__all__ = ["chat"]

_HISTORY: Final = "chat_history"
_COMMANDS: Final = "\n".join(["\b", "Commands:", *(f"  {row.usage:28}{row.does}" for row in COMMANDS.values())])


@click.command(short_help="Hold a conversation in the terminal.", epilog=_COMMANDS)
@wanting
@click.option("--thread", metavar="THREAD", default="", help="Go on with this conversation: how its id begins, or `last`.")
@click.option("--last", is_flag=True, help="Go on with the conversation that was used last.")
def chat(wanted: Wanted, thread: str, last: bool) -> None:
    """Talk with a model. Everything is kept, and can be gone on with later.

    Lines that begin with a slash are commands; Tab completes them. A backslash at the end of a line, or three quotation
    marks around a text, make a question of several lines. Ctrl-C stops the answer and keeps what was finished; twice at the
    prompt, or Ctrl-D, it leaves. Without a terminal, each line of standard input is a question, and the first that fails
    ends it.

    \b
    Examples:
      clew chat
      clew chat --last
      clew chat --thread 0199a3 --backend glm
      clew chat --model claude-opus-5-5 --effort high --show-thinking
      printf 'Name a colour.\\nAnother one.\\n' | clew chat -q

    Exit status: 0 ok, 1 failed, 2 wrong usage or unknown name, 3 the backend failed, 4 it refused the key, 5 the config
    cannot be used.
    """
    if thread and last:
        raise click.UsageError("--last is a thread already: leave --thread out.")
    wanted.thread = "last" if last else thread
    wanted.on_overflow = "compact"
    with report_errors(), talk(wanted) as open_talk:
        code = _Chat(open_talk).run()
    click.get_current_context().exit(code)


class _Chat:
    """The loop: read, obey or ask, and again."""

    def __init__(self, open_talk: Talk) -> None:
        self._talk = open_talk
        home = open_talk.at.home.make()
        self._prompt = Prompt(home.root / _HISTORY, lambda line: completions(open_talk, line))

    def run(self) -> int:
        self._talk.wish()
        self._greet()
        try:
            while True:
                self._turn(self._read())
        except (EOFError, Leave):
            return 0
        except KeyboardInterrupt:
            return INTERRUPTED
        finally:
            self._part()

    def _greet(self) -> None:
        conversation = self._talk.conversation
        if not self._prompt.is_live or self._talk.wanted.quiet:
            return
        aside(printable(f"{conversation.backend}, {self._talk.next_model} · /help lists commands, Ctrl-D leaves"))
        if turns := conversation.turns:
            count = f"{len(turns)} {'turn' if len(turns) == 1 else 'turns'}"
            aside(printable(f"going on with “{conversation.title}”: {count}, /show shows them"))

    def _part(self) -> None:
        conversation = self._talk.conversation
        if self._prompt.is_live and conversation.turns:
            aside(f"kept; come back with `clew chat --thread {conversation.thread}`")

    def _read(self) -> str:
        """The next line. Ctrl-C throws away what was typed, and twice it leaves."""
        try:
            return self._prompt.read("\n> " if self._prompt.is_live else "")
        except KeyboardInterrupt:
            if not self._prompt.is_live:
                raise
            aside("\nCtrl-C again leaves, and so does Ctrl-D")
        try:
            return self._prompt.read("> ")
        except KeyboardInterrupt:
            click.echo(err=True)
            raise Leave from None

    def _turn(self, line: str) -> None:
        if not line.strip():
            return
        try:
            self._go_on()
            if (answer := self._asked(line)) is not None:
                with unechoed():
                    self._show(answer)
        except ClewError as error:
            if not self._prompt.is_live:
                raise
            self._regret(error)
        except KeyboardInterrupt:  # too late to stop an answer, and nobody said that it leaves
            if not self._prompt.is_live:
                raise
            aside("")

    def _asked(self, line: str) -> Answer | None:
        """What a line asks for: an answer, or what a command does."""
        if line.startswith("/") and not line.startswith("//"):
            return obey(self._talk, line, self._edited)
        self._talk.wish()
        return self._talk.conversation.ask(line.removeprefix("/") if line.startswith("//") else line)

    def _edited(self, text: str) -> str:
        """Ctrl-C and Ctrl-D leave it as it is."""
        try:
            return self._prompt.read("edit> ", text)
        except (KeyboardInterrupt, EOFError):
            click.echo(err=True)
            return ""

    def _show(self, answer: Answer) -> None:
        try:
            seconds = shown(self._talk, answer)
        except KeyboardInterrupt:
            aside(f"stopped; {what_is_kept(answer.turn)}, and /retry asks again")
            if not self._prompt.is_live:
                raise
        except ClewError as error:
            if not self._prompt.is_live:
                raise
            self._regret(error, f"{what_is_kept(answer.turn)}, and /retry asks again")
        else:
            say_summary(self._talk, answer.turn, seconds)

    def _regret(self, error: ClewError, next_: str = "") -> None:
        """What is wrong, and what can be done now."""
        click.secho(f"Error: {error_text(error, self._talk.conversation.backend)}", fg="red", err=True)
        with suppress(ClewError):  # tried again with the next line, which is then told why
            self._go_on()
        if next_:
            aside(next_)

    def _go_on(self) -> None:
        """A gateway that ended is no reason to leave: that is said once."""
        if happened := self._talk.go_on():
            aside(happened)
