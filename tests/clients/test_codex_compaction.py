"""Codex with a provider that makes its summaries: it compacts in the middle of a loop, and goes on with another maker."""

import json
import subprocess
from pathlib import Path

import pytest

from clew.pipeline.compaction import PROMPT
from clew.testing import Simulator
from tests.clients.gateway import KEY, Gateway
from tests.clients.installed import codex
from tests.clients.witness import written
from tests.manifest import public

pytestmark = pytest.mark.slow

CONFIG = """
active = "claude"

[backends.claude]
preset = "anthropic"
model = "claude-opus-5-5"
url = "{claude}"
key = "${{SIM_KEY}}"

[backends.deepseek]
preset = "deepseek"
dialect = "openai-chat"
url = "{deepseek}/v1"
key = "${{SIM_KEY}}"
"""
CODEX = """
model = "claude-opus-5-5"
model_provider = "clew"
model_auto_compact_token_limit = 3000

[model_providers.clew]
name = "OpenAI"
base_url = "{url}/v1"
env_key = "CLEW_KEY"
wire_api = "responses"
"""
"""The name makes Codex ask for summaries. Its first request is longer than the limit, so it does in the middle of the loop."""
SCRIPT = """
turn:
  think: Let me look.
  call: exec_command {"cmd": "sh use deepseek && echo the-result"}
"""
MOST_SECONDS = 120


@public("gateway")
def test_codex_compacts_in_a_loop_and_goes_on_with_the_summary_elsewhere(tmp_path: Path) -> None:
    home = tmp_path / "home"
    (home / ".codex").mkdir(parents=True)
    with (
        Simulator(scenario=written(SCRIPT, tmp_path)) as claude,
        Simulator(kind="deepseek-chat", realm="deepseek", scenario="text") as deepseek,
        Gateway(CONFIG.format(claude=claude.url, deepseek=deepseek.url), {"SIM_KEY": Simulator.key}) as gateway,
    ):
        gateway.leave_commands(home)
        (home / ".codex/config.toml").write_text(CODEX.format(url=gateway.url))
        done = subprocess.run(
            [codex(), "exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", "Count for me."],
            cwd=home,
            env={"HOME": str(home), "PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8", "CLEW_KEY": KEY},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=MOST_SECONDS,
        )
        assert done.returncode == 0, done.stderr
        assert "context compacted" in done.stderr
        assert "Hello. This is a plain answer." in done.stdout
        assert len(claude.journal()) == 1
        summary, answer = [json.loads(deepseek.body(entry["n"]))["messages"] for entry in deepseek.journal()]
        assert summary[-1]["content"] == PROMPT
        assert "the-result" in json.dumps(summary)
        assert answer[-1]["content"].startswith("Summary of the conversation so far")
        assert "the-result" not in json.dumps(answer)
