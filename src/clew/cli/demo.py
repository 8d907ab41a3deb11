"""The demo: three simulated backends of different realms, and a config that names them. Nothing leaves the machine.

One is Anthropic with block binding enforced, so that a lost or altered thinking block is refused at once; another speaks
the same dialect and signs with a key of its own, which the first must never see; the third speaks Chat Completions, and
refuses a tool call that comes back without its reasoning. The demo's home is a temporary directory, unless `CLEW_HOME` names
one; several demos may share that.
"""

from __future__ import annotations

import asyncio
import os
import re
import tempfile
from collections.abc import AsyncGenerator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Final

from clew.settings.home import HOME_VARIABLE, Home, home_of, write_private
from clew.simulator.anthropic.judge import judge
from clew.simulator.server import start
from clew.simulator.stances import stance
from clew.simulator.vendor_server import SimulatorSettings

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
    async with AsyncExitStack() as stack:
        if environ.get(HOME_VARIABLE, "").strip():
            home = home_of(environ).make()
        else:
            temporary = tempfile.TemporaryDirectory(prefix="clew-demo-", ignore_cleanup_errors=True)
            home = Home(Path(stack.enter_context(temporary))).make()
        # The home's own config is where `clew use` and the other commands look. But a real one is never replaced, nor that
        # of a demo that runs: its gateway would follow, and be left without backends when this demo ends.
        file, ports = home.config, _demo_ports(home.config)
        if ports is None or any([await _answers(port) for port in ports]):
            file = home.root / f"demo-{os.getpid()}.toml"
            stack.callback(file.unlink, missing_ok=True)
        urls: dict[str, str] = {}
        for name, settings in {
            "claude": SimulatorSettings(stance=stance({"prefix_enforcement": "on"})),
            "other": SimulatorSettings(stance=stance(), kind="compat"),
            "deepseek": SimulatorSettings(stance=stance(), kind="deepseek-chat"),
        }.items():
            simulation = await start(settings, judge)
            stack.push_async_callback(simulation.close, grace=0)
            urls[name] = simulation.url
        write_private(file, _CONFIG.format(**urls).encode())
        own = {name: value for name, value in environ.items() if name.startswith("CLEW_") and name != "CLEW_CONFIG"}
        yield file, {**own, HOME_VARIABLE: str(home.root), "PATH": environ.get("PATH", "")}


def _demo_ports(config: Path) -> list[int] | None:
    """The ports of the simulators that a demo wrote into this file; none without a file. None if it is not a demo's."""
    text = config.read_text(errors="replace") if config.exists() else _MARK
    return [int(port) for port in _PORTS.findall(text)] if text.startswith(_MARK) else None


async def _answers(port: int) -> bool:
    try:
        _, writer = await asyncio.wait_for(asyncio.open_connection("127.0.0.1", port), _PROBE_SECONDS)
    except (OSError, OverflowError, TimeoutError):
        return False
    writer.close()
    return True
