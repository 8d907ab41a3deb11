"""Real clients on a stream that a Chat backend breaks off inside a block: none takes it for an answer."""

from pathlib import Path

import pytest

from tests.clients.claude import ClaudeCode
from tests.clients.conversation import SDKS
from tests.clients.gateway import KEY
from tests.clients.test_claude_code import Installed
from tests.clients.translated import Stage, translated
from tests.counts import SOAK
from tests.manifest import proves

pytestmark = pytest.mark.slow

SAYS = {
    "thinking": "think: A xylophone first, then another one, and a third.",
    "text": "text: One word after the other, and a few more.",
    "tool_use": 'call: %s {"command": "touch ran; echo a few words more"}',
}
ONCE = "[retry]\nretries = 0"


def script(block: str, tool: str) -> str:
    said = SAYS[block].replace("%s", tool)
    rest = "" if block == "tool_use" else "\n  text: Done."
    after = "\nturn:\n  text: Done." if block == "tool_use" else ""
    return f"\nturn:\n  {said}{rest}{after}\n"


def breaks_off(stage: Stage, times: int | None = 1) -> None:
    """In the first block, after its second delta."""
    stage.vendor.fault("cut content=2 how=fin", times=times)


@proves("req:S3-22")
@pytest.mark.parametrize("block", SAYS)
@pytest.mark.parametrize("name", ["anthropic-python", "anthropic-js"])
def test_an_sdk_raises_and_runs_nothing(tmp_path: Path, name: str, block: str) -> None:
    with translated("deepseek-chat", script(block, SDKS[name].tool), tmp_path, ONCE) as stage:
        breaks_off(stage)
        with pytest.raises(Exception, match=r"broke off|closed inside|api_error|APIStatusError|APIError"):
            SDKS[name].converse(stage.gateway.url, KEY, ["Go."], tmp_path / "home")
        assert not (tmp_path / "home/ran").exists()
        assert len(stage.vendor.asked()) == 1


@proves("req:S3-22")
@pytest.mark.parametrize("block", SAYS if SOAK else ["tool_use"])
def test_claude_code_asks_again_or_reports_the_error_and_runs_no_half_call(
    tmp_path: Path, claude_code: Installed, block: str
) -> None:
    """Which of both depends on its version and on how much it has shown."""
    with translated("deepseek-chat", script(block, "Bash"), tmp_path, ONCE) as stage:
        client: ClaudeCode = claude_code(stage.gateway.url, KEY)
        breaks_off(stage)
        run = client.ask("Go.")

        assert "API Error" in run.result if run.failed else run.result.endswith("Done."), run.events[-1]
        assert run.calls == (["Bash"] if block == "tool_use" and not run.failed else [])
        assert (client.work / "ran").exists() is bool(run.calls)
        assert stage.vendor.refusals() == []
