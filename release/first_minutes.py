"""Does what the README says to a new user, in a clean home, and prints the seconds to the first answer.

Usage: python release/first_minutes.py [--wheel FILE] [--dependencies FOLDER] [WAY…]. A way is one of `uv`, `pipx`, `pip` and
`clone`; all of them if none is named. Each is tried without a vendor's key in the environment, and with some: the demo must
answer either way. `--dependencies` is a folder with packages that are there already, for `pip` alone: then nothing is
downloaded.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
KEYS = {"ANTHROPIC_API_KEY": "sk-ant-not-a-key", "OPENAI_API_KEY": "sk-not-a-key", "ANTHROPIC_AUTH_TOKEN": "not-a-token"}
"""What many people have in their shell."""
QUESTION = "Why is the sky blue?"


class Measured(NamedTuple):
    way: str
    keys: bool
    install: float
    answer: float
    """Seconds from the first command to the answer, with the time of the install."""


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("ways", nargs="*", metavar="WAY", help=f"of {', '.join(WAYS)}")
    parser.add_argument("--wheel", type=Path, help="a wheel; built if it is not given")
    parser.add_argument("--dependencies", type=Path, help="a folder with the packages that clew needs")
    given = parser.parse_args(arguments)
    if unknown := sorted(set(given.ways) - set(WAYS)):
        parser.error(f"there is no way {unknown[0]!r}")
    with tempfile.TemporaryDirectory(prefix="clew-first-") as folder:
        wheel = given.wheel or _build(Path(folder) / "dist")
        print(f"{'way':8}{'keys':6}{'install':>9}{'answer':>9}")
        for way in given.ways or list(WAYS):
            for measured in measure(way, Path(folder) / way, wheel, given.dependencies):
                shown = (
                    f"{measured.way:8}{'yes' if measured.keys else 'no':6}{measured.install:8.1f}s{measured.answer:8.1f}s"
                )
                print(shown)
    return 0


def measure(way: str, folder: Path, wheel: Path, dependencies: Path | None) -> list[Measured]:
    """Install once; then ask with and without keys, each in a home of its own."""
    folder.mkdir(parents=True)
    began = time.monotonic()
    program = WAYS[way](folder, wheel, dependencies)
    install = time.monotonic() - began
    found: list[Measured] = []
    for keys in (False, True):
        with tempfile.TemporaryDirectory(prefix="clew-") as home:  # short: the name of a socket has 100 characters at most
            environ = {"PATH": f"{program.parent}:/usr/bin:/bin", "HOME": home, **(KEYS if keys else {})}
            asked = time.monotonic()
            _ask(program, environ)
            found.append(Measured(way, keys, install, install + time.monotonic() - asked))
    return found


def _ask(program: Path, environ: Mapping[str, str]) -> None:
    """`clew serve --demo`, and one question in a second shell. Raises AssertionError where no answer comes."""
    environ = {**environ, "CLEW_HOME": f"{environ['HOME']}/demo"}
    command = [program, "serve", "--demo", "--json", "--port", "0", "--admin-port", "0"]
    log = Path(environ["HOME"]) / "gateway.log"
    with log.open("w") as opened, subprocess.Popen(command, env=environ, stdout=-1, stderr=opened, text=True) as gateway:
        try:
            assert gateway.stdout is not None
            line = gateway.stdout.readline()
            assert line, f"the gateway did not start: {log.read_text()}"
            url = json.loads(line)["url"]
            done = subprocess.run([program, "ask", QUESTION], env=environ, capture_output=True, text=True)
            assert done.returncode == 0, done.stderr
            assert done.stdout.strip(), "the answer is empty"
            _ask_as_client(program, environ, url)
        finally:
            gateway.send_signal(signal.SIGTERM)
    assert gateway.returncode == 0, f"the gateway ended with {gateway.returncode}"


CLIENT = """
import json, os, urllib.request
body = {"model": "claude-opus-5-5", "max_tokens": 100, "messages": [{"role": "user", "content": "Why?"}]}
token = os.environ["ANTHROPIC_AUTH_TOKEN"]
head = {"content-type": "application/json", "authorization": "Bearer " + token, "anthropic-version": "2023-06-01"}
asked = urllib.request.Request(os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages", json.dumps(body).encode(), head)
print(json.load(urllib.request.urlopen(asked))["content"][-1]["text"])
"""


def _ask_as_client(program: Path, environ: Mapping[str, str], url: str) -> None:
    """A client that was started with the variables that `clew env` prints."""
    script = f'eval "$({program} env --shell)" && {sys.executable} -c "$CLIENT"'
    done = subprocess.run(["sh", "-c", script], env={**environ, "CLIENT": CLIENT}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip(), f"no answer from {url}"


# The ways


def _by_uv(folder: Path, wheel: Path, dependencies: Path | None) -> Path:
    return _uv_install(folder, wheel)


def _by_pipx(folder: Path, wheel: Path, dependencies: Path | None) -> Path:
    """pipx is installed first, and that time counts as well."""
    tools = folder / "tools"
    subprocess.run([sys.executable, "-m", "venv", tools], check=True)
    subprocess.run([tools / "bin" / "python", "-m", "pip", "install", "-q", "pipx"], check=True)
    environ = {**os.environ, "PIPX_HOME": str(folder / "pipx"), "PIPX_BIN_DIR": str(folder / "bin")}
    command = [tools / "bin" / "pipx", "install", "--python", sys.executable, wheel]
    subprocess.run(command, env=environ, check=True, capture_output=True)
    return folder / "bin" / "clew"


def _by_pip(folder: Path, wheel: Path, dependencies: Path | None) -> Path:
    environment = folder / "environment"
    subprocess.run([sys.executable, "-m", "venv", environment], check=True)
    python = environment / "bin" / "python"
    if dependencies:
        packages = next((environment / "lib").glob("python*")) / "site-packages"
        (packages / "dependencies.pth").write_text(f"{dependencies}\n")
    options = ["--no-deps"] if dependencies else []
    subprocess.run([python, "-m", "pip", "install", "-q", "--disable-pip-version-check", *options, wheel], check=True)
    return environment / "bin" / "clew"


def _by_clone(folder: Path, wheel: Path, dependencies: Path | None) -> Path:
    subprocess.run(["git", "clone", "-q", "--depth", "1", ROOT.as_uri(), folder / "clone"], check=True)
    return _uv_install(folder, folder / "clone")


def _uv_install(folder: Path, what: Path) -> Path:
    environ = {**os.environ, "UV_TOOL_DIR": str(folder / "tools"), "UV_TOOL_BIN_DIR": str(folder / "bin")}
    command = [_uv(), "tool", "install", "--quiet", "--python", sys.executable, str(what)]
    subprocess.run(command, env=environ, check=True)
    return folder / "bin" / "clew"


def _uv() -> str:
    found = shutil.which("uv", path=f"{Path(sys.executable).parent}:{os.environ.get('PATH', '')}")
    if found is None:
        sys.exit("this way needs uv: install it first")
    return found


def _build(folder: Path) -> Path:
    subprocess.run(
        ["sh", ROOT / "release" / "build.sh", folder], env={**os.environ, "PYTHON": sys.executable}, check=True, stdout=2
    )
    return next(folder.glob("*.whl"))


WAYS = {"uv": _by_uv, "pipx": _by_pipx, "pip": _by_pip, "clone": _by_clone}

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
