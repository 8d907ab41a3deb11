"""The SDKs as clients: each is a small program that holds a conversation and says what it heard. Anthropic's for Python runs in the
process of the tests.

All have one tool, which runs a shell command, and the model decides what is run. So a scenario can let a client switch the
gateway's backend in the middle of its own loop.
"""

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

from tests.clients.claude import QUIET
from tests.clients.installed import HERE, NODE

MODEL = "claude-opus-5-5"
MOST_SECONDS = 150


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """What the client got: the last text for each prompt, each proof, and why each answer stopped; from some also what it
    put together of each answer."""

    answers: list[str]
    proofs: list[str]
    stops: list[str]
    blocks: list[list[dict[str, Any]]] = field(default_factory=list[list[dict[str, Any]]])


@dataclass(frozen=True, slots=True)
class Sdk:
    """A client: its program, and what the model must call its tool."""

    program: str
    tool: str = "run"

    def converse(self, url: str, key: str, prompts: Sequence[str], home: Path, **more: Any) -> Heard:
        """Ask one prompt after the other in one conversation. The environment is empty but for what Claude Code wants."""
        home.mkdir(exist_ok=True)
        runtime = NODE if self.program.endswith(".mjs") else sys.executable
        done = subprocess.run(
            [runtime, HERE / "sdks" / self.program],
            input=json.dumps({"url": url, "key": key, "model": MODEL, "prompts": prompts, **more}),
            env={"HOME": str(home), "PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8", **QUIET},
            cwd=home,
            capture_output=True,
            text=True,
            timeout=MOST_SECONDS,
        )
        assert done.returncode == 0, done.stderr
        return Heard(**json.loads(done.stdout))


class Imported(Sdk):
    """One that is imported, when it is needed. What it raises, the test gets."""

    def converse(self, url: str, key: str, prompts: Sequence[str], home: Path, **more: Any) -> Heard:
        home.mkdir(exist_ok=True)
        program = import_module(f"tests.clients.sdks.{self.program}")
        return Heard(**program.converse({"url": url, "key": key, "model": MODEL, "prompts": prompts, **more}, home))


SDKS = {
    "anthropic-python": Imported("anthropic_python"),
    "anthropic-js": Sdk("anthropic_js.mjs"),
    "ai-sdk": Sdk("ai_sdk.mjs"),
    "claude-agent-sdk": Sdk("agent_python.py", tool="mcp__shell__run"),
}
