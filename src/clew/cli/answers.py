"""One answer on the screen: shown while it comes, and a summary at its end.

The answer's text goes to standard output, all else to standard error. Whatever ends it, an answer is never left running:
what was finished of it is kept.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from threading import Thread
from typing import TYPE_CHECKING, Final

import click

from clew.cli.conversation import OpenConversation
from clew.model.change import tally

if TYPE_CHECKING:
    from clew.chat.blocking import Answer
    from clew.chat.turns import Turn


_STOPS: Final = {
    "max_tokens": "the answer ends here because it reached its limit of tokens",
    "model_context_window_exceeded": "the answer ends here because the model's context is full",
    "refusal": "the model refused to continue",
    "pause_turn": "the model paused: ask it to go on",
}


def show_answer(opened: OpenConversation, answer: Answer, *, silent: bool = False) -> float:
    """Show the answer as it comes, unless only its end is wanted. The seconds that it took. Raises what iterating it raises,
    and KeyboardInterrupt."""
    from clew.backends.prices import load_prices
    from clew.chat.display import view_for

    began, options, name = time.monotonic(), opened.options, opened.conversation.backend
    if not (silent or options.quiet):
        Thread(target=load_prices, daemon=True).start()  # while the model thinks
    view = None if silent else view_for(sys.stdout, sys.stderr, show_thinking=options.show_thinking, name=name)
    try:
        try:
            for event in answer:
                if view:
                    view.add(event)
        except BaseException:
            answer.stop()
            raise
    finally:  # a view that is left open would go on drawing, and keep the cursor
        if view:
            with suppress(BrokenPipeError):  # reported where it was written to
                try:
                    view.close()
                except BaseException:  # Ctrl-C, at the very end
                    view.close()
                    raise
    return time.monotonic() - began


@contextmanager
def echo_off() -> Generator[None]:
    """What is typed in this block is read afterwards, and not drawn into the answer."""
    if not sys.stdin.isatty() or find_spec("termios") is None:
        yield
        return
    import termios

    before = termios.tcgetattr(sys.stdin)
    silent = [*before[:3], before[3] & ~termios.ECHO, *before[4:]]
    termios.tcsetattr(sys.stdin, termios.TCSADRAIN, silent)
    try:
        yield
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)


def print_summary(opened: OpenConversation, turn: Turn | None, seconds: float | None) -> None:
    """Print what the answer took, and what was changed on the way."""
    from clew.chat.display.view import is_live

    if turn is None or opened.options.quiet:
        return
    if is_live(sys.stdout):
        print_note("")
    for note in (*_notes(turn, opened.options.show_thinking), opened.summary(turn, seconds).line):
        print_note(note)
    if counts := tally(change for change in turn.changes if change.step != "model"):  # the model stands above
        what = ", ".join(f"{count} {what}" for what, count in counts.items())
        print_note(f"changed on the way to {turn.backend}: {what} (`clew log` says why)")


def _notes(turn: Turn, show_thinking: bool) -> Iterator[str]:
    """What the text of the answer does not tell: hidden thinking, and why it ends as it does."""
    from clew.chat.metrics import extract_thinking_blocks

    answer = turn.answer
    if answer is None:
        return
    if show_thinking:
        thoughts = extract_thinking_blocks(answer.raw_content)
        if count := sum(not thought.get("content", "").strip() for thought in thoughts):
            yield f"🔒 {count} of {len(thoughts)} thoughts cannot be read: the provider hides them"
    if turn.outcome == "whole" and (note := _STOPS.get(answer.stop_reason or "")):
        yield note
    elif turn.outcome == "whole" and not (answer.content or answer.tool_calls):
        yield "the model said nothing"


def print_note(text: str) -> None:
    """Print a line that is no part of the answer."""
    click.secho(text, dim=True, err=True, color=False if os.environ.get("NO_COLOR") else None)


def kept_text(turn: Turn | None) -> str:
    """What the store has of an answer that did not come to its end, for the person who waited."""
    if turn is None:
        return "nothing is kept"
    return "the finished part is kept" if turn.answer else "the question is kept"
