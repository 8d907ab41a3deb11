"""The plugin for Claude Code: as Claude Code itself reads it."""

import json
import os
import re
import subprocess
import tomllib
from pathlib import Path

import pytest

from clew.cli import COMMANDS
from tests.clients.installed import NEW, claude

ROOT = Path(__file__).parents[2]
PLUGIN = ROOT / "plugin"


def test_commands_run_clew_alone_and_only_what_it_has() -> None:
    named = {path.stem: path.read_text() for path in (PLUGIN / "commands").glob("*.md")}
    assert set(named) == {"use", "log", "why", "statusline"}
    for text in named.values():
        assert text.startswith("---\ndescription: ")
        commands = re.findall(r"(?:!`|Bash\()(\w+) (\w+)", text)
        assert commands
        assert all(program == "clew" and command in COMMANDS for program, command in commands)


def test_the_plugin_has_the_version_of_the_project() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert json.loads((PLUGIN / ".claude-plugin" / "plugin.json").read_text())["version"] == version
    [listed] = json.loads((ROOT / ".claude-plugin" / "marketplace.json").read_text())["plugins"]
    assert (ROOT / listed["source"]).resolve() == PLUGIN


@pytest.mark.slow
@pytest.mark.parametrize("folder", [ROOT, PLUGIN], ids=["marketplace", "plugin"])
def test_claude_code_finds_nothing_wrong_with_it(folder: Path, tmp_path: Path) -> None:
    environ = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"}
    done = subprocess.run([claude(NEW), "plugin", "validate", folder], env=environ, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
