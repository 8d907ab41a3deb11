"""The SDKs on vendors that speak Chat Completions: a tool conversation each, with Claude in the middle of it."""

from pathlib import Path
from typing import Any

import pytest

from tests.clients.conversation import SDKS, Heard
from tests.clients.gateway import KEY
from tests.clients.translated import PLANTED, VENDORS, Stage, texts_in, translated
from tests.counts import SOAK
from tests.manifest import proves, public

pytestmark = pytest.mark.slow

LOOP = """
turn:
  think: A xylophone first, "quoted", näher 木琴.
  call: %s {"command": "echo one"}
turn:
  think: Two xylophones at once.
  redacted: And a xylophone in the dark.
  text: Two at once.
  call: %s {"command": "echo two"}
  call: %s {"command": "sh use claude"}
turn:
  think: Claude has a xylophone of its own.
  call: %s {"command": "sh use vendor"}
turn:
  think: The last xylophone.
  text: Done.
"""


def heard_by(name: str, stage: Stage, home: Path, **more: Any) -> Heard:
    stage.gateway.leave_commands(home)
    return SDKS[name].converse(stage.gateway.url, KEY, ["First.", "[[scenario:text]] Second."], home, **more)


def is_said_well(heard: Heard) -> bool:
    """Each thought is signed and none is last; no thought is said."""
    kinds = [[block["type"] for block in blocks] for blocks in heard.blocks]
    assert [each[-1] for each in kinds] == ["tool_use", "tool_use", "tool_use", "text", "text"]
    thoughts = [block for blocks in heard.blocks for block in blocks if block["type"] == "thinking"]
    assert [block for block in thoughts if not block["signature"]] == []
    said = texts_in([{"content": blocks} for blocks in heard.blocks])
    assert [words for words in said if PLANTED in words] == []
    return True


WAYS = [*((kind, False) for kind in VENDORS), ("deepseek-chat", True), ("openrouter", True)]
FEW = WAYS if SOAK else [("deepseek-chat", False), ("openrouter", True)]


@pytest.mark.parametrize(("kind", "whole"), FEW, ids=[f"{kind} {'whole' if whole else 'streamed'}" for kind, whole in FEW])
@public("gateway")
@proves("req:S3-34", "req:S3-40")
def test_the_python_sdk_carries_a_conversation_to_claude_and_back(tmp_path: Path, kind: str, whole: bool) -> None:
    """Vendor → Claude → vendor inside one loop, and a second prompt with that loop as history."""
    with translated(kind, LOOP.replace("%s", "run"), tmp_path) as stage:
        heard = heard_by("anthropic-python", stage, tmp_path / "home", whole=whole)

        assert (heard.answers[0], heard.stops) == ("Done.", ["tool_use"] * 3 + ["end_turn"] * 2)
        assert stage.is_well()
        assert stage.says_nothing_aloud()
        assert is_said_well(heard)


@pytest.mark.parametrize(
    ("sdk", "kind"), [("anthropic-js", "openrouter"), ("ai-sdk", "deepseek-chat"), ("claude-agent-sdk", "kimi-chat")]
)
def test_other_sdks_carry_it_too(tmp_path: Path, sdk: str, kind: str) -> None:
    with translated(kind, LOOP.replace("%s", SDKS[sdk].tool), tmp_path) as stage:
        heard = heard_by(sdk, stage, tmp_path / "home")

        assert heard.answers[0] == "Done."
        assert stage.is_well()
        assert stage.says_nothing_aloud()
