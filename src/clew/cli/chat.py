"""`clew chat`: a conversation in the terminal, or in a pipe: then each line is a question.

On a terminal, questions are typed with editing, history and completion. A question may have several lines: a line that ends
with a backslash goes on, three quotation marks begin and end a text of any length, and a pasted text is one question. The
history is kept for its owner alone, each entry as one line of JSON.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click
import msgspec

from clew.cli import INTERRUPTED
from clew.cli.answers import echo_off, kept_text, print_note, print_summary, show_answer
from clew.cli.chat_commands import COMMANDS, Leave, completions, run_command
from clew.cli.command import error_text, report_errors
from clew.cli.conversation import ConversationOptions, OpenConversation, conversation_options, open_conversation
from clew.cli.output import plural, printable
from clew.errors import ClewError

if TYPE_CHECKING:
    from clew.chat.blocking import Answer


QUOTES: Final = '"""'
_HISTORY: Final = "chat_history"
_MOST_KEPT: Final = 1_000
_CONTINUES: Final = "… "
_COMMANDS: Final = "\n".join(["\b", "Commands:", *(f"  {row.usage:28}{row.does}" for row in COMMANDS.values())])


@click.command(short_help="Chat with a model in the terminal.", epilog=_COMMANDS)
@conversation_options
@click.option(
    "--thread", metavar="THREAD", default="", help="Continue this conversation: the beginning of its id, or `last`."
)
@click.option("--last", is_flag=True, help="Continue the conversation that was used last.")
def chat(options: ConversationOptions, thread: str, last: bool) -> None:
    """Chat with a model. Every conversation is kept and can be continued later.

    Lines that begin with a slash are commands; Tab completes them. For a question of several lines, end a line with a
    backslash, or put three quotation marks around the text. Ctrl-C stops the answer; the part that arrived is kept. Press it
    twice at the prompt, or press Ctrl-D, to leave. Without a terminal, each line of standard input is a question, and the
    first failure ends the chat.

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
        raise click.UsageError("--last and --thread both name a conversation: give one of them.")
    options.thread = "last" if last else thread
    options.on_overflow = "compact"
    with report_errors(), open_conversation(options) as opened:
        code = _ChatLoop(opened).run()
    click.get_current_context().exit(code)


class _ChatLoop:
    """The loop: read a line, run its command or ask its question, and again."""

    def __init__(self, opened: OpenConversation) -> None:
        self._opened = opened
        home = opened.installation.home.make()
        self._prompt = ChatPrompt(home.root / _HISTORY, lambda line: completions(opened, line))

    def run(self) -> int:
        self._opened.apply_options()
        conversation = self._opened.conversation
        if self._prompt.is_live and not self._opened.options.quiet:
            who = f"{conversation.backend}, {self._opened.next_model}"
            print_note(printable(f"{who} · /help lists commands, Ctrl-D leaves"))
            if turns := conversation.turns:
                count = plural(len(turns), "turn")
                print_note(printable(f"continuing “{conversation.title}”: {count}, /show shows them"))
        try:
            while True:
                self._handle(self._read())
        except (EOFError, Leave):
            return 0
        except KeyboardInterrupt:
            return INTERRUPTED
        finally:
            conversation = self._opened.conversation
            if self._prompt.is_live and conversation.turns:
                print_note(f"saved; continue with `clew chat --thread {conversation.thread}`")

    def _read(self) -> str:
        """The next line. Ctrl-C throws away what was typed, and twice it leaves."""
        try:
            return self._prompt.read("\n> " if self._prompt.is_live else "")
        except KeyboardInterrupt:
            if not self._prompt.is_live:
                raise
            print_note("\npress Ctrl-C again, or Ctrl-D, to leave")
        try:
            return self._prompt.read("> ")
        except KeyboardInterrupt:
            click.echo(err=True)
            raise Leave from None

    def _handle(self, line: str) -> None:
        if not line.strip():
            return
        try:
            self._reconnect()
            if line.startswith("/") and not line.startswith("//"):
                answer = run_command(self._opened, line, self._edit)
            else:
                self._opened.apply_options()
                answer = self._opened.conversation.ask(line.removeprefix("/") if line.startswith("//") else line)
            if answer is not None:
                with echo_off():
                    self._show(answer)
        except ClewError as error:
            if not self._prompt.is_live:
                raise
            self._print_error(error)
        except KeyboardInterrupt:  # too late to stop an answer, and not meant to leave
            if not self._prompt.is_live:
                raise
            print_note("")

    def _edit(self, text: str) -> str:
        """Let the person edit the text. "" after Ctrl-C and Ctrl-D."""
        try:
            return self._prompt.read("edit> ", text)
        except (KeyboardInterrupt, EOFError):
            click.echo(err=True)
            return ""

    def _show(self, answer: Answer) -> None:
        try:
            seconds = show_answer(self._opened, answer)
        except KeyboardInterrupt:
            print_note(f"stopped; {kept_text(answer.turn)}, and /retry asks again")
            if not self._prompt.is_live:
                raise
        except ClewError as error:
            if not self._prompt.is_live:
                raise
            self._print_error(error)
            print_note(f"{kept_text(answer.turn)}, and /retry asks again")
        else:
            print_summary(self._opened, answer.turn, seconds)

    def _print_error(self, error: ClewError) -> None:
        click.secho(f"Error: {error_text(error, self._opened.conversation.backend)}", fg="red", err=True)
        with suppress(ClewError):  # tried again with the next line, which then reports the error
            self._reconnect()

    def _reconnect(self) -> None:
        """Go on after the gateway has ended, and say so once."""
        if happened := self._opened.reconnect():
            print_note(happened)


class ChatPrompt:
    """Reads one text after another. `complete` gives what the text so far may be completed with: see `chat_commands`."""

    def __init__(self, history: Path, complete: Callable[[str], Sequence[str]]) -> None:
        self.is_live = sys.stdin.isatty()
        self._history = history
        self._complete = complete
        # Not every Python has readline, and not every terminal can be edited on.
        can_edit = find_spec("readline") is not None and os.environ.get("TERM", "") not in ("", "dumb")
        self._edits = self.is_live and sys.stdout.isatty() and can_edit
        if self._edits:
            self._set_up_readline()

    def read(self, prompt: str, begin: str = "") -> str:
        """The next text, which may be empty. `begin` is there already, to be changed. Raises EOFError, KeyboardInterrupt."""
        lines = [self._read_line(prompt, begin)]
        if lines[0].lstrip().startswith(QUOTES):
            lines[0] = lines[0].lstrip().removeprefix(QUOTES)
            while not lines[-1].rstrip().endswith(QUOTES):
                lines.append(self._read_line(_CONTINUES))
            text = "\n".join(lines).rstrip().removesuffix(QUOTES).strip("\n")
        else:
            while lines[-1].endswith("\\"):
                lines[-1] = lines[-1][:-1]
                lines.append(self._read_line(_CONTINUES))
            text = "\n".join(lines)
        if self._edits and text.strip():
            self._remember(text)
        return text

    def _read_line(self, prompt: str, begin: str = "") -> str:
        if self._edits:
            import readline

            readline.set_startup_hook(lambda: readline.insert_text(begin) if begin else None)
            try:
                return input(prompt)
            finally:
                readline.set_startup_hook(None)
        if self.is_live:
            sys.stderr.write(prompt)
            sys.stderr.flush()
        try:
            line = sys.stdin.readline()
        except UnicodeDecodeError as error:
            raise click.UsageError(f"The piped input is not text: {error.reason}.") from error
        if not line:
            raise EOFError
        return line.removesuffix("\n")

    # On a terminal

    def _set_up_readline(self) -> None:
        import readline

        def completed(word: str, number: int) -> str | None:
            found = self._complete(readline.get_line_buffer()[: readline.get_endidx()])
            return f"{found[number]} " if number < len(found) else None

        readline.set_auto_history(False)
        readline.set_completer(completed)
        readline.set_completer_delims(" \t\n")
        readline.parse_and_bind("set enable-bracketed-paste on")
        readline.parse_and_bind("tab: complete")
        readline.clear_history()
        try:
            lines = self._history.read_bytes().splitlines()
        except OSError:
            return
        if len(lines) > 2 * _MOST_KEPT:  # a file that has grown long is made short again
            from clew.settings.home import write_private

            write_private(self._history, b"\n".join(lines[-_MOST_KEPT:]) + b"\n")
        for line in lines[-_MOST_KEPT:]:
            with suppress(msgspec.MsgspecError, UnicodeDecodeError):
                if text := msgspec.json.decode(line, type=str):
                    readline.add_history(text)

    def _remember(self, text: str) -> None:
        """Add the text to the history, unless it is the last entry already."""
        import readline

        count = readline.get_current_history_length()
        if count and readline.get_history_item(count) == text:
            return
        readline.add_history(text)
        with suppress(OSError):  # a full disk is no reason to stop talking
            flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
            with open(os.open(self._history, flags, 0o600), "ab") as file:
                file.write(msgspec.json.encode(text) + b"\n")
