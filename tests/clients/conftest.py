"""Claude Code, each with a home of its own: the newest in the suite, and the older one too in the soak and where both are asked for."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.clients.claude import ClaudeCode
from tests.clients.installed import NEW, OLD
from tests.counts import SOAK

both_versions = pytest.mark.parametrize("claude_code", [OLD, NEW], indirect=True)
"""For a test of what they do differently, or of what the gateway is for. Starting one costs seconds of processor time."""


@pytest.fixture(params=[OLD, NEW] if SOAK else [NEW])
def claude_code(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[str, str], ClaudeCode]:
    """`claude_code(url, token)` is a Claude Code that talks to that address; under `both_versions` a test runs once with either."""

    def installed(url: str, token: str) -> ClaudeCode:
        return ClaudeCode(version=request.param, home=tmp_path / "home", url=url, token=token)

    return installed
