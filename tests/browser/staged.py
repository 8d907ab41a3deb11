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
    """`with Staged(script) as stage:` one backend, `claude`, which plays the script; `stage.demo` is the gateway."""

    def __init__(self, script: str) -> None:
        self._script = script
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            place = Path(stack.enter_context(TemporaryDirectory(prefix="clew-stage-"))) / "told.scenario"
            place.write_text(self._script)
            self.model = stack.enter_context(Simulator(scenario=str(place)))
            row = backend("claude", self.model.url, 'realm = "anthropic"')
            self.demo = stack.enter_context(Demo(f'active = "claude"\n{row}'))
            self._stack = stack.pop_all()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._stack.__exit__(kind, error, trace)


def lines(text: str) -> str:
    """A text of many lines, as a scenario writes it."""
    return "\n    | ".join(text.split("\n"))
