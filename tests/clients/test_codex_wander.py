"""Codex on a random walk: one session, resumed for each prompt, while its maker changes and the gateway dies now and then."""

import random
from pathlib import Path

import pytest

from tests.clients.codex import Codex
from tests.clients.makers import Makers, makers
from tests.counts import examples
from tests.numbers import note

pytestmark = pytest.mark.slow

SCRIPT = """
turn:
  think: A xylophone first.
  call: exec_command {"cmd": "echo one"}
turn:
  think: Another xylophone.
  text: Two at once.
  call: exec_command {"cmd": "echo two"}
  call: exec_command {"cmd": "echo three"}
turn:
  think: The last xylophone.
  text: Done.
"""
PROMPTS = ["Have a look.", *(f"[[scenario:{name}]] And now?" for name in ("thinking", "text", "updates", "small-pieces"))]
MAKERS = ("openai", "claude", "deepseek")
TURNS = examples(4, soak=12)


@pytest.mark.parametrize("seed", range(examples(1, soak=4)))
@pytest.mark.soak
def test_a_wandering_session_loses_nothing(tmp_path: Path, seed: int) -> None:
    """No maker refuses anything, each gets all of its own back and nothing else, and Codex complains of nothing."""
    with makers(SCRIPT, tmp_path) as stage:
        wander(stage, Codex(gateway=stage.gateway, home=tmp_path / "home", model="gpt-5.5"), random.Random(seed))

        assert all_is_back(stage)
        assert stage.says_nothing_aloud()
        note("requests of a wandering Codex", sum(stage.counts().values()))


def all_is_back(stage: Makers) -> bool:
    """As `Makers.is_well`, but for one thing: the makers say the same words here, so a judge that knows its answers by their
    words may miss a thought in another maker's answer. What each gave, and what came back, is counted."""
    others = (stage.openai, stage.deepseek)
    assert [each.refusals() for each in (stage.claude, *others)] == [[], [], []]
    assert stage.claude.foreign() == []
    assert [piece for each in others for piece in each.wrong() if piece["fate"] != "missing"] == []
    assert stage.claude.given_back() == stage.claude.due()
    return [each.passed_back() for each in others] == [each.due() for each in others]


def wander(stage: Makers, client: Codex, chance: random.Random) -> None:
    active, session = MAKERS[0], ""
    for _ in range(TURNS):
        if chance.random() < 0.7:
            active = chance.choice([name for name in MAKERS if name != active])
            stage.gateway.use(active)
        if chance.random() < 0.2:
            stage.gateway.kill()
            stage.gateway.start()
        prompt = chance.choice(PROMPTS)
        run = client.ask(prompt, resume=session)
        assert (run.status, run.complaints) == (0, []), (prompt, run)
        assert session in ("", run.session)
        session = run.session
