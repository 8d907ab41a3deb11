"""The client: what would lead it past the gateway, and whether Claude Code is there."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from clew.admin.checkup.findings import CheckFinding, Circumstances, fine, warning
from clew.backends.address import is_local

BASE_URL: Final = "ANTHROPIC_BASE_URL"
ELSEWHERE: Final = ("CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX", "CLAUDE_CODE_USE_FOUNDRY")
"""Variables that make Claude Code talk to another platform, whatever the base URL says."""

VERSION_SECONDS: Final = 10.0
MOST_BYTES: Final = 1 << 20
_MANAGED: Final = {
    "linux": Path("/etc/claude-code/managed-settings.json"),
    "darwin": Path("/Library/Application Support/ClaudeCode/managed-settings.json"),
}
_UNSET: Final = ("", "0", "false")
_LOOPBACK: Final = re.compile(r"(^|,)\s*(\*|127\.0\.0\.1|localhost)\s*(,|$)")


class _ClientSettings(Struct):
    env: dict[str, str | int | bool] = {}


def bypass(at: Circumstances) -> Iterator[CheckFinding]:
    """A base URL in Claude Code's own settings outranks the one that the gateway gives it."""
    found = [*_in_environment(at.environ), *(each for path in _settings_files(at) for each in _in_file(path))]
    yield from found
    if not found:
        yield fine("nothing leads Claude Code past the gateway")


def _in_environment(environ: Mapping[str, str]) -> Iterator[CheckFinding]:
    for name in ELSEWHERE:
        if environ.get(name, "").lower() not in _UNSET:
            yield warning(f"{name} is set, so Claude Code does not use the gateway", f"unset {name}")
    url = environ.get(BASE_URL, "")
    if url and not is_local(url):
        yield warning(
            f"{BASE_URL} leads elsewhere; `clew run` replaces it, but clients that you start yourself go there",
            f"unset {BASE_URL}, or set it to the gateway's address",
        )


def _settings_files(at: Circumstances) -> Iterator[Path]:
    """From the weakest to the strongest."""
    own = at.environ.get("CLAUDE_CONFIG_DIR", "") or str(Path(at.environ.get("HOME", "~")).expanduser() / ".claude")
    yield Path(own) / "settings.json"
    for folder in (at.cwd, *at.cwd.parents):
        yield folder / ".claude" / "settings.json"
        yield folder / ".claude" / "settings.local.json"
    if sys.platform in _MANAGED:
        yield _MANAGED[sys.platform]


def _in_file(path: Path) -> Iterator[CheckFinding]:
    try:
        with path.open("rb") as file:
            env = msgspec.json.decode(file.read(MOST_BYTES), type=_ClientSettings).env
    except (OSError, ValueError, RecursionError):
        return
    for name in (BASE_URL, *ELSEWHERE):
        value = str(env.get(name, ""))
        if value.lower() not in _UNSET and not (name == BASE_URL and is_local(value)):
            yield warning(
                f"{path} sets {name}, which outranks what `clew run` gives Claude Code", f"remove {name} from `env` there"
            )


def proxies(at: Circumstances) -> Iterator[CheckFinding]:
    """A proxy that does not know this machine's own addresses keeps clients from the gateway."""
    names = [name for name in ("HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY") if _either(at.environ, name)]
    if names and not _LOOPBACK.search(_either(at.environ, "NO_PROXY")):
        yield warning(
            f"{', '.join(names)} is set and NO_PROXY does not name this machine: clients may go there instead",
            "export NO_PROXY=127.0.0.1,localhost",
        )
    if names and at.loaded and not at.loaded.settings.proxy:
        yield fine("clew itself goes to the backends directly; `proxy = true` would use the proxy")
    elif not names:
        yield fine("no proxy is set")


def _either(environ: Mapping[str, str], name: str) -> str:
    return environ.get(name, "") or environ.get(name.lower(), "")


def claude(at: Circumstances) -> Iterator[CheckFinding]:
    """Claude Code on the PATH, and its version."""
    path = shutil.which("claude", path=at.environ.get("PATH", ""))
    if path is None:
        yield fine("Claude Code is not on the PATH; only `clew run -- claude` needs it")
        return
    try:
        done = subprocess.run(  # noqa: S603  (the user's own command, found on the user's own PATH)
            [path, "--version"],
            capture_output=True,
            text=True,
            timeout=VERSION_SECONDS,
            stdin=subprocess.DEVNULL,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        yield warning(f"{path} does not say its version: {type(error).__name__}", "run `claude --version` yourself")
        return
    version = done.stdout.strip().partition("\n")[0][:100]
    if done.returncode or not version:
        yield warning(f"{path} does not say its version (exit {done.returncode})", "run `claude --version` yourself")
    else:
        yield fine(f"{path}: {version}")
