"""`clew ask`: one question, one answer, and nothing else on standard output."""

from __future__ import annotations

import mimetypes
import sys
from collections.abc import Sequence
from pathlib import Path
from threading import Timer
from typing import TYPE_CHECKING, Final

import click
import msgspec
from msgspec import Struct

from clew.cli import INTERRUPTED
from clew.cli.answers import echo_off, kept_text, print_note, print_summary, show_answer
from clew.cli.command import failure_for, report_errors
from clew.cli.conversation import ConversationOptions, OpenConversation, conversation_options, open_conversation
from clew.cli.output import visible_json
from clew.errors import ClewError, RequestInvalid
from clew.model.change import Change
from clew.model.json import JsonObject

if TYPE_CHECKING:
    from clew.chat.blocking import Answer
    from clew.chat.messages import Content, ToolCall
    from clew.chat.turns import Turn


_PATIENCE_SECONDS: Final = 1.0


@click.command(short_help="Ask one question, in a pipe or on a terminal.")
@click.argument("question", nargs=-1)
@conversation_options
@click.option(
    "--attach",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    multiple=True,
    metavar="FILE",
    help="An image (PNG, JPEG, GIF, WebP), a PDF or a text file; can be repeated.",
)
@click.option(
    "--thread", metavar="THREAD", default="", help="Continue this conversation: the beginning of its id, or `last`."
)
@click.option(
    "--json", "json_", is_flag=True, help="Print one JSON object: answer, thinking, usage, cost, thread, changes …"
)
def ask(options: ConversationOptions, question: tuple[str, ...], attach: tuple[Path, ...], thread: str, json_: bool) -> None:
    """Ask QUESTION. The answer is printed on standard output while it arrives, everything else on standard error.

    Piped input is added to the question. Without a QUESTION, or if it is `-`, the piped input is the question. On a terminal
    the answer is shown as Markdown, and thinking as one line with a count. Otherwise it is plain text, in which control
    characters are replaced. --json prints the exact text.

    The question and the answer are kept as a conversation. Ctrl-C stops the answer; the part that arrived is kept.

    \b
    Examples:
      clew ask "Why is the sky blue?"
      git diff | clew ask "Write a commit message for this."
      clew ask - < question.txt > answer.md
      clew ask --backend glm --effort high --show-thinking "Is 1001 a prime?"
      clew ask --attach chart.png --attach data.csv "What do these show?"
      clew ask --thread last "And in one sentence?"
      clew ask --json "Hello" | jq .cost.usd

    Exit status: 0 ok, 1 failed, 2 wrong usage or unknown name, 3 the backend failed, 4 it refused the key, 5 the config
    cannot be used, 130 stopped by Ctrl-C.
    """
    options.thread = thread
    with report_errors():
        content: Content = _question_text(question)
        files = [_attached(each) for each in attach]  # first: models read them before they read what is asked about them
        content = [*files, content] if files else content
        with echo_off(), open_conversation(options) as opened:
            opened.apply_options()
            answer = opened.conversation.ask(content)
            try:
                seconds = show_answer(opened, answer, silent=json_)
            except KeyboardInterrupt:
                _print_result(opened, answer.turn, None, json_=json_, trouble="stopped by Ctrl-C")
                print_note(f"stopped; {_hint(opened, answer)}")
                click.get_current_context().exit(INTERRUPTED)
            except ClewError as error:
                _print_result(opened, answer.turn, None, json_=json_, trouble=str(error))
                raise failure_for(error, _hint(opened, answer), backend=opened.conversation.backend) from error
            _print_result(opened, answer.turn, seconds, json_=json_)


def _hint(opened: OpenConversation, answer: Answer) -> str:
    kept = kept_text(answer.turn)
    if answer.turn is None:
        return kept
    return f"{kept}: `clew chat --thread {opened.conversation.thread}` continues there, and /retry asks again"


# The question


def _attached(path: Path) -> JsonObject:
    """The file as a block. Ends the command for a kind that models do not read."""
    from clew.chat.messages import document, image

    is_image = (mimetypes.guess_type(path)[0] or "").startswith("image/") and path.suffix.lower() != ".svg"
    try:
        return image(path) if is_image else document(path)
    except RequestInvalid:
        raise click.UsageError(
            f"{path} cannot be attached: models read images (PNG, JPEG, GIF, WebP), PDF and text files."
        ) from None


