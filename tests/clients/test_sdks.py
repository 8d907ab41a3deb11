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


def test_a_model_that_is_set_while_the_conversation_runs_is_probed_and_then_used(tmp_path: Path) -> None:
    """The agent SDK asks for one token first to see whether the model is there; then its Claude Code strips what another
    model thought (clients, 1.1 and 1.6), and the gateway gives it back to anyone who made it."""
    models = ["claude-opus-4-8", "claude-sonnet-5", "claude-opus-4-8"]
    with scene("think: Short.\ntext: Yes.", tmp_path) as stage:
        stage.gateway.use("b")
        agent = SDKS["claude-agent-sdk"]
        heard = agent.converse(stage.gateway.url, KEY, ["One.", "Two.", "Three."], tmp_path / "home", models=models)

        assert heard.answers == ["Yes.", "Yes.", "Yes."]
        assert (stage.refusals(), stage.foreign()) == ([], [])
        assert [entry["body"]["max_tokens"] == 1 for entry in stage.b.asked()] == [True, False, True, False, False]
        given = [proofs for proofs in stage.b.given_back() if proofs]
        assert (list(map(len, given)), given[1][:1]) == ([1, 2], given[0])
