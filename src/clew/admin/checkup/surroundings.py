"""What is around clew: gateways that run, their ports, the clock; and what leads clients, editors' too, past the gateway."""

from __future__ import annotations

import http.client
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct, field

from clew.admin.checkup.findings import CheckFinding, Circumstances, broken, fine, warning
from clew.backends.address import is_local
from clew.errors import SettingsInvalid, StoreError
from clew.gateway.editors import EDITORS, Editor
from clew.gateway.plan import gateway_on, owner_of
from clew.settings.processes import running_gateways
from clew.settings.rollout import how_to_apply, unknown_backend
from clew.settings.values import GatewaySettings
from clew.store.values import ClockDoubt

ANSWER_SECONDS: Final = 3.0
MOST_BYTES: Final = 1 << 20
OLDEST: Final = 1_780_000_000.0
"""Spring 2026: a clock before this is older than this program."""


def gateways(at: Circumstances) -> Iterator[CheckFinding]:
    """Each that is registered answers, knows the backend that was chosen, and has taken the newest settings."""
    try:
        found = running_gateways(at.home)
    except SettingsInvalid as error:
        yield broken(str(error), "correct the permissions of that directory")
        return
    if not found:
        yield fine("none runs")
    for each in found:
        ready = _readiness(each.url)
        if ready is None:
            yield broken(
                f"{each.name} (pid {each.pid}) does not answer at {each.url}", f"kill {each.pid}, and start it again"
            )
            continue
        used = sorted(filter(None, each.in_use))
        sends_to = f" and sends to {' and '.join(used)}" if used else ""
        yield fine(f"{each.name} (pid {each.pid}) answers at {each.url}{sends_to}")
        for process in each.processes:
            if (applied := process.applied) and not applied.in_use:
                says = f"{each.name} (pid {process.pid}) answers 503: {unknown_backend(applied, applied.active)}"
                yield broken(says, how_to_apply(applied, applied.active))
        if ready.problem:
            yield broken(
                f"{each.name} (pid {each.pid}) still uses its last settings: {ready.problem}",
                "correct the settings file; the gateway reads it again automatically",
            )


class _Readiness(Struct):
    status: str
    problem: str = ""


def _readiness(url: str) -> _Readiness | None:
    """What a gateway says of itself; None if it does not answer."""
    where = urlsplit(url)
    connection = http.client.HTTPConnection(where.hostname or "", where.port, timeout=ANSWER_SECONDS)
    try:
        connection.request("GET", "/readyz")
        return msgspec.json.decode(connection.getresponse().read(MOST_BYTES), type=_Readiness)
    except (OSError, http.client.HTTPException, msgspec.MsgspecError):
        return None
    finally:
        connection.close()


def ports(at: Circumstances) -> Iterator[CheckFinding]:
    """Check that each port is free, or is used by a gateway of this home."""
    settings = at.loaded.settings.gateway if at.loaded else GatewaySettings()
    for name, port in {"port": settings.port, "admin_port": settings.admin_port}.items():
        if port == 0:
            yield fine(f"{name}: a free one is taken")
        elif owner := gateway_on(port, at.home):
            yield fine(f"{port} is the gateway {owner.name}'s")
        elif _is_free(settings.host if name == "port" else "127.0.0.1", port):
            yield fine(f"{port} is free")
        else:
            option = f"--{name.replace('_', '-')}"
            yield warning(
                f"{port} is used by {owner_of(port, at.home)}", f"choose another: `[gateway] {name} = …`, or `{option}`"
            )


def _is_free(host: str, port: int) -> bool:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return False
    return True


def clock(at: Circumstances) -> Iterator[CheckFinding]:
    """Certificates, retention and `retry-after` need a clock that is about right."""
    if at.now < OLDEST:
        yield broken("this machine's clock is years behind", "set it, or turn on NTP")
        return
    doubt: ClockDoubt | None = None
    with suppress(StoreError):  # a store that cannot be read has a check of its own
        doubt = at.store.clock_doubt(at.now) if at.store is not None and at.store.is_readable() else None
    if doubt is not None:
        yield warning(str(doubt), "set this machine's clock; if it is right, there is nothing to do")
    else:
        yield fine("plausible")


# The client


BASE_URL: Final = "ANTHROPIC_BASE_URL"
ELSEWHERE: Final = ("CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX", "CLAUDE_CODE_USE_FOUNDRY")
"""Variables that make Claude Code talk to another platform, whatever the base URL says."""

