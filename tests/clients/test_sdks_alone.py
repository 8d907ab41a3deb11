"""The SDKs and the simulator, with nothing between: a tool conversation each, and every block comes back."""

from pathlib import Path

import pytest

from tests.clients.conversation import SDKS, Sdk
from tests.clients.witness import Witness

pytestmark = pytest.mark.slow

LOOP = """
turn:
  think: One look first.
  call: %s {"command": "echo one"}
turn:
  redacted: Nobody reads this.
  text: Two at once.
  call: %s {"command": "echo two"}
  call: %s {"command": "echo three"}
turn:
  think: That is all.
  text: Done.
"""


@pytest.mark.parametrize("sdk", SDKS.values(), ids=SDKS)
def test_a_tool_conversation_gives_all_thinking_back(sdk: Sdk, tmp_path: Path) -> None:
    """Over two prompts: what was thought for the first is there for the second (clients, 2)."""
    with Witness(LOOP.replace("%s", sdk.tool), tmp_path) as sim:
        heard = sdk.converse(sim.url, sim.key, ["First.", "Second."], tmp_path / "home")

        assert heard.answers == ["Done.", "Done."]
        assert (sim.refusals(), sim.foreign()) == ([], [])
        assert sim.given_back() == [sim.made[:count] for count in range(6)]
