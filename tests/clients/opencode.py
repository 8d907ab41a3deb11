"""opencode without its screen: one prompt, a home of its own, and an environment that holds nothing else.

It finds the gateway as a user would tell it: by `clew env --opencode` in its configuration, and the key in a variable. On Chat
Completions the same provider has another package.
"""

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.clients.gateway import KEY, Gateway
from tests.clients.installed import opencode

MOST_SECONDS = 150
QUIET = {
    "OPENCODE_DISABLE_AUTOUPDATE": "1",
    "OPENCODE_DISABLE_MODELS_FETCH": "1",
    "OPENCODE_DISABLE_DEFAULT_PLUGINS": "1",
}
"""It calls nobody but the base URL."""
PACKAGES = {"responses": "@ai-sdk/openai", "chat": "@ai-sdk/openai-compatible"}


@dataclass(frozen=True, slots=True, kw_only=True)
class OpencodeRun:
    """What one run left."""

    status: int
    events: list[dict[str, Any]]
    errors: str

    @property
    def session(self) -> str:
        """What `--session` wants."""
        return self.events[0]["sessionID"]

    @property
    def answer(self) -> str:
        """Its last word."""
        said = [event["part"]["text"] for event in self.events if event["type"] == "text"]
        assert said, f"it ended with {self.status} and said nothing; {self.events[-1:]}; on stderr: {self.errors[-1000:]}"
        return said[-1]


@dataclass(frozen=True, slots=True, kw_only=True)
class Opencode:
    """An installed opencode that talks to a gateway. Its home outlives its runs, so that they can be resumed."""

    gateway: Gateway
    home: Path
    api: str

    def ask(self, prompt: str, *, resume: str = "", deaths: int = 0) -> OpencodeRun:
        """Run it to its end; meanwhile the gateway dies, and is started again, so often. A title is given: else it asks."""
        work = self._configured()
        options = ["--session", resume] if resume else ["--title", "a title"]
        process = subprocess.Popen(
            [opencode(), "run", "--format", "json", "--auto", "-m", "clew/gpt-5.5", *options, prompt],
            env={
                "HOME": str(self.home),
                "PATH": "/usr/local/bin:/usr/bin:/bin",
                "LANG": "C.UTF-8",
                "CLEW_KEY": KEY,
                **QUIET,
            },
            cwd=work,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(deaths):
            self.gateway.restart_when_it_dies(process)
        said, errors = process.communicate(timeout=MOST_SECONDS)
        events = [json.loads(line) for line in said.splitlines() if line.startswith("{")]
        return OpencodeRun(status=process.returncode, events=events, errors=errors)

    def _configured(self) -> Path:
        work = self.home / "work"
        work.mkdir(parents=True, exist_ok=True)
        config = json.loads(self.gateway.clew("env", "--opencode"))
        config["provider"]["clew"]["npm"] = PACKAGES[self.api]
        (work / "opencode.json").write_text(json.dumps(config))
        self.gateway.leave_commands(work)
        return work
