"""The conversation behind `clew ask` and `clew chat`, and the options that both have: who answers, and how."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

import click
from msgspec import Struct

from clew.cli.installation import Installation, find_installation, find_thread, store_for_reading
from clew.errors import SettingsInvalid
from clew.model.json import JsonObject
from clew.settings.asked_backend import AskedBackend
from clew.settings.processes import RegisteredGateway, registered_gateways

if TYPE_CHECKING:
    from clew.backends.row import Backend
    from clew.chat.blocking import Conversation
    from clew.chat.display import AnswerSummary
    from clew.chat.turns import Turn


EFFORTS: Final = ("low", "medium", "high", "xhigh", "max")
PRINCIPAL: Final = "local"

_READABLE: Final[JsonObject] = {"type": "adaptive", "display": "summarized"}
_OFF: Final[JsonObject] = {"type": "disabled"}

_OPTIONS: Final = (
    click.option(
        "--backend",
        metavar="NAME",
        default="",
        help="The backend that answers; the thread is not pinned to it. Default: the active one.",
    ),
    click.option(
        "--model",
        metavar="NAME",
        default="",
        help="Default: the one that answered last, else the backend's own, else Sonnet.",
    ),
    click.option("--effort", type=click.Choice(EFFORTS), default=None, help="How hard to think."),
    click.option("--show-thinking", is_flag=True, help="Ask for the thinking, and show its text instead of a count."),
    click.option("--no-thinking", is_flag=True, help="Ask the model not to think, if it allows that."),
    click.option("--system", metavar="TEXT", default="", help="A system prompt; @FILE reads it from a file."),
    click.option("-q", "--quiet", is_flag=True, help="Do not print tokens, cost and time on stderr."),
)


class ConversationOptions(Struct, kw_only=True):
    """The options of the command line, as commands of the chat have changed them since."""

    thread: str = ""
    backend: str = ""
    model: str = ""
    system: str = ""
    effort: str = ""
    thinking: Literal["", "on", "off"] = ""
    """As the model does by itself; asked for; switched off."""
    show_thinking: bool = False
    quiet: bool = False
    on_overflow: Literal["error", "compact"] = "error"


def conversation_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give the command these options, which it gets as one value."""

    @wraps(command)
    def collect(
        backend: str,
        model: str,
        effort: str | None,
        show_thinking: bool,
        no_thinking: bool,
        system: str,
        quiet: bool,
        **others: Any,
    ) -> None:
        if show_thinking and no_thinking:
            raise click.UsageError("--show-thinking and --no-thinking contradict each other: use one of them.")
        try:
            text = Path(system[1:]).read_text(encoding="utf-8") if system.startswith("@") else system
        except (OSError, UnicodeDecodeError) as error:
            raise click.UsageError(f"--system {system}: {getattr(error, 'strerror', None) or error}.") from error
        options = ConversationOptions(
            backend=backend,
            model=model,
            effort=effort or "",
            thinking="off" if no_thinking else "",
            show_thinking=show_thinking,
            system=text,
            quiet=quiet,
        )
        command(options, **others)

    wrapped: Callable[..., None] = collect
    for option in reversed(_OPTIONS):
        wrapped = option(wrapped)
    return wrapped


