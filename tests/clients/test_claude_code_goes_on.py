"""A thread of Claude Code that goes on in clew's own chat: its history has fields that only its betas allow."""

from pathlib import Path

import pytest

from tests.clients.scene import scene
from tests.clients.test_claude_code import Installed, client_of

pytestmark = pytest.mark.slow

SCRIPT = """
turn:
  think: A file, perhaps.
  call: Bash {"command": "echo hello"}
turn:
  think: That was it.
  text: Done.
"""


def test_clew_ask_goes_on_with_a_thread_of_claude_code_on_each_backend(claude_code: Installed, tmp_path: Path) -> None:
    """Both backends refuse a field whose beta is missing. The thinking is judged elsewhere."""
    with scene(SCRIPT, tmp_path) as stage:
        run = client_of(stage, claude_code).ask("Have a look.")
        assert (run.failed, run.result) == (False, "Done.")

        for name in ("a", "b"):
            stage.gateway.clew("ask", "--thread", "last", "--backend", name, "Go on.")  # which fails if it is refused

        assert [(entry["backend"], entry["outcome"]) for entry in stage.gateway.log()[-2:]] == [
            ("a", "whole"),
            ("b", "whole"),
        ]
        assert [refusal for refusal in stage.refusals() if "Extra inputs" in str(refusal)] == []
