"""A gateway whose model says what a test wants it to say."""

from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Self

from clew.testing.simulator import Simulator
from tests.browser.demo import Demo
from tests.gateway.served import backend


class Staged:
    """`with Staged(script) as stage:` one backend, `claude`, which plays the script; `stage.demo` is the gateway.

    With a `model`, that backend is of another maker, has this model alone, and answers for the active one, which is out of
    order.
    """

    def __init__(self, script: str, *, model: str = "", more: str = "") -> None:
        """`more` is added to the settings."""
        self._script = script
        self._more = more
        self._model = model
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            place = Path(stack.enter_context(TemporaryDirectory(prefix="clew-stage-"))) / "told.scenario"
            place.write_text(self._script)
            kind = "compat" if self._model else "anthropic"
            self.model = stack.enter_context(Simulator(kind=kind, scenario=str(place)))
            self.demo = stack.enter_context(Demo(self._config(self.model.url)))
            self._stack = stack.pop_all()
        return self

    def _config(self, url: str) -> str:
        if not self._model:
            return 'active = "claude"\n' + backend("claude", url, 'realm = "anthropic"\n') + self._more
        rows = backend("broken", "http://127.0.0.1:1"), backend("claude", url, f'model = "{self._model}"')
        return 'active = "broken"\nfailover = ["claude"]\n' + "".join(rows)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._stack.__exit__(kind, error, trace)


def lines(text: str) -> str:
    """A text of many lines, as a scenario writes it."""
    return "\n    | ".join(text.split("\n"))