class OpenConversation:
    """One conversation and its options: with the gateway of this home, if one runs, else in this process."""

    def __init__(self, installation: Installation, options: ConversationOptions, stack: ExitStack) -> None:
        """Open the conversation. The stack closes it."""
        self.installation = installation
        self.options = options
        self._stack = stack
        self._used: dict[str, str] = {}
        """The backends that were asked for since it was opened, each with the model that was named for it, the last last."""
        thread = ""
        if options.thread:
            with store_for_reading(installation) as store:
                thread = find_thread(store, PRINCIPAL, options.thread).id
        self._gateway, self.conversation = self._open(thread)

    def _open(self, thread: str) -> tuple[RegisteredGateway | None, Conversation]:
        from clew.backends.presets import presets
        from clew.chat.blocking import Conversation
        from clew.chat.remote.connection import gateway_in

        gateway = gateway_in(self.installation.home)
        options = self.options
        preset = options.backend if options.backend in presets() else ""
        opening = Conversation.open(
            thread, url="auto", backend=preset, system=options.system, on_overflow=options.on_overflow
        )
        return gateway, self._stack.enter_context(opening)

    def reconnect(self) -> str:
        """If the gateway of this conversation has ended, open it again at the same place. What happened, or "".

        Another gateway in its place has another socket.
        """
        if self._gateway is None or self._gateway in registered_gateways(self.installation.home):
            return ""
        before = self.conversation.turns[-1:]
        self._stack.close()
        self._gateway, conversation = self._open(self.conversation.thread if before else "")
        for turn in before:
            conversation.branch(turn.id)
        for backend, model in self._used.items():
            conversation.use(backend, model=model)
        self.conversation = conversation
        now = "with the one that runs now" if self._gateway else "without one"
        return f"the gateway of this chat has ended; the chat continues {now}"

    def use(self, backend: str, model: str = "") -> None:
        """Let another backend answer from now on. Raises SettingsInvalid if there is none of this name."""
        self.conversation.use(backend, model=model)
        named = self._used.pop(backend, "")
        self._used[backend] = model or named

    def apply_options(self) -> None:
        """Set model, thinking and effort of the next answer. Raises SettingsInvalid if no model is named anywhere.

        Call it before each answer, since the active backend may be another by then. A model that thinks anyway is asked for
        readable thinking: a person looks on.
        """
        from clew.model.facts.models import profile_for

        options, conversation, model = self.options, self.conversation, self._named_model()
        conversation.wish(model=model)
        try:
            asked = conversation.model
        except SettingsInvalid:
            asked = model = _usual_model(conversation.backend, self.row(conversation.backend))
        thinking = None
        if options.thinking == "off":
            thinking = _OFF
        else:
            facts = profile_for(options.model or asked, self.installation.usable.settings.models)
            is_asked_for = options.thinking == "on" or options.show_thinking
            if is_asked_for or (facts.thinking_default != "off" and facts.line):
                thinking = _READABLE
        conversation.wish(model=model, thinking=thinking, effort=options.effort)

    def _named_model(self) -> str:
        """The model that was asked for. If that is no name of Claude's, the backend is asked for just this: its own model in
        the settings is for other names."""
        from clew.backends.names import alias_of, family_of
        from clew.model.origin import ANTHROPIC

        named, backend = self.options.model, self.options.backend
        row = self.row(backend) if backend == self.conversation.backend else None
        is_own = bool(named) and row is not None and row.realm != ANTHROPIC and not family_of(named)
        return alias_of(backend, named) if is_own else named

    @property
    def next_model(self) -> str:
        """The model that answers next, under the name that its backend has for it."""
        from clew.backends.names import backend_of_alias
        from clew.backends.row import model_for

        row, asked = self.row(self.conversation.backend), self.conversation.model
        if named := backend_of_alias(asked, [self.conversation.backend]):
            return named[1]
        return model_for(row, asked) if row else asked

    def row(self, backend: str) -> Backend | None:
        return self.installation.usable.settings.backends.get(backend)

    def summary(self, turn: Turn, seconds: float | None = None) -> AnswerSummary:
        from clew.chat.display import summary_of

        return summary_of(turn, self.row(turn.backend), seconds)


@contextmanager
def open_conversation(options: ConversationOptions) -> Generator[OpenConversation]:
    """Open the conversation. Ends the command for a thread or a backend that does not exist."""
    with _signals_as_exit(), ExitStack() as stack:
        opened = OpenConversation(find_installation(asked=AskedBackend(options.backend)), options, stack)
        if options.backend:
            try:
                opened.use(options.backend)
            except SettingsInvalid as error:
                raise click.UsageError(f"{str(error).capitalize()}.") from error
        yield opened


@contextmanager
def _signals_as_exit() -> Generator[None]:
    """SIGTERM and SIGHUP end the command as Ctrl-C does: the answer is stopped and kept, and the terminal is restored."""

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


def _usual_model(name: str, backend: Backend | None) -> str:
    """Anthropic's newest Sonnet, if the backend is in Anthropic's realm."""
    from clew.model.facts import models
    from clew.model.origin import ANTHROPIC

    if backend is None or backend.realm != ANTHROPIC:
        which = f"no model is known for {name!r}: use --model NAME, or set `model` for this backend in the config"
        raise SettingsInvalid(f"{which}. `clew models` lists the models.", key=f"backends.{name}.model")
    sonnets = [row for row in models().values() if row.line == "sonnet" and not row.retired]
    return max(sonnets, key=lambda row: row.released).id
