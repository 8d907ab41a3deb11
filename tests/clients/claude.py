"""Claude Code without its screen: one prompt, a home of its own, and an environment that holds nothing else.

`ask` runs it to its end and reads what it said, line by line as `--output-format stream-json` gives it.
"""

import json
import os
import signal
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.clients.installed import claude

TOOLS = "Bash,Read,Glob,Grep,Task,Agent"
SHAPE = ("--output-format", "stream-json", "--verbose", "--allowedTools", TOOLS)
QUIET = {
    "DISABLE_TELEMETRY": "1",
    "DISABLE_ERROR_REPORTING": "1",
    "DISABLE_AUTOUPDATER": "1",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "IS_SANDBOX": "1",
}
"""It calls nobody but the base URL, and does not ask before it runs a tool as root."""

MOST_SECONDS = 150


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What one run left."""

    status: int
    events: list[dict[str, Any]]
    errors: str

    @property
    def result(self) -> str:
        """Its last word."""
        return self._end["result"]

    @property
    def failed(self) -> bool:
        return self.status != 0 or self._end["is_error"]

    @property
    def session(self) -> str:
        """What `--resume` wants."""
        return self._end["session_id"]

    @property
    def calls(self) -> list[str]:
        """The tools that its own thread called, in order. A sub-agent's are not among them."""
        return [block["name"] for block in self._blocks("assistant") if block["type"] == "tool_use"]

    @property
    def results(self) -> list[Any]:
        """What these tools gave back, in the order in which they ended."""
        return [block["content"] for block in self._blocks("user") if block["type"] == "tool_result"]

    @property
    def proofs(self) -> list[str]:
        """Signatures, and the data of redacted blocks, as it got them."""
        return [proof for block in self._blocks("assistant") if (proof := block.get("signature") or block.get("data"))]

    def of(self, kind: str, subtype: str | None = None) -> list[dict[str, Any]]:
        """Its events of one kind."""
        events = [event for event in self.events if event["type"] == kind]
        return events if subtype is None else [event for event in events if event.get("subtype") == subtype]

    @property
    def _end(self) -> dict[str, Any]:
        ends = self.of("result")
        assert ends, f"it ended with {self.status} and said no result; on stderr: {self.errors}"
        return ends[-1]

    def _blocks(self, kind: str) -> Iterator[dict[str, Any]]:
        for event in self.of(kind):
            content = event["message"]["content"]
            if not event.get("parent_tool_use_id") and isinstance(content, list):
                yield from content


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaudeCode:
    """An installed Claude Code that talks to one address. Its home outlives its runs, so that they can be resumed."""

    version: str
    home: Path
    url: str
    token: str

    @property
    def binary(self) -> Path:
        return claude(self.version)

    @property
    def environment(self) -> dict[str, str]:
        """All that it gets to see."""
        return {
            "HOME": str(self.home),
            "PATH": "/usr/local/bin:/usr/bin:/bin",
            "LANG": "C.UTF-8",
            "ANTHROPIC_BASE_URL": self.url,
            "ANTHROPIC_AUTH_TOKEN": self.token,
            **QUIET,
        }

    @property
    def work(self) -> Path:
        """The directory that it works in."""
        path = self.home / "work"
        path.mkdir(parents=True, exist_ok=True)
        return path

    def command(self, prompt: str, *options: str) -> list[str]:
        return [str(self.binary), "-p", prompt, *SHAPE, *options]

    def sitting(self, *options: str) -> list[str]:
        """The command that takes its prompts as they come; `tests.clients.sitting` says them."""
        return [str(self.binary), "-p", "--input-format", "stream-json", *SHAPE, *options]

    def ask(self, prompt: str, *options: str, environment: Mapping[str, str] | None = None) -> Run:
        """Run it to its end; at most some minutes. `environment` goes on top."""
        return finished(self.start(prompt, *options, environment=environment))

    def start(self, prompt: str, *options: str, environment: Mapping[str, str] | None = None) -> subprocess.Popen[str]:
        """Run it, and do not wait. It gets a process group of its own, so that what its tools started ends with it."""
        return subprocess.Popen(
            self.command(prompt, *options),
            env={**self.environment, **(environment or {})},
            cwd=self.work,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )


def finished(process: subprocess.Popen[str], seconds: float = MOST_SECONDS) -> Run:
    """Wait for a run that was started."""
    try:
        said, errors = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        said, errors = process.communicate()
        raise AssertionError(f"it went on for more than {seconds} s; its last words: {said[-2000:]}") from None
    events = [json.loads(line) for line in said.splitlines() if line.startswith("{")]
    return Run(status=process.returncode, events=events, errors=errors)
