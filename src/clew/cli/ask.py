"""`clew ask`: one question, one answer, and nothing else on standard output."""

from __future__ import annotations

import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Timer
from typing import TYPE_CHECKING, Final

import click

from clew.cli import INTERRUPTED
from clew.cli.answer_json import answer_json
from clew.cli.answering import NoView, aside, say_summary, shown, unechoed, what_is_kept
from clew.cli.command import failure_for, report_errors
from clew.cli.output import visible_json
from clew.cli.talk import Talk, Wanted, talk
from clew.cli.wanting import wanting
from clew.errors import ClewError, RequestInvalid

if TYPE_CHECKING:
    from clew.chat.blocking import Answer
    from clew.chat.contents import Content

__all__ = ["ask"]

_PATIENCE_SECONDS: Final = 1.0


@click.command(short_help="Ask one question, in a pipe or on a terminal.")
@click.argument("question", nargs=-1)
@wanting
@click.option(
    "--attach",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    multiple=True,
    metavar="FILE",
    help="A picture (PNG, JPEG, GIF, WebP) or a PDF; may be given several times.",
)
@click.option("--thread", metavar="THREAD", default="", help="Go on with this conversation: how its id begins, or `last`.")
@click.option(
    "--json", "json_", is_flag=True, help="Print one JSON object: answer, thinking, usage, cost, thread, changes …"
)
def ask(wanted: Wanted, question: tuple[str, ...], attach: tuple[Path, ...], thread: str, json_: bool) -> None:
    """Ask QUESTION. The answer goes to standard output as it comes, all else to standard error.

    What is piped in is added to the question; without a QUESTION, or where it is `-`, it is the question. On a terminal the
    answer is drawn as Markdown, and thinking is a line that counts. Anywhere else it is plain text; characters that a
    terminal would obey are replaced by their pictures. --json has the text exactly as it was said.

    Question and answer are kept as a conversation. Ctrl-C stops the answer and keeps what was finished.

    \b
    Examples:
      clew ask "Why is the sky blue?"
      git diff | clew ask "Write a commit message for this."
      clew ask - < question.txt > answer.md
      clew ask --backend glm --effort high --show-thinking "Is 1001 a prime?"
      clew ask --attach chart.png "What does this show?"
      clew ask --thread last "And in one sentence?"
      clew ask --json "Hello" | jq .cost.usd

    Exit status: 0 ok, 1 failed, 2 wrong usage or unknown name, 3 the backend failed, 4 it refused the key, 5 the config
    cannot be used, 130 stopped by Ctrl-C.
    """
    wanted.thread = thread
    with report_errors():
        content = _content(_words(question), attach)
        with unechoed(), talk(wanted) as open_talk:
            open_talk.wish()
            code = _ask(open_talk, content, json_=json_)
    click.get_current_context().exit(code)


def _ask(open_talk: Talk, content: Content, *, json_: bool) -> int:
    answer = open_talk.conversation.ask(content)
    try:
        seconds = shown(open_talk, answer, NoView() if json_ else None)
    except KeyboardInterrupt:
        _tell(open_talk, answer, None, json_=json_, trouble="stopped by Ctrl-C")
        aside(f"stopped; {_next(open_talk, answer)}")
        return INTERRUPTED
    except ClewError as error:
        _tell(open_talk, answer, None, json_=json_, trouble=str(error))
        raise failure_for(error, _next(open_talk, answer), backend=open_talk.conversation.backend) from error
    _tell(open_talk, answer, seconds, json_=json_)
    return 0


def _tell(open_talk: Talk, answer: Answer, seconds: float | None, *, json_: bool, trouble: str = "") -> None:
    """What came of it."""
    turn = answer.turn
    if json_:
        click.echo(visible_json(answer_json(open_talk, turn, trouble)))
    elif turn is not None and (turn.answer is not None or not trouble):
        say_summary(open_talk, turn, seconds)


def _next(open_talk: Talk, answer: Answer) -> str:
    kept = what_is_kept(answer.turn)
    if answer.turn is None:
        return kept
    return f"{kept}: `clew chat --thread {open_talk.conversation.thread}` goes on with it, and /retry there asks again"


# The question


def _words(question: Sequence[str]) -> str:
    """What was said, and what was piped in. Ends the command if that is nothing."""
    given = " ".join(question)
    piped = _piped() if given == "-" or not sys.stdin.isatty() else ""
    words = piped if given in ("", "-") else "\n\n".join(filter(None, (given, piped)))
    if not words.strip():
        raise click.UsageError('There is no question. Say it: clew ask "Why?", or pipe it in.')
    return words


def _piped() -> str:
    """A pipe or a file; what a terminal or nothing at all is connected to is not waited for, unless asked for."""
    try:
        with _patience():
            return sys.stdin.read().rstrip("\n")
    except UnicodeDecodeError as error:
        raise click.UsageError(
            f"What was piped in is no text: {error.reason}. For pictures and PDFs there is --attach."
        ) from error


@contextmanager
def _patience() -> Generator[None]:
    """A pipe that nobody closes is waited for without an end: whoever sits there is told so."""
    timer = Timer(_PATIENCE_SECONDS, aside, ("reading standard input to its end; Ctrl-C leaves",))
    timer.daemon = True
    if sys.stderr.isatty():
        timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _content(words: str, files: Sequence[Path]) -> Content:
    """Files first: models read them before they read what is asked about them."""
    from clew.chat.contents import document, image

    try:
        blocks = [document(file) if file.suffix.lower() == ".pdf" else image(file) for file in files]
    except RequestInvalid as error:
        raise click.UsageError(f"{error}; or PDF. Text can be piped in: clew ask … < FILE") from error
    return [*blocks, words] if blocks else words
