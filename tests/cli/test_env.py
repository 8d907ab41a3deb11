"""`clew env`: what connects a client, to be evaluated or pasted."""

import json
import os
import subprocess
import time
import tomllib
from pathlib import Path

import pytest

from clew.settings.home import Home as Place
from clew.settings.processes import RegisteredGateway, register
from tests.cli.homes import CLEW, Home
from tests.manifest import public

KEYED = """
[backends.one]
url = "http://127.0.0.1:9"
auth = "key"
key = "k"
"""


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "a home", KEYED)


def enter(home: Home, name: str, port: int, started: float) -> None:
    here = RegisteredGateway(pid=os.getpid(), url=f"http://127.0.0.1:{port}", started=started, name=name)
    register(Place(home.root), here)


@public("cli")
def test_a_shell_that_evaluates_it_has_the_variables_of_both_makers(home: Home) -> None:
    """The key is read by the shell, from a path with a blank in it, and printed nowhere."""
    enter(home, "g1", 4711, time.time())
    (home.root / "key").write_text("clew_the_key\n")
    script = f'eval "$({CLEW} env --shell)"; env | grep -E "^(ANTHROPIC|OPENAI)_" | sort'
    environ = {"PATH": "/usr/bin:/bin", **home.environ}
    shown = subprocess.run(["sh", "-c", script], env=environ, capture_output=True, text=True, check=True).stdout
    assert shown.splitlines() == [
        "ANTHROPIC_AUTH_TOKEN=clew_the_key",
        "ANTHROPIC_BASE_URL=http://127.0.0.1:4711",
        "OPENAI_API_KEY=clew_the_key",
        "OPENAI_BASE_URL=http://127.0.0.1:4711/v1",
    ]
    assert home.lines("env") == home.lines("env", "--shell")
    assert "clew_the_key" not in "".join(home.lines("env"))


@public("cli")
def test_codex_gets_a_provider_that_is_not_called_openai(home: Home) -> None:
    enter(home, "g1", 4711, time.time())
    told = home.clew("env", "--codex")
    assert told.stderr == f"Start it where its key is: export CLEW_KEY=\"$(cat '{home.root}/key')\"\n"
    assert tomllib.loads(told.stdout) == {
        "model_provider": "clew",
        "model_providers": {
            "clew": {
                "name": "clew",
                "base_url": "http://127.0.0.1:4711/v1",
                "env_key": "CLEW_KEY",
                "wire_api": "responses",
            }
        },
    }


def test_opencode_gets_a_provider_with_models(home: Home) -> None:
    enter(home, "g1", 4711, time.time())
    provider = json.loads(home.clew("env", "--opencode").stdout)["provider"]["clew"]
    assert (provider["npm"], provider["options"]["baseURL"]) == ("@ai-sdk/openai", "http://127.0.0.1:4711/v1")
    assert "gpt-5.5" in provider["models"]


def test_the_newest_gateway_is_meant_and_one_of_a_run_only_if_there_is_no_other(home: Home) -> None:
    told = home.clew("env")
    assert told.stdout.startswith("export ANTHROPIC_BASE_URL=http://127.0.0.1:2539\n")
    assert told.stderr == "No gateway is running. `clew serve` starts one at this address.\n"
    enter(home, "run-7", 4713, time.time() + 9)
    assert home.lines("env")[0] == "export ANTHROPIC_BASE_URL=http://127.0.0.1:4713"
    enter(home, "g1", 4711, time.time())
    enter(home, "g2", 4712, time.time() + 1)
    assert home.lines("env")[0] == "export ANTHROPIC_BASE_URL=http://127.0.0.1:4712"
    assert home.lines("env", "--gateway", "g1")[0] == "export ANTHROPIC_BASE_URL=http://127.0.0.1:4711"
    assert home.refused("env", "--gateway", "x") == (2, "Error: No gateway 'x' is running. Running: run-7, g1, g2.")


@public("cli")
@pytest.mark.parametrize("editor", ["vscode", "cursor", "windsurf", "zed", "jetbrains"])
def test_an_editor_gets_settings_that_read_the_key_from_its_file(home: Home, editor: str) -> None:
    """Editors synchronise their settings: no key stands there."""
    enter(home, "g1", 4711, time.time())
    (home.root / "key").write_text("clew_the_key\n")
    text = home.clew("env", "--ide", editor).stdout
    blocks = [json.loads(each.partition("\n")[2]) for each in text.split("// ")[1:]]
    assert blocks[0]["env"] == {"ANTHROPIC_BASE_URL": "http://127.0.0.1:4711"}
    key = subprocess.run(["sh", "-c", blocks[0]["apiKeyHelper"]], capture_output=True, text=True, check=True).stdout
    assert key.strip() == "clew_the_key"
    assert "clew_the_key" not in text
    extension = [{"claudeCode.disableLoginPrompt": True}] if editor in ("vscode", "cursor", "windsurf") else []
    assert blocks[1:] == extension
