"""Both Claude Codes, each with a home of its own."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.clients.claude import ClaudeCode
from tests.clients.installed import NEW, OLD


@pytest.fixture(params=[OLD, NEW])
def claude_code(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[str, str], ClaudeCode]:
    """`claude_code(url, token)` is a Claude Code that talks to that address; a test runs once with either version."""

    def installed(url: str, token: str) -> ClaudeCode:
        return ClaudeCode(version=request.param, home=tmp_path / "home", url=url, token=token)

    return installed