def _question_text(question: Sequence[str]) -> str:
    """The arguments, and what was piped in. Ends the command if that is nothing.

    Without `-`, standard input is read only if it is no terminal.
    """
    given, piped = " ".join(question), ""
    if given == "-" or not sys.stdin.isatty():
        # A pipe may never end: on a terminal the person is told what the command waits for.
        timer = Timer(_PATIENCE_SECONDS, print_note, ("reading standard input until it ends (Ctrl-D); Ctrl-C stops",))
        timer.daemon = True
        if sys.stderr.isatty():
            timer.start()
        try:
            piped = sys.stdin.read().rstrip("\n")
        except UnicodeDecodeError as error:
            raise click.UsageError(
                f"The piped input is not text: {error.reason}. For images and PDFs use --attach."
            ) from error
        finally:
            timer.cancel()
    words = piped if given in ("", "-") else "\n\n".join(filter(None, (given, piped)))
    if not words.strip():
        raise click.UsageError('There is no question. Write it as an argument: clew ask "Why?", or pipe it in.')
    return words


# The result


class AnswerCost(Struct, frozen=True):
    """What an answer cost. `estimated`: the list price of what is known of the usage."""

    usd: float
    estimated: bool


class AnswerJson(Struct, frozen=True, kw_only=True):
    """An answer as `--json` prints it: the text exactly as the model gave it. `error` says why `outcome` is not `whole`."""

    answer: str
    thinking: str | None
    """What can be read of it; None if the model did not think, "" if its thinking is hidden."""
    calls: Sequence[ToolCall]
    outcome: str
    error: str | None
    stop_reason: str | None
    backend: str
    model: str
    usage: JsonObject | None
    cache_efficiency: float | None
    cost: AnswerCost | None
    thread: str
    turn: str | None
    changes: Sequence[Change]


def _print_result(
    opened: OpenConversation, turn: Turn | None, seconds: float | None, *, json_: bool, trouble: str = ""
) -> None:
    if json_:
        click.echo(visible_json(msgspec.json.encode(_answer_json(opened, turn, trouble))))
    elif turn is not None and (turn.answer is not None or not trouble):
        print_summary(opened, turn, seconds)


def _answer_json(opened: OpenConversation, turn: Turn | None, error: str) -> AnswerJson:
    from clew.chat.metrics import extract_thinking_blocks

    answer = turn.answer if turn else None
    summary = opened.summary(turn) if turn else None
    cost = summary.cost if summary else None
    thoughts = [thought.get("content", "") for thought in extract_thinking_blocks(answer.raw_content)] if answer else []
    return AnswerJson(
        answer=(answer.content if answer else None) or "",
        thinking="\n\n".join(filter(None, thoughts)) if thoughts else None,
        calls=answer.tool_calls if answer else (),
        outcome=turn.outcome if turn else "failed",
        error=error or None,
        stop_reason=answer.stop_reason if answer else None,
        backend=turn.backend if turn else opened.conversation.backend,
        model=turn.model if turn else "",
        usage=_usage_json(turn) if turn else None,
        cache_efficiency=summary.efficiency if summary else None,
        cost=AnswerCost(float(cost.usd), cost.estimated) if cost else None,
        thread=opened.conversation.thread,
        turn=turn.id if turn else None,
        changes=turn.changes if turn else (),
    )


def _usage_json(turn: Turn) -> JsonObject | None:
    """The usage under the names of Anthropic's API. The tokens of the thinking are as reported, else an estimate."""
    from clew.chat.display.summary import thought_tokens
    from clew.chat.metrics import Estimate, anthropic_usage

    if turn.usage is None:
        return None
    counts: JsonObject = {**anthropic_usage(turn.usage)}
    if (thought := thought_tokens(turn.answer, turn.usage)) is not None:
        counts["thinking_tokens"] = thought.tokens if isinstance(thought, Estimate) else thought
        counts["thinking_tokens_estimated"] = isinstance(thought, Estimate)
    return {**counts, "estimated": turn.usage.estimated}
