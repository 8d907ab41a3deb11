"""Claude Code on a random walk: one conversation, and everything that can change under it changes.

Tool loops of every shape, two models, three backends, and a gateway that is killed now and then. What each model of each
backend ever thought in this conversation has to come back to it, every time, and nothing else.
"""

import random
from pathlib import Path

import pytest

from tests.clients.claude import ClaudeCode
from tests.clients.scene import Scene, scene
from tests.clients.test_claude_code import YES, Installed, all_is_well, client_of
from tests.counts import examples
from tests.numbers import note

pytestmark = pytest.mark.slow

SHAPES = [
    "thinking",
    "text",
    "redacted",
    "interleaved",
    "parallel",
    "loop",
    "updates",
    "omitted",
    "trailing-thinking",
    "pings",
    "small-pieces",
]
MODELS = ("claude-opus-4-8", "claude-sonnet-5")
"""Neither reads what the other thought: so each request has one right answer to what goes with it."""
TURNS = 9


@pytest.mark.parametrize("seed", range(examples(1)))
def test_a_wandering_conversation_loses_nothing(claude_code: Installed, tmp_path: Path, seed: int) -> None:
    """No error reaches the client, no backend refuses anything, and each gets back exactly what is due."""
    with scene(YES, tmp_path) as stage:
        wander(stage, client_of(stage, claude_code), random.Random(seed))

        for witness in (stage.a, stage.b, stage.c):
            assert witness.given_back() == witness.due()
            note("blocks back at their makers through Claude Code", sum(map(len, witness.due())))


def wander(stage: Scene, client: ClaudeCode, chance: random.Random) -> None:
    active, session = "a", []
    for turn in range(TURNS):
        if chance.random() < 0.6:
            active = chance.choice([name for name in "abc" if name != active])
            stage.gateway.use(active)
        if chance.random() < 0.2:
            stage.gateway.kill()
            stage.gateway.start()
        prompt = f"[[scenario:{chance.choice(SHAPES)}]] Turn {turn}."
        run = client.ask(prompt, "--model", chance.choice(MODELS), *session)
        session = ["--resume", run.session]
        assert all_is_well(stage, run, run.result), prompt
