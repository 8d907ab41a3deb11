"""The SDKs through the gateway: a tool conversation each, and the backend changes in the middle of it."""

from pathlib import Path

import pytest

from tests.clients.conversation import SDKS, Sdk
from tests.clients.gateway import KEY
from tests.clients.scene import scene
from tests.manifest import proves

pytestmark = pytest.mark.slow

LOOP = """
turn:
  think: A thinks first.
  call: %s {"command": "sh use b"}
turn:
  think: Then B.
  redacted: And nobody reads this.
  text: Two at once.
  call: %s {"command": "echo two"}
  call: %s {"command": "echo three"}
turn:
  think: B has seen both.
  call: %s {"command": "sh use a"}
turn:
  think: And A at the end.
  text: Done.
"""


@proves("req:S1-34")
@pytest.mark.parametrize("sdk", SDKS.values(), ids=SDKS)
def test_each_backend_gets_its_own_back_and_nothing_else(sdk: Sdk, tmp_path: Path) -> None:
    """Over two prompts: A → B → A, and the same again with the first loop as history."""
    with scene(LOOP.replace("%s", sdk.tool), tmp_path) as stage:
        stage.gateway.leave_commands(tmp_path / "home")
        heard = sdk.converse(stage.gateway.url, KEY, ["First.", "Second."], tmp_path / "home")

        assert heard.answers == ["Done.", "Done."]
        assert (stage.refusals(), stage.foreign()) == ([], [])
        a, b = stage.a, stage.b
        assert a.given_back() == [a.made[:count] for count in range(4)]
        assert b.given_back() == [b.made[:count] for count in (0, 2, 3, 5)]
