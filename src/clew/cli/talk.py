"""Talk: the conversation behind `clew ask` and `clew chat`, and what a person wishes of it."""

from __future__ import annotations

import signal
import threading
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

import click
from msgspec import Struct

from clew.cli.installation import Installation, find_installation, find_thread, store_for_reading
from clew.errors import SettingsInvalid
from clew.model.json import JsonObject
from clew.settings.running import Running, running

if TYPE_CHECKING:
    from clew.backends.row import Backend
    from clew.chat.blocking import Conversation
    from clew.chat.display import AnswerSummary
    from clew.chat.turns import Turn

__all__ = ["EFFORTS", "PRINCIPAL", "Talk", "Wanted", "talk"]

EFFORTS: Final = ("low", "medium", "high", "xhigh", "max")
PRINCIPAL: Final = "local"

Thinking: TypeAlias = Literal["", "on", "off"]
"""As the model does by itself; asked for; switched off."""

_READABLE: Final[JsonObject] = {"type": "adaptive", "display": "summarized"}
_OFF: Final[JsonObject] = {"type": "disabled"}


class Wanted(Struct, kw_only=True):
    """What was said on the command line, and since."""

    thread: str = ""
    backend: str = ""
    model: str = ""
    system: str = ""
    effort: str = ""
    thinking: Thinking = ""
    show_thinking: bool = False
    quiet: bool = False
    on_overflow: Literal["error", "compact"] = "error"


class Talk:
    """One conversation, and what is wished of it."""

    def __init__(self, at: Installation, wanted: Wanted, stack: ExitStack) -> None:
        """With the gateway of this home, if one runs, else in this process. What it opens, the stack closes."""
        self.at = at
        self.wanted = wanted
        self._stack = stack
        self._used: dict[str, str] = {}
        """The backends that were asked for since it was opened, each with the model that was named for it, the last last."""
        self._gateway, self.conversation = self._opened(_thread(at, wanted.thread))

    def _opened(self, thread: str) -> tuple[Running | None, Conversation]:
        from clew.chat.blocking import Conversation
        from clew.chat.remote.finding import gateway_in

        wanted, gateway = self.wanted, gateway_in(self.at.home)
        opening = Conversation.open(thread, url="auto", system=wanted.system, on_overflow=wanted.on_overflow)
        return gateway, self._stack.enter_context(opening)

    @property
    def is_cut_off(self) -> bool:
        """Did the gateway that holds this conversation end? Another one in its place has another socket."""
        return self._gateway is not None and self._gateway not in running(self.at.home)

    def go_on(self) -> str:
        """After the gateway ended: the same conversation at the same place, with whoever is there now. What happened, in
        words; "" if nothing did."""
        if not self.is_cut_off:
            return ""
        before = self.conversation.turns[-1:]
        self._stack.close()
        self._gateway, conversation = self._opened(self.conversation.thread if before else "")
        for turn in before:
            conversation.branch(turn.id)
        for backend, model in self._used.items():
            conversation.use(backend, model=model)
        self.conversation = conversation
        now = "with the one that runs now" if self._gateway else "without one"
        return f"the gateway of this chat has ended; it goes on {now}"

    def use(self, backend: str, model: str = "") -> None:
        """Let another backend answer from now on. Raises SettingsInvalid if there is none of this name."""
        self.conversation.use(backend, model=model)
        named = self._used.pop(backend, "")
        self._used[backend] = model or named

    def wish(self) -> None:
        """Before each answer, since the active backend may be another by then. Raises SettingsInvalid where nobody can tell
        which model is meant. A model that thinks anyway is asked for words to read: somebody looks on."""
        wanted, conversation, model = self.wanted, self.conversation, self.wanted.model
        conversation.wish(model=model)
        try:
            asked = conversation.model
        except SettingsInvalid:
            asked = model = _usual_model(conversation.backend, self.row(conversation.backend))
        conversation.wish(model=model, thinking=self._thinking(asked), effort=wanted.effort)

    @property
    def next_model(self) -> str:
        """The model that answers next, under the name that its backend has for it."""
        from clew.backends.row import model_for

        row, asked = self.row(self.conversation.backend), self.conversation.model
        return model_for(row, asked) if row else asked

    def row(self, backend: str) -> Backend | None:
        return self.at.usable.settings.backends.get(backend)

    def summary(self, turn: Turn, seconds: float | None = None) -> AnswerSummary:
        from clew.chat.display import summary_of

        return summary_of(turn, self.row(turn.backend), seconds)

    def _thinking(self, model: str) -> JsonObject | None:
        from clew.thinking.profiles import profile_for

        if self.wanted.thinking == "off":
            return _OFF
        facts = profile_for(model, self.at.usable.settings.models)
        asked = self.wanted.thinking == "on" or self.wanted.show_thinking
        return _READABLE if asked or (facts.thinking_default != "off" and facts.line) else None


@contextmanager
def talk(wanted: Wanted) -> Generator[Talk]:
    """Opens it. Ends the command for a thread or a backend that there is not."""
    with _ending_well(), ExitStack() as stack:
        open_talk = Talk(find_installation(), wanted, stack)
        if wanted.backend:
            _use(open_talk, wanted.backend)
        yield open_talk


@contextmanager
def _ending_well() -> Generator[None]:
    """Who is told to end does so as with Ctrl-C: the answer is stopped and kept, and the terminal is as it was."""

    def end(number: int, _: object) -> None:
        raise SystemExit(128 + number)

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, end) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _use(open_talk: Talk, backend: str) -> None:
    try:
        open_talk.use(backend)
    except SettingsInvalid as error:
        raise click.UsageError(f"{str(error).capitalize()}.") from error


def _thread(at: Installation, given: str) -> str:
    if not given:
        return ""
    with store_for_reading(at) as store:
        return find_thread(store, PRINCIPAL, given).id


def _usual_model(name: str, backend: Backend | None) -> str:
    """Anthropic's newest Sonnet, where that can be meant."""
    from clew.model.facts import models
    from clew.model.origin import ANTHROPIC

    if backend is None or backend.realm != ANTHROPIC:
        said = f"which model? Nobody named one for {name!r}: say --model NAME, or set `model` for it in the config"
        raise SettingsInvalid(f"{said}. `clew models` lists what there is.", key=f"backends.{name}.model")
    return max(
        (row for row in models().values() if row.line == "sonnet" and not row.retired), key=lambda row: row.released
    ).id
