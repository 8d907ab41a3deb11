"""A home directory with a config and a store, for the commands that look at both."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result

from clew.cli import main
from clew.model.turn import TurnRecord
from clew.store.sqlite.store import SqliteStore
from tests.build import text, thinking, tool_use
from tests.forking import ClewProcess
from tests.store.turns import GLM, OPUS, recorded, turn

CLEW = str(Path(sys.executable).with_name("clew"))

CONFIG = """
active = "claude"
[backends.claude]
preset = "anthropic"
[backends.glm]
preset = "zai"
realm = "glm"
key = "${A_KEY_THAT_NOBODY_SET}"
"""

THREAD = "01a2b3c4d5e6f7"


class Home:
    """Runs commands in a home of its own."""

    def __init__(self, root: Path, config: str = CONFIG) -> None:
        self.root = root
        root.mkdir(mode=0o700)
        self.config = root / "clew.toml"
        if config:
            self.config.write_text(config)
        self.environ = {"CLEW_HOME": str(root), "HOME": str(root), "TZ": "UTC", "CLEW_CONFIG": "", "CLEW_SECRET": ""}

    @property
    def file(self) -> Path:
        return self.root / "clew.db"

    @contextmanager
    def store(self) -> Iterator[SqliteStore]:
        with SqliteStore(self.file) as store:
            yield store

    def keep(self, *turns: TurnRecord) -> None:
        with self.store() as store:
            for each in turns:
                assert store.record(each).result(120)

    def clew(self, *arguments: str, input: str | None = None) -> Result:
        with _in_utc():
            return CliRunner(env=self.environ).invoke(main, arguments, input=input)

    def lines(self, *arguments: str) -> list[str]:
        """What a command prints that succeeds without a word on stderr."""
        done = self.clew(*arguments)
        assert (done.exit_code, done.stderr) == (0, ""), done.output
        return done.stdout.splitlines()

    def json(self, *arguments: str) -> Any:
        return json.loads("\n".join(self.lines(*arguments, "--json")))

    def refused(self, *arguments: str) -> tuple[int, str]:
        """Exit code and last line of a command that fails."""
        done = self.clew(*arguments)
        assert done.stdout == ""
        return done.exit_code, done.stderr.splitlines()[-1]

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """With pipes that nobody makes quicker than they are for people."""
        environ = {name: value for name, value in (os.environ | self.environ).items() if name != "PYTHONUNBUFFERED"}
        return ClewProcess(arguments, env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@contextmanager
def _in_utc() -> Iterator[None]:
    """Times are shown as the machine's zone has them."""
    before = os.environ.get("TZ")
    os.environ["TZ"] = "UTC"
    time.tzset()
    try:
        yield
    finally:
        os.environ.pop("TZ")
        if before is not None:
            os.environ["TZ"] = before
        time.tzset()


def yesterday() -> float:
    """Noon in UTC, on a day that is not today."""
    return (time.time() // 86_400 - 1) * 86_400 + 43_200


def day() -> str:
    return time.strftime("%Y-%m-%d", time.gmtime(yesterday()))


def answer(id: str, blocks: Sequence[dict[str, Any]], **more: Any):
    """A recording with these blocks."""
    return recorded(id, blocks=tuple(json.dumps(block).encode() for block in blocks), thread=THREAD, **more)


def talk(at: float) -> list[TurnRecord]:
    """Two answers of Claude and one of GLM, and a question that was refused."""
    first = recorded("r0", thread=THREAD)
    second = recorded("r1", before=(first,), thread=THREAD, words="Evil \x1b[31mred\x07\nand more")
    third = recorded("g", before=(first, second), origin=GLM, thread=THREAD)
    refused = turn(at=at + 30, exchange="x-refused", thread=THREAD, request_id="req_9", first_byte=None, changes=())
    return [*(turn(each, at=at + 10 * number) for number, each in enumerate((first, second, third))), refused]


__all__ = [
    "CLEW",
    "GLM",
    "OPUS",
    "THREAD",
    "Home",
    "answer",
    "day",
    "talk",
    "text",
    "thinking",
    "tool_use",
    "turn",
    "yesterday",
]