VERSION_SECONDS: Final = 10.0
_MANAGED: Final = {
    "linux": Path("/etc/claude-code/managed-settings.json"),
    "darwin": Path("/Library/Application Support/ClaudeCode/managed-settings.json"),
}
_UNSET: Final = ("", "0", "false")
_LOOPBACK: Final = re.compile(r"(^|,)\s*(\*|127\.0\.0\.1|localhost)\s*(,|$)")


class _ClientSettings(Struct):
    env: dict[str, str | int | bool] = {}


def bypass(at: Circumstances) -> Iterator[CheckFinding]:
    """Check for a base URL in Claude Code's own settings, which overrides the one that the gateway gives it."""
    found: list[CheckFinding] = []
    for name in ELSEWHERE:
        if at.environ.get(name, "").lower() not in _UNSET:
            found.append(warning(f"{name} is set, so Claude Code does not use the gateway", f"unset {name}"))
    url = at.environ.get(BASE_URL, "")
    if url and not is_local(url):
        says = f"{BASE_URL} is another address; `clew run` replaces it, but clients that you start yourself use it"
        found.append(warning(says, f"unset {BASE_URL}, or set it to the gateway's address"))
    home = at.environ.get("CLAUDE_CONFIG_DIR", "") or Path(at.environ.get("HOME", "~")).expanduser() / ".claude"
    files = [Path(home) / "settings.json"]  # from the weakest to the strongest
    for folder in (at.cwd, *at.cwd.parents):
        files += [folder / ".claude" / "settings.json", folder / ".claude" / "settings.local.json"]
    if sys.platform in _MANAGED:
        files.append(_MANAGED[sys.platform])
    found += [finding for file in files for finding in _in_file(file)]
    yield from found or [fine("no setting makes Claude Code bypass the gateway")]


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
                f"{path} sets {name}, which overrides what `clew run` gives Claude Code", f"remove {name} from `env` there"
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
        yield fine("clew itself connects to the backends directly; `proxy = true` uses the proxy")
    elif not names:
        yield fine("no proxy is set")


def _either(environ: Mapping[str, str], name: str) -> str:
    return environ.get(name, "") or environ.get(name.lower(), "")


def claude(at: Circumstances) -> Iterator[CheckFinding]:
    """Claude Code on the PATH, and its version."""
    path = shutil.which("claude", path=at.environ.get("PATH", ""))
    if path is None:
        yield fine("Claude Code is not on the PATH; you need it only for `clew run -- claude`")
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
        yield warning(f"{path} does not print its version: {type(error).__name__}", "run `claude --version` yourself")
        return
    version = done.stdout.strip().partition("\n")[0][:100]
    if done.returncode or not version:
        yield warning(f"{path} does not print its version (exit {done.returncode})", "run `claude --version` yourself")
    else:
        yield fine(f"{path}: {version}")


_MOST_BYTES: Final = 1 << 20
_COMMENT: Final = re.compile(rb"^\s*//.*$", re.MULTILINE)
_LAST_COMMA: Final = re.compile(rb",(\s*[}\]])")


class _Variable(Struct):
    name: str = ""
    value: str | int | bool = ""


class _EditorSettings(Struct):
    variables: list[_Variable] = field(default_factory=list[_Variable], name="claudeCode.environmentVariables")


def editors(at: Circumstances) -> Iterator[CheckFinding]:
    """Variables that an editor gives to its Claude Code override all others there."""
    home = Path(at.environ.get("HOME", "~")).expanduser()
    found = [finding for editor in EDITORS.values() for finding in _in_editor(editor, home)]
    yield from found or [fine("no editor makes its Claude Code bypass the gateway")]


def _in_editor(editor: Editor, home: Path) -> Iterator[CheckFinding]:
    place = editor.macos if sys.platform == "darwin" else editor.linux
    for each in _variables_in(home / place) if place else ():
        leads_away = str(each.value).lower() not in _UNSET and not (each.name == BASE_URL and is_local(str(each.value)))
        if each.name in (BASE_URL, *ELSEWHERE) and leads_away:
            yield warning(
                f"{home / place} sets {each.name} for Claude Code in {editor.title}, so that it does not use the gateway",
                "remove it from claudeCode.environmentVariables there; `clew env --ide` prints what to set instead",
            )


def _variables_in(path: Path) -> list[_Variable]:
    """Editors allow comments and a last comma in these files. What cannot be read says nothing."""
    try:
        with path.open("rb") as file:
            text = _COMMENT.sub(b"", file.read(_MOST_BYTES))
        return msgspec.json.decode(_LAST_COMMA.sub(rb"\1", text), type=_EditorSettings).variables
    except (OSError, ValueError, RecursionError):
        return []
