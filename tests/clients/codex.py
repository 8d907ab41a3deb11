"""Codex without its screen: one prompt, a home of its own, and an environment that holds nothing else.

It finds the gateway as a user would tell it: by `clew env --codex` in its configuration, and the key in a variable.
"""

import json
import os
import signal
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.clients.gateway import KEY, Gateway
from tests.clients.installed import codex

MOST_SECONDS = 150
UNGUARDED = ("--json", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox")


@dataclass(frozen=True, slots=True, kw_only=True)
class CodexRun:
    """What one run left."""

    status: int
    events: list[dict[str, Any]]
    errors: str

    @property
    def session(self) -> str:
        """What `resume` wants."""
        return self._of("thread.started")[0]["thread_id"]

    @property
    def answer(self) -> str:
        """Its last word."""
        said = [item["text"] for item in self.items if item["type"] == "agent_message"]
        assert said, f"it ended with {self.status} and said nothing; {self.events[-1:]}; on stderr: {self.errors[-1000:]}"
        return said[-1]

    @property
    def items(self) -> list[dict[str, Any]]:
        """What it showed, as each was done."""
        return [event["item"] for event in self._of("item.completed")]

    @property
    def outputs(self) -> list[str]:
        """What its commands printed."""
        return [item["aggregated_output"] for item in self.items if item["type"] == "command_execution"]

    @property
    def complaints(self) -> list[Any]:
        """Errors and broken turns. That it does not know a model is no matter here."""
        errors = [item for item in self.items if item["type"] == "error" and "Model metadata" not in item["message"]]
        return [*self._of("error"), *self._of("turn.failed"), *errors]

    def _of(self, kind: str) -> list[dict[str, Any]]:
        return [event for event in self.events if event["type"] == kind]


@dataclass(frozen=True, slots=True, kw_only=True)
class Codex:
    """An installed Codex that talks to a gateway. Its home outlives its runs, so that they can be resumed."""

    gateway: Gateway
    home: Path
    model: str

    @property
    def work(self) -> Path:
        """The directory that it works in."""
        path = self.home / "work"
        path.mkdir(parents=True, exist_ok=True)
        return path

    @property
    def sessions(self) -> Path:
        return self.home / ".codex/sessions"

    def ask(self, prompt: str, *, resume: str = "", deaths: int = 0) -> CodexRun:
        """Run it to its end; meanwhile the gateway dies, and is started again, so often."""
        self._configure()
        process = subprocess.Popen(
            [
                codex(),
                "exec",
                *(["resume"] if resume else []),
                *UNGUARDED,
                "-m",
                self.model,
                *filter(None, [resume]),
                prompt,
            ],
            env={"HOME": str(self.home), "PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8", "CLEW_KEY": KEY},
            cwd=self.work,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        for _ in range(deaths):
            self.gateway.restart_when_it_dies(process)
        return finished(process)

    def _configure(self) -> None:
        """What a user pastes; the commands for its shell beside it."""
        config = self.home / ".codex/config.toml"
        config.parent.mkdir(parents=True, exist_ok=True)
        if not config.exists():
            config.write_text(self.gateway.clew("env", "--codex"))
        self.gateway.leave_commands(self.work)


def finished(process: subprocess.Popen[str]) -> CodexRun:
    """Wait for a run that was started."""
    try:
        said, errors = process.communicate(timeout=MOST_SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        said, errors = process.communicate()
        raise AssertionError(f"it went on for more than {MOST_SECONDS} s; its last words: {said[-2000:]}") from None
    events = [json.loads(line) for line in said.splitlines() if line.startswith("{")]
    return CodexRun(status=process.returncode, events=events, errors=errors)
