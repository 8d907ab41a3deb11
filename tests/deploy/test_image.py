"""The image and the files of compose: what they say, and what their steps make in a clean folder."""

import json
import os
import re
import socket
import subprocess
import tempfile
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from clew.settings.load import load
from clew.testing import Simulator
from tests.gateway.served import backend
from tests.waiting import until

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
CONTAINERFILE = (DEPLOY / "Containerfile").read_text()
USER = 65532
IMAGE = re.compile(r"(?:ARG PYTHON=|image: )(\S+)")


def instructions(name: str) -> list[str]:
    joined = CONTAINERFILE.replace("\\\n", " ")
    return [line.removeprefix(f"{name} ") for line in joined.splitlines() if line.startswith(f"{name} ")]


def test_names_of_images_have_no_host() -> None:
    named = IMAGE.findall(CONTAINERFILE) + IMAGE.findall((DEPLOY / "compose" / "compose.yaml").read_text())
    assert sorted(named) == ["clew", "postgres:17", "python:3.13-slim"]
    assert not any("." in each.partition("/")[0].partition(":")[0] for each in named)


def test_the_image_runs_as_nobody_and_copies_files_that_exist() -> None:
    assert instructions("USER") == [f"{USER}:{USER}"]
    copied = [word for line in instructions("COPY") if not line.startswith("--from") for word in line.split()[:-1]]
    assert copied
    assert [each for each in copied if not (ROOT / each).exists()] == []
    assert json.loads(instructions("ENTRYPOINT")[0]) + json.loads(instructions("CMD")[0])[:1] == ["clew", "serve"]


def test_the_image_has_the_versions_that_are_tested() -> None:
    """Those of requirements/run.txt, and the driver for PostgreSQL besides."""
    pins = {name: _pins(ROOT / "requirements" / f"{name}.txt") for name in ("run", "image")}
    assert {name: pins["image"].get(name) for name in pins["run"]} == pins["run"]
    assert "psycopg" in pins["image"]


def _pins(path: Path) -> dict[str, str]:
    return dict(re.findall(r"^([a-z0-9-]+)(==\S+)", path.read_text(), re.MULTILINE))


def test_the_settings_of_compose_can_be_used(tmp_path: Path) -> None:
    given = re.findall(r"\$\{([A-Z_]+)[:}]", (DEPLOY / "compose" / "compose.yaml").read_text())
    example = re.findall(r"^([A-Z_]+)=", (DEPLOY / "compose" / ".env.example").read_text(), re.MULTILINE)
    assert sorted(set(given)) == sorted(example)
    environ = dict.fromkeys(example, "value") | {"CLEW_HOME": str(tmp_path)}
    settings = load(DEPLOY / "compose" / "clew.toml", environ).settings
    assert settings.store.url == "postgresql://clew:value@database:5432/clew"
    assert not settings.disabled
    assert settings.gateway.seconds_to_drain + settings.gateway.closing_seconds < 45  # stop_grace_period


@pytest.fixture(scope="module")
def installed() -> Iterator[Path]:
    """What the first stage of the image makes, in a folder that others may read."""
    with tempfile.TemporaryDirectory(prefix="clew-image-") as folder:
        Path(folder).chmod(0o755)
        made = Path(folder) / "clew"
        subprocess.run(["sh", "deploy/install.sh", made], cwd=ROOT, check=True)
        yield made


@pytest.mark.soak
@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_what_the_image_holds_answers_as_its_user(installed: Path, tmp_path: Path) -> None:
    """As the user of the image, with a home below a folder of root's group, and nothing else that it may write to."""
    with socket.socket() as probe, tempfile.TemporaryDirectory(prefix="clew-home-") as state, Simulator() as vendor:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
        probe.close()
        os.chown(state, 0, USER)
        Path(state).chmod(0o2770)
        config = Path(state) / "clew.toml"
        config.write_text('active = "a"\n[gateway]\nadmin_port = 0\n' + backend("a", vendor.url, 'realm = "anthropic"\n'))
        command = ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups", installed / "bin" / "clew"]
        environ = {"PATH": "/usr/bin:/bin", "CLEW_HOME": f"{state}/home", "CLEW_KEY": "k" * 32}
        process = subprocess.Popen(
            [*command, "serve", "--host", "0.0.0.0", "--port", str(port), "--config", config], env=environ, cwd="/"
        )
        try:
            until(lambda: _is_ready(port))
            body = {"model": "claude-opus-5-5", "max_tokens": 100, "messages": [{"role": "user", "content": "Hi"}]}
            asked = urllib.request.Request(
                f"http://127.0.0.1:{port}/v1/messages",
                json.dumps(body).encode(),
                {"content-type": "application/json", "x-api-key": "k" * 32, "anthropic-version": "2023-06-01"},
            )
            with urllib.request.urlopen(asked) as answer:
                assert json.loads(answer.read())["type"] == "message"
        finally:
            process.terminate()
            assert process.wait(120) == 0
        version = subprocess.run([installed / "bin" / "clew", "--version"], capture_output=True, text=True, check=True)
        assert version.stdout.startswith("clew ")


def _is_ready(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz") as answer:
            return answer.status == 200
    except OSError:
        return False
