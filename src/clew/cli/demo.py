"""The demo: three simulated backends of different realms, and a config that names them. Nothing leaves the machine.

One is Anthropic with block binding enforced, so that a lost or altered thinking block is refused at once; another speaks
the same dialect and signs with a key of its own, which the first must never see; the third speaks Chat Completions, and
refuses a tool call that comes back without its reasoning. Its home is a directory that goes with it,
unless `CLEW_HOME` says where to keep it; several demos may share that one.
"""

from __future__ import annotations

import asyncio
import os
import re
import tempfile
from collections.abc import AsyncGenerator, Mapping
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path
from typing import Final

from clew.settings.home import HOME_VARIABLE, Home, home_of
from clew.settings.private_file import write_private
from clew.simulator.anthropic.judge import judge
from clew.simulator.server import Simulation, start
from clew.simulator.shell import Settings
from clew.simulator.stances import stance

__all__ = ["demo"]

_MARK: Final = "# The demo's backends, all simulated."
_CONFIG: Final = (
    _MARK
    + """ `clew use other` or `clew use deepseek` switches, `clew use claude` switches back.
active = "claude"

[backends.claude]
url = "{claude}"
realm = "anthropic"
auth = "key"
key = "${{CLEW_DEMO_KEY:-sim-demo-1}}"

[backends.other]
url = "{other}"
auth = "key"
key = "${{CLEW_DEMO_KEY:-sim-demo-1}}"
model = "other-model"

[backends.deepseek]
preset = "deepseek"
dialect = "openai-chat"
url = "{deepseek}"
key = "${{CLEW_DEMO_KEY:-sim-demo-1}}"
"""
)
"""The simulators take any key. With one in it, the file can be used from a second shell, by every command."""
_PORTS: Final = re.compile(r'^url = "http://127\.0\.0\.1:(\d{1,5})"', re.MULTILINE)
_PROBE_SECONDS: Final = 1.0


@asynccontextmanager
async def demo(environ: Mapping[str, str]) -> AsyncGenerator[tuple[Path, dict[str, str]]]:
    """The config file, and the environment to read it in: without any vendor's key."""
    with ExitStack() as stack:
        home = _home(environ, stack)
        file = await _file(home, stack)
        claude = await start(Settings(stance=stance({"prefix_enforcement": "on"})), judge)
        other = await start(Settings(stance=stance(), kind="compat"), judge)
        deepseek = await start(Settings(stance=stance(), kind="deepseek-chat"), judge)
        write_private(file, _CONFIG.format(claude=claude.url, other=other.url, deepseek=deepseek.url).encode())
        own = {name: value for name, value in environ.items() if name.startswith("CLEW_") and name != "CLEW_CONFIG"}
        try:
            yield file, {**own, HOME_VARIABLE: str(home.root), "PATH": environ.get("PATH", "")}
        finally:
            await _closed(claude, other, deepseek)


def _home(environ: Mapping[str, str], stack: ExitStack) -> Home:
    if environ.get(HOME_VARIABLE, "").strip():
        return home_of(environ).make()
    directory = stack.enter_context(tempfile.TemporaryDirectory(prefix="clew-demo-", ignore_cleanup_errors=True))
    return Home(Path(directory)).make()


async def _file(home: Home, stack: ExitStack) -> Path:
    """The home's own config, so that `clew use` and its kin find the demo's backends; never over somebody's real one, nor
    over that of a demo that runs: its gateway would follow, and be left without backends when this one ends."""
    ports = _ports_of(home.config)
    if ports is not None and not any([await _answers(port) for port in ports]):
        return home.config
    file = home.root / f"demo-{os.getpid()}.toml"
    stack.callback(file.unlink, missing_ok=True)
    return file


def _ports_of(file: Path) -> list[int] | None:
    """Where the simulators of the demo listen that wrote it, if they still do. None if it is no demo's."""
    text = file.read_text(errors="replace") if file.exists() else _MARK
    return [int(port) for port in _PORTS.findall(text)] if text.startswith(_MARK) else None


async def _answers(port: int) -> bool:
    try:
        _, writer = await asyncio.wait_for(asyncio.open_connection("127.0.0.1", port), _PROBE_SECONDS)
    except (OSError, OverflowError, TimeoutError):
        return False
    writer.close()
    return True


async def _closed(*simulations: Simulation) -> None:
    for simulation in simulations:
        await simulation.close(grace=0)
