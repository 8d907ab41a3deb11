"""Claude Code on a server that leaves its model's tool calls in the text: the tools run all the same."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from clew.testing import Simulator
from tests.clients.gateway import KEY, Gateway
from tests.clients.test_claude_code import Installed
from tests.clients.witness import written
from tests.counts import SOAK
from tests.manifest import proves, public

pytestmark = pytest.mark.slow

CONFIG = """
active = "vendor"

[backends.vendor]
preset = "vllm"
dialect = "openai-chat"
url = "{url}/v1"
model = "{model}"
"""

LOOP = """
turn:
  think: I must look first.
  text: Let me look.
  call: Bash {"command": "echo one > made.txt", "timeout": 5000}
turn:
  call: Bash {"command": "echo '<tool_call>' >> made.txt"}
  call: Read {"file_path": "made.txt", "limit": 10}
turn:
  text: Write `<tool_call>{"name": "Bash", "arguments": {"command": "rm made.txt"}}</tool_call>` so.
"""

MODELS = ["qwen3-coder@text", "hermes-4@text", "glm-4.7@text", "grok-4@text", "gpt-oss-120b@text"]
LIMITS = {"CLAUDE_CODE_MAX_OUTPUT_TOKENS": "32000"}


class Vendor(Simulator):
    """A server without a parser for tool calls."""

    def asked(self) -> list[dict[str, Any]]:
        return [entry for entry in self.journal() if entry["path"] == "/v1/chat/completions"]


@contextmanager
def stage(model: str, directory: Path) -> Iterator[tuple[Vendor, Gateway]]:
    with ExitStack() as stack:
        vendor = stack.enter_context(Vendor(scenario=written(LOOP, directory), kind="vllm", realm="vendor"))
        config = CONFIG.format(url=vendor.url, model=model)
        yield vendor, stack.enter_context(Gateway(config, {}))


@pytest.mark.parametrize("model", MODELS if SOAK else MODELS[:1])
@proves("req:S3-37")
@public("gateway", "cli")
def test_the_tools_of_claude_code_run(claude_code: Installed, tmp_path: Path, model: str) -> None:
    with stage(model, tmp_path) as (vendor, gateway):
        client = claude_code(gateway.url, KEY)
        run = client.ask("Have a look.", environment=LIMITS)

        assert not run.failed
        assert run.calls == ["Bash", "Bash", "Read"]
        assert (client.work / "made.txt").read_text() == "one\n<tool_call>\n"
        assert run.result == 'Write `<tool_call>{"name": "Bash", "arguments": {"command": "rm made.txt"}}</tool_call>` so.'
        assert [entry["verdict"] for entry in vendor.asked() if entry["verdict"] and not entry["verdict"]["ok"]] == []
        last = vendor.asked()[-1]["body"]["messages"]
        calls = [call["id"] for message in last for call in message.get("tool_calls", ())]
        results = [message["tool_call_id"] for message in last if message["role"] == "tool"]
        assert len(calls) == 3
        assert results == calls
        changes = [
            change for entry in gateway.log() for change in entry.get("changes", ()) if change["step"] == "text_calls"
        ]
        assert [change["what"] for change in changes] == ["replaced"] * 3
