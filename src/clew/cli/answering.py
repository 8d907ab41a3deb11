"""One answer on the screen: shown while it comes, and told at the end what it took.

What it says goes to standard output, all else to standard error. Whatever ends it, an answer is never left under way: what
was finished of it is kept.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from importlib.util import find_spec
from threading import Thread
from typing import TYPE_CHECKING, Final

import click

from clew.cli.talk import Talk
from clew.model.change import tally

if TYPE_CHECKING:
    from clew.chat.blocking import Answer
    from clew.chat.display import ToolState, View
    from clew.chat.events import Said
    from clew.chat.messages import ToolCall
    from clew.chat.turns import Turn

__all__ = ["NoView", "aside", "say_summary", "shown", "unechoed", "what_is_kept"]

_STOPS: Final = {
    "max_tokens": "the answer ends here because it reached its limit of tokens",
    "model_context_window_exceeded": "the answer ends here because the model's context is full",
    "refusal": "the model refused to go on",
    "pause_turn": "the model paused: ask it to go on",
}


class NoView:
    """For whoever wants to hear only the end."""

    def add(self, event: Said) -> None: ...

    def tool(self, call: ToolCall, state: ToolState, detail: str = "") -> None: ...

    def note(self, text: str) -> None: ...

    def paused(self) -> AbstractContextManager[None]:
        return nullcontext()

    def close(self) -> None: ...


def shown(talk: Talk, answer: Answer, given: View | None = None) -> float:
    """Shows it as it comes; the seconds that it took. Raises what iterating an answer raises, and KeyboardInterrupt."""
    began = time.monotonic()
    view = given or _view(talk)
    try:
        _hear(answer, view)
    finally:
        _close(view)
    return time.monotonic() - began


@contextmanager
def unechoed() -> Generator[None]:
    """What is typed meanwhile is read afterwards, and not drawn into the answer."""
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


def _view(talk: Talk) -> View:
    from clew.chat.display import view_for
    from clew.chat.prices import prepare

    if not talk.wanted.quiet:
        Thread(target=prepare, daemon=True).start()  # while the model thinks
    wanted, name = talk.wanted, talk.conversation.backend
    return view_for(sys.stdout, sys.stderr, show_thinking=wanted.show_thinking, name=name)


def _close(view: View) -> None:
    """In any case: a view that is left open would go on drawing, and keep the cursor."""
    with suppress(BrokenPipeError):  # told where it was written to
        try:
            view.close()
        except BaseException:  # Ctrl-C, at the very end
            view.close()
            raise


def _hear(answer: Answer, view: View) -> None:
    try:
        for event in answer:
            view.add(event)
    except BaseException:
        answer.stop()
        raise


def say_summary(talk: Talk, turn: Turn | None, seconds: float | None) -> None:
    """What it took, and what was changed on the way."""
    from clew.chat.display.view import is_live

    if turn is None or talk.wanted.quiet:
        return
    if is_live(sys.stdout):
        aside("")
    for note in filter(None, (_hidden(turn) if talk.wanted.show_thinking else "", _unusual(turn))):
        aside(note)
    aside(talk.summary(turn, seconds).line)
    if counts := tally(change for change in turn.changes if change.step != "model"):  # which model stands above
        what = ", ".join(f"{count} {what}" for what, count in counts.items())
        aside(f"changed on the way to {turn.backend}: {what} (`clew log` says why)")


def _hidden(turn: Turn) -> str:
    from clew.chat.thoughts import extract_thinking_blocks

    thoughts = extract_thinking_blocks(turn.answer.raw_content) if turn.answer else []
    count = sum(not thought.get("content", "").strip() for thought in thoughts)
    return f"🔒 {count} of {len(thoughts)} thoughts cannot be read: the provider hides them" if count else ""


def _unusual(turn: Turn) -> str:
    """What the text alone does not tell."""
    answer = turn.answer
    if answer is None or turn.outcome != "whole":
        return ""
    if note := _STOPS.get(answer.stop_reason or ""):
        return note
    return "" if answer.content or answer.tool_calls else "the model said nothing"


def aside(text: str) -> None:
    """A line that is no part of the answer."""
    click.secho(text, dim=True, err=True, color=False if os.environ.get("NO_COLOR") else None)


def what_is_kept(turn: Turn | None) -> str:
    """For the person who waited: what there is in the store of an answer that did not come to its end."""
    if turn is None:
        return "nothing is kept"
    return "what was finished is kept" if turn.answer else "the question is kept"
